"""Stores on the S3 server of this test session."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from faulty_s3 import FaultyS3, faulty_s3
from s3_server import S3Server, access_of

from trasgo_lib.storage import ObjectStore, open_store


@pytest.fixture(scope="session")
def bucket(s3_server: S3Server) -> str:
    """A bucket that tests share, each below a prefix of its own."""
    return s3_server.bucket()


@pytest.fixture
def place(bucket: str) -> str:
    """A place that no other test knows."""
    return f"s3://{bucket}/{secrets.token_hex(6)}"


@pytest.fixture
def bucket_store(s3_server: S3Server, place: str) -> ObjectStore:
    """An empty store on the server."""
    return open_store(place, access=access_of(s3_server))


@pytest.fixture
def faulty(s3_server: S3Server) -> Iterator[FaultyS3]:
    """A proxy before the server, which passes everything until a test plans otherwise."""
    with faulty_s3(s3_server) as proxy:
        yield proxy
