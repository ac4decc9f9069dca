"""The table of mechanisms and what building and rebuilding refuse."""

from __future__ import annotations

from decimal import ROUND_UP, Context, localcontext
from typing import Any

import pytest

from trasgo_lib.data import BoxDomain, CategoryDomain, DateDomain, NumberDomain
from trasgo_lib.errors import AmountError, ConfigError, Reason, VerificationError
from trasgo_lib.mechanisms import MECHANISMS, build_channel, rebuild_channel

NUMBERS = NumberDomain("0", "20", "1")
PAIR = CategoryDomain(["a", "b"])
BOX = BoxDomain(["41.880", "-87.640", "41.885", "-87.634"], "EPSG:3435", "100")


def test_the_reference_mechanisms_are_there() -> None:
    assert set(MECHANISMS) == {
        "laplace",
        "gaussian",
        "exponential",
        "randomized_response",
        "kary_randomized_response",
        "planar_laplace",
        "binned_randomized_response",
        "staircase",
    }
    assert {name for name, entry in MECHANISMS.items() if not entry.chain} == {"exponential", "planar_laplace"}


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        build_channel("laplas", NUMBERS, "1")
    assert caught.value.reason is Reason.UNKNOWN_NAME
    assert "laplace" in caught.value.faults[0].required
    with pytest.raises(ConfigError):
        rebuild_channel("laplas", NUMBERS, {})


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("laplace", {"delta": "0"}),
        ("gaussian", {"utility": "ordinal"}),
        ("kary_randomized_response", {"fill": 3}),
        ("planar_laplace", {"missing": True}),
    ],
)
def test_parameters_a_mechanism_does_not_take_are_refused(name: str, parameters: dict[str, Any]) -> None:
    domain = BOX if name == "planar_laplace" else NUMBERS
    with pytest.raises(ConfigError) as caught:
        build_channel(name, domain, "1", **parameters)
    assert caught.value.reason is Reason.UNKNOWN_NAME
    assert next(iter(parameters)) in caught.value.faults[0].came


@pytest.mark.parametrize(
    ("name", "domain"),
    [("laplace", PAIR), ("gaussian", BOX), ("planar_laplace", NUMBERS), ("kary_randomized_response", BOX)],
)
def test_domains_a_mechanism_does_not_take_are_refused(name: str, domain: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        build_channel(name, domain, "1")
    assert f"kind {domain.kind}" in caught.value.faults[0].came


@pytest.mark.parametrize("missing", ["yes", 1, None, "code"])
def test_missing_is_a_boolean(missing: object) -> None:
    with pytest.raises(ConfigError, match="missing"):
        build_channel("laplace", NUMBERS, "1", missing=missing)


def test_epsilon_is_one_by_default_and_takes_whole_numbers() -> None:
    assert build_channel("laplace", NUMBERS).digest == build_channel("laplace", NUMBERS, 1).digest
    assert build_channel("laplace", DateDomain("2020-01-01", "2020-01-21"), "1").inputs == 21


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("laplace", {"missing": True}),
        ("gaussian", {"delta": "0.001"}),
        ("exponential", {"utility": "ordinal"}),
        ("kary_randomized_response", {}),
    ],
)
def test_weights_do_not_depend_on_the_callers_decimal_context(name: str, parameters: dict[str, Any]) -> None:
    expected = build_channel(name, NUMBERS, "1.234567", **parameters)
    with localcontext(Context(prec=4, rounding=ROUND_UP)):
        assert build_channel(name, NUMBERS, "1.234567", **parameters).digest == expected.digest


STORED: dict[str, tuple[Any, dict[str, Any]]] = {
    "laplace": (NUMBERS, {"missing": True}),
    "gaussian": (NUMBERS, {}),
    "exponential": (NUMBERS, {"utility": "ordinal"}),
    "randomized_response": (PAIR, {}),
    "kary_randomized_response": (PAIR, {"missing": True}),
}


@pytest.mark.parametrize("name", STORED)
def test_damaged_parameters_are_refused(name: str) -> None:
    domain, parameters = STORED[name]
    stored = dict(build_channel(name, domain, "1", **parameters).parameters)
    for key in stored:
        if key == "missing":
            continue
        without = {kept: value for kept, value in stored.items() if kept != key}
        for damaged in (
            without,
            stored | {key: None},
            stored | {key: ["x"]},
            stored | {key: "-1"},
            stored | {key: "x"},
        ):
            with pytest.raises(ConfigError):
                rebuild_channel(name, domain, damaged)
    with pytest.raises(ConfigError, match="surplus"):
        rebuild_channel(name, domain, stored | {"surplus": 1})
    with pytest.raises(ConfigError):
        rebuild_channel(name, domain, stored | {"codes": 19})


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("laplace", {"epsilon": "0.9"}),
        ("laplace", {"level": "1.1"}),
        ("laplace", {"flip": "2"}),
        ("gaussian", {"sigma": "3"}),
        ("exponential", {"factor": "2"}),
        ("randomized_response", {"other": "100"}),
        ("kary_randomized_response", {"epsilon": "0.5"}),
    ],
)
def test_parameters_that_claim_too_much_fail_verification(name: str, change: dict[str, Any]) -> None:
    domain, parameters = STORED[name]
    stored = dict(build_channel(name, domain, "1", **parameters).parameters)
    with pytest.raises(VerificationError) as caught:
        rebuild_channel(name, domain, stored | change)
    assert caught.value.reason is Reason.CLAIM_NOT_CERTIFIED


@pytest.mark.parametrize(
    "change", [{"flip": "0"}, {"missing": "no"}, {"epsilon": "0"}, {"level": "Infinity"}, {"fill": True}, {"fill": 21}]
)
def test_parameters_that_make_no_channel_are_refused(change: dict[str, Any]) -> None:
    stored = dict(build_channel("laplace", NUMBERS, "1", missing=True).parameters)
    with pytest.raises((ConfigError, AmountError)):
        rebuild_channel("laplace", NUMBERS, stored | change)
    with pytest.raises(ConfigError):
        rebuild_channel("randomized_response", PAIR, {"epsilon": "1", "codes": 2, "other": "0"})
