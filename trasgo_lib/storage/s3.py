"""The S3 client: one signed request at a time, with time by size; no variable decides where it goes or as whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from obstore.store import S3Store

from trasgo_lib.storage.access import Credentials, S3Access
from trasgo_lib.storage.location import Bucket

if TYPE_CHECKING:
    from obstore.store import S3Credential

LARGEST_PUT_BYTES = 5 * 2**30
"""S3 takes no larger object in one request, and only a single request can be create-once with this client."""

_CONNECT_SECONDS = 10
_REQUEST_SECONDS = 60
"""What a small request may take; a server that accepts and never answers is given up after it."""

_SLOWEST_BYTES_PER_SECOND = 2**18
"""Large objects get this much more time: 2 Mbit/s."""

_STEP_BYTES = 2**26
"""Allowances rise in steps, so that few clients are made."""


@dataclass(frozen=True, slots=True)
class S3Clients:
    """Clients of one place in a bucket, made when they are first needed.

    Args:
        place: bucket and prefix.
        access: how it is reached.
        made: the clients, by steps of their allowance.
    """

    place: Bucket
    access: S3Access
    made: dict[int, S3Store] = field(default_factory=dict, repr=False)

    def client(self, size: int) -> S3Store:
        """A client that allows enough time for so many bytes in one request."""
        steps = -(-size // _STEP_BYTES) if size > _STEP_BYTES // 16 else 0
        if steps not in self.made:
            seconds = _REQUEST_SECONDS + steps * _STEP_BYTES // _SLOWEST_BYTES_PER_SECOND
            self.made[steps] = _client(self.place, self.access, seconds)
        return self.made[steps]


def _client(place: Bucket, access: S3Access, seconds: int) -> S3Store:
    """What decides is given in full, because the client would take what is missing from ``AWS_...`` variables."""
    region, credentials = access.region, access.credentials
    endpoint = access.endpoint or f"https://s3.{region}.amazonaws.com"
    return S3Store(
        place.name,
        prefix=place.prefix or None,
        endpoint=endpoint,
        aws_endpoint_url_s3=endpoint,  # else a variable of this name wins over the endpoint above
        region=region,
        virtual_hosted_style_request=False,
        conditional_put="etag",
        checksum_algorithm="sha256",
        unsigned_payload=False,
        s3_express=False,
        request_payer=False,
        # http was allowed or refused where the endpoint was checked
        client_options={
            "allow_http": (access.endpoint or "").startswith("http://"),
            "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
            "timeout": timedelta(seconds=seconds),
            "allow_invalid_certificates": False,
        },
        # attempts are counted in one place, which is ours
        retry_config={"max_retries": 0},
        skip_signature=credentials is None,
        credential_provider=None if credentials is None else _Provider(credentials),
    )


class _Provider:
    """Hands the credentials to the client; not a closure, so that no text of it shows them."""

    __slots__ = ("_credentials",)

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def __call__(self) -> S3Credential:
        return {
            "access_key_id": self._credentials.access_key_id,
            "secret_access_key": self._credentials.secret_access_key,
            "token": self._credentials.session_token,
            "expires_at": None,
        }
