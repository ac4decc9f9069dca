"""What the address of a Dask scheduler may be, and what a runner may say."""

from __future__ import annotations

import traceback

import pytest
from pydantic import TypeAdapter, ValidationError

from trasgo_lib.config import DaskAddress, DaskSpec, RunnerSpec, dask_address, dask_of
from trasgo_lib.config.runner import Runner
from trasgo_lib.errors import ConfigError, Reason

RUNNER: TypeAdapter[object] = TypeAdapter(Runner)


@pytest.mark.parametrize(
    "text",
    [
        "canary",
        "canary:8786",
        "http://canary:8786",
        "inproc://canary/1/1",
        "tls://canary",
        "tls://canary:99999",
        "tls://ana:canary@dask:8786",
        "tls://dask:8786/canary",
        "tls://dask:8786?canary",
        "tcp://canary:8786",
        "tcp://10.0.0.5:8786",
    ],
)
def test_what_is_refused_is_not_shown(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        dask_address(text)
    assert (caught.value.reason, caught.value.exit_code) == (Reason.BAD_PARAMETER, 2)
    assert "canary" not in "".join(traceback.format_exception(caught.value)) + str(caught.value.__context__)


@pytest.mark.parametrize(
    ("text", "allowed", "loopback"),
    [
        ("tls://dask.office.example:8786", False, False),
        ("tcp://127.0.0.1:8786", False, True),
        ("tcp://localhost:8786", False, True),
        ("tcp://[::1]:8786", False, True),
        ("tcp://10.0.0.5:8786", True, False),
    ],
)
def test_addresses_that_are_taken(text: str, allowed: bool, loopback: bool) -> None:
    address = dask_address(text, allow_tcp=allowed)
    assert (str(address), address.is_loopback) == (text, loopback)
    assert address == DaskAddress(address.scheme, address.host, 8786)


@pytest.mark.parametrize(
    ("runner", "meant"),
    [
        ("threads", None),
        ("dask", DaskSpec()),
        ({"dask": {}}, DaskSpec()),
        ({"dask": {"workers": 4}}, DaskSpec(workers=4)),
        (
            {"dask": {"address_env": "OFFICE_DASK", "shared_disk": False}},
            DaskSpec(address_env="OFFICE_DASK", shared_disk=False),
        ),
    ],
)
def test_runners(runner: object, meant: DaskSpec | None) -> None:
    read = RUNNER.validate_python(runner)
    assert dask_of(read) == meant  # type: ignore[arg-type]
    assert isinstance(read, RunnerSpec) == isinstance(runner, dict)


@pytest.mark.parametrize(
    "runner",
    [
        "ray",
        {"dask": {"workers": 0}},
        {"dask": {"workers": 4, "address": "tls://dask:8786", "shared_disk": True}},
        {"dask": {"address": "tls://dask:8786"}},
        {"dask": {"shared_disk": True}},
        {"dask": {"workers": 2, "allow_tcp": True}},
        {"dask": {"address": "tls://dask:8786", "address_env": "DASK", "shared_disk": True}},
        {"threads": 4},
    ],
)
def test_runners_that_are_refused(runner: object) -> None:
    with pytest.raises(ValidationError):
        RUNNER.validate_python(runner)
