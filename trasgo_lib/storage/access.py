"""How an S3 store is reached: endpoint, region, credentials. Secrets are looked up outside and shown nowhere."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from trasgo_lib.errors import ConfigError, Reason

STANDARD_PREFIX = "AWS"
"""With it the variables have the names that every S3 tool knows: ``AWS_ACCESS_KEY_ID`` and so on."""

DEFAULT_REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request to an S3 store is signed with; secret, and shown by no text of it.

    Args:
        access_key_id: who asks.
        secret_access_key: the secret.
        session_token: the third part of temporary credentials, or None.
    """

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class S3Access:
    """How one S3 store is reached.

    Args:
        endpoint: ``https://host[:port]``; None for Amazon's own of the region.
        region: its region.
        credentials: what requests are signed with; None asks without a name, as anyone may read an open bucket.
        allow_http: whether the endpoint may be plain ``http`` beyond this machine.
    """

    endpoint: str | None = None
    region: str = DEFAULT_REGION
    credentials: Credentials | None = field(default=None, repr=False)
    allow_http: bool = False


def read_credentials(environ: Mapping[str, str], prefix: str = STANDARD_PREFIX) -> Credentials | None:
    """Credentials from variables ``<prefix>_ACCESS_KEY_ID``, ``..._SECRET_ACCESS_KEY`` and ``..._SESSION_TOKEN``.

    Args:
        environ: the environment, or another mapping of the same names; secret.
        prefix: what the names begin with; public.

    Returns:
        The credentials, or None when neither of the first two is there.

    Raises:
        ConfigError: only one of the two is there, or one could not stand in a request; no value is shown.
    """
    names = [f"{prefix}_{part}" for part in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")]
    access, secret, token = (environ.get(name) or None for name in names)
    if access is None and secret is None:
        return None
    for name, value in zip(names, (access, secret, token), strict=True):
        # blanks and line ends come from copied text, and a client would show the header that they break
        if value is not None and not (value.isascii() and value.isprintable() and " " not in value):
            raise unusable(name, "one line of ASCII text without blanks", "text with others")
    if access is None or secret is None:
        raise unusable(names[0] if access is None else names[1], "both parts of the credentials", "one of them")
    return Credentials(access, secret, token)


def access_from_environment(environ: Mapping[str, str] | None = None) -> S3Access:
    """How a reader reaches S3: by the variables that every S3 tool knows, and without a name when none are set.

    ``AWS_ENDPOINT_URL_S3`` or ``AWS_ENDPOINT_URL``, ``AWS_REGION`` or ``AWS_DEFAULT_REGION``, and the credentials.

    Args:
        environ: the environment; that of this process when None.

    Raises:
        ConfigError: half of the credentials, or an endpoint that is not served.
    """
    environ = os.environ if environ is None else environ
    return S3Access(
        endpoint=check_endpoint(environment_endpoint(environ)),
        region=environment_region(environ),
        credentials=read_credentials(environ),
    )


def environment_endpoint(environ: Mapping[str, str]) -> str | None:
    """The endpoint that the environment names, or None."""
    return environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL") or None


def environment_region(environ: Mapping[str, str]) -> str:
    """The region that the environment names, else ``us-east-1``."""
    return environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or DEFAULT_REGION


def check_endpoint(endpoint: str | None, *, allow_http: bool = False) -> str | None:
    """The endpoint itself, without a slash at its end, when it is one.

    Args:
        endpoint: ``https://host[:port]``, ``http://`` on this machine or where allowed, or None.
        allow_http: whether plain ``http`` may leave this machine: anyone on the way can then read and change.

    Raises:
        ConfigError: for anything else; the text is not shown, since it could hold a password.
    """
    if endpoint is None:
        return None
    try:
        parts = urlsplit(endpoint)
        host, whole = parts.hostname, parts.port is None or parts.port > 0
    except ValueError:
        host, whole = None, False
    named = bool(host) and whole and endpoint.isprintable() and " " not in endpoint
    bare = named and "@" not in parts.netloc and parts.path in ("", "/") and not parts.query and not parts.fragment
    if not bare or parts.scheme not in ("http", "https"):
        raise _bad_endpoint("https://host or https://host:port", "something else", "Correct the endpoint.")
    if parts.scheme == "http" and not allow_http and not _is_loopback(str(host)):
        fix = "Use https, or declare allow_http: true for a network you trust with the restricted files."
        raise _bad_endpoint("https, or http on this machine", "http to another machine", fix)
    return endpoint.rstrip("/")


def unusable(where: str, required: str, came: str) -> ConfigError:
    """The error for credentials that cannot be used; shows where they come from, never what they are."""
    fix = "Set them as configs/README.md says; they never stand in the release file."
    return ConfigError.of(Reason.KEY_UNUSABLE, where, required=required, came=came, fix=fix)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bad_endpoint(required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_PARAMETER, "endpoint", required=required, came=came, fix=fix)
