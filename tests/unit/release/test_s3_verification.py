"""Verifying and opening a release that stands in a bucket, as a data user does."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from faulty_s3 import faulty_s3
from s3_server import S3Server, access_of

from trasgo_lib.analysis import open_release
from trasgo_lib.errors import StoreError, VerificationError
from trasgo_lib.keys import PublicKey, SigningKey
from trasgo_lib.release import verify_release
from trasgo_lib.storage import open_store

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "release"


@pytest.fixture(scope="module")
def bucket(s3_server: S3Server) -> str:
    """A bucket that anyone may read."""
    name = s3_server.bucket()
    actions = {"s3:GetObject": f"arn:aws:s3:::{name}/*", "s3:ListBucket": f"arn:aws:s3:::{name}"}
    allow = [{"Effect": "Allow", "Principal": "*", "Action": [a], "Resource": r} for a, r in actions.items()]
    s3_server.set_policy(name, {"Version": "2012-10-17", "Statement": allow})
    return name


@pytest.fixture
def published(s3_server: S3Server, bucket: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The golden release in that bucket; the environment of its reader names the server and nothing else."""
    place = f"s3://{bucket}/{secrets.token_hex(4)}"
    store = open_store(place, access=access_of(s3_server))
    for file in sorted(GOLDEN.rglob("*")):
        if file.is_file():
            store.put_once(f"golden/1/{file.relative_to(GOLDEN).as_posix()}", file)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_server.endpoint)
    return f"{place}/golden/1"


def test_anyone_verifies_and_analyses_a_release_in_an_open_bucket(published: str) -> None:
    report, local = verify_release(published), verify_release(GOLDEN)
    assert report.passed and report.location == published
    assert [result.name for result in report.results] == [result.name for result in local.results]
    there, here = open_release(published), open_release(GOLDEN)
    name = next(iter(there.noised))
    assert there.rows == here.rows and str(there.share(name)) == str(here.share(name))


def test_who_signed_is_checked_with_the_publishers_key_and_with_no_other(published: str) -> None:
    report = verify_release(published, keys=[PublicKey.from_pem((GOLDEN / "signing-key.pem").read_bytes())])
    assert report.passed and report.signature.signer_checked
    other = verify_release(published, keys=[SigningKey(bytes(32)).public])
    assert {result.name for result in other.failures} == {"signer"}


def test_a_changed_a_missing_and_a_further_object_are_named(
    s3_server: S3Server, published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = published.removeprefix("s3:/")
    assert s3_server.request("PUT", f"{path}/data/golden.csv", body=b"x")[0] == 200
    assert s3_server.request("DELETE", f"{path}/report.md")[0] == 204
    assert s3_server.request("PUT", f"{path}/more.txt", body=b"x")[0] == 200
    failed = {(result.name, result.subject) for result in verify_release(published).failures}
    assert {("digest", "data/golden.csv"), ("complete", "report.md"), ("no other files", "more.txt")} <= failed
    assert s3_server.request("DELETE", f"{path}/manifest.json")[0] == 204
    (failure,) = verify_release(published).failures
    assert (failure.name, failure.came) == ("manifest", "no such file")
    with pytest.raises(VerificationError):
        open_release(published)


@pytest.mark.parametrize(
    ("ends", "reads"),
    [
        ("data/golden.parquet", 4),
        ("data/golden.csv", 4),
        ("channel.json", 0),
        ("manifest.dsse.json", 0),
        # read for its digest first, and then as what it is
        ("signing-key.pem", 2),
        ("ro-crate-metadata.json", 2),
    ],
)
def test_a_store_out_of_reach_is_no_failed_verification(
    s3_server: S3Server, published: str, monkeypatch: pytest.MonkeyPatch, ends: str, reads: int
) -> None:
    """Exit 10 and not 8: nothing is known about the release."""
    with faulty_s3(s3_server) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.endpoint)
        seen: list[str] = []

        def plan(asked: object) -> object:
            seen.append(asked.path)  # type: ignore[attr-defined]
            # the first reads are those of the digests, the later ones those of the data
            late = sum(path.endswith(ends) for path in seen) > reads
            return (503, "SlowDown") if late and seen[-1].endswith(ends) else "pass"

        proxy.plan = plan  # type: ignore[assignment]
        with pytest.raises(StoreError, match=r"out of order \(503"):
            verify_release(published)
