"""Where endpoint, region and credentials come from, and that no text shows a secret."""

from __future__ import annotations

import pickle
import traceback

import pytest

from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.storage import (
    Credentials,
    S3Access,
    access_from_environment,
    check_endpoint,
    open_store,
    read_credentials,
)

CANARY = "canary/SECRET+42"


def test_credentials_come_from_variables_of_one_prefix() -> None:
    environ = {
        "TRASGO_PUBLIC_ACCESS_KEY_ID": "a",
        "TRASGO_PUBLIC_SECRET_ACCESS_KEY": "b",
        "TRASGO_PUBLIC_SESSION_TOKEN": "c",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
        "AWS_SESSION_TOKEN": "",
    }
    assert read_credentials(environ, "TRASGO_PUBLIC") == Credentials("a", "b", "c")
    assert read_credentials(environ) == Credentials("x", "y", None)
    assert read_credentials(environ, "TRASGO_OTHER") is None


@pytest.mark.parametrize(
    ("environ", "where"),
    [
        ({"X_ACCESS_KEY_ID": CANARY}, "X_SECRET_ACCESS_KEY"),
        ({"X_SECRET_ACCESS_KEY": CANARY}, "X_ACCESS_KEY_ID"),
        ({"X_ACCESS_KEY_ID": "a", "X_SECRET_ACCESS_KEY": f"{CANARY}\n"}, "X_SECRET_ACCESS_KEY"),
        ({"X_ACCESS_KEY_ID": f"{CANARY} b", "X_SECRET_ACCESS_KEY": "s"}, "X_ACCESS_KEY_ID"),
        ({"X_ACCESS_KEY_ID": "a", "X_SECRET_ACCESS_KEY": "s", "X_SESSION_TOKEN": f"é{CANARY}"}, "X_SESSION_TOKEN"),
    ],
)
def test_half_or_broken_credentials_are_refused_and_not_shown(environ: dict[str, str], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_credentials(environ, "X")
    assert (caught.value.faults[0].where, caught.value.reason) == (where, Reason.KEY_UNUSABLE)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_no_text_of_an_access_shows_its_credentials() -> None:
    access = S3Access(credentials=Credentials("canaryid", CANARY, CANARY))
    store = open_store("s3://bucket/x", access=access)
    store.backend.client(0)  # type: ignore[union-attr]
    for value in (access, access.credentials, store, store.backend):
        assert "canary" not in repr(value) + str(value) + f"{value}"
    assert "canary" not in repr(store.backend.client(0))  # type: ignore[union-attr]
    with pytest.raises(Exception, match="pickle"):
        pickle.dumps(store)


def test_a_reader_is_reached_by_the_names_every_tool_knows() -> None:
    environ = {
        "AWS_ENDPOINT_URL": "https://other.example",
        "AWS_ENDPOINT_URL_S3": "https://s3.example/",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
    }
    found = access_from_environment(environ)
    assert (found.endpoint, found.region, found.credentials) == (
        "https://s3.example",
        "eu-west-1",
        Credentials("a", "b"),
    )
    assert access_from_environment({}) == S3Access(None, "us-east-1", None), "anyone may read an open bucket"


@pytest.mark.parametrize(
    "endpoint",
    ["https://s3.example", "https://s3.example:9000", "http://127.0.0.1:9000", "http://localhost", "http://[::1]:1"],
)
def test_endpoints_that_are_served(endpoint: str) -> None:
    assert check_endpoint(endpoint) == endpoint == check_endpoint(f"{endpoint}/")
    assert check_endpoint(None) is None


@pytest.mark.parametrize(
    "endpoint",
    [
        "s3.example",
        "ftp://s3.example",
        "https://",
        "https://canary:canary@s3.example",
        "https://s3.example/canary",
        "https://s3.example?canary=1",
        "https://s3.example:canary",
        "https://s3.example:0",
        "https://s3 .example",
        "https://s3.example#canary",
    ],
)
def test_endpoints_that_are_none_are_refused_and_not_shown(endpoint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_endpoint(endpoint)
    assert "canary" not in str(caught.value)


def test_plain_http_stays_on_this_machine_unless_declared() -> None:
    for endpoint in ("http://s3.example", "http://10.0.0.1:9000", "http://localhost.example"):
        with pytest.raises(ConfigError, match="http to another machine"):
            check_endpoint(endpoint)
        assert check_endpoint(endpoint, allow_http=True) == endpoint
