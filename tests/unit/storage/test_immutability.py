"""What the runbook says immutability needs on S3, against a real server: versions, lock, no right to delete."""

from __future__ import annotations

import re

import pytest
from s3_server import Keys, S3Server, access_of

from trasgo_lib.errors import ConflictError
from trasgo_lib.storage import open_store


def _no_delete(bucket: str) -> dict[str, object]:
    """The policy of the runbook."""
    actions = ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:PutBucketPolicy", "s3:DeleteBucketPolicy"]
    resources = [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"]
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Deny", "Principal": "*", "Action": actions, "Resource": resources}],
    }


def _versions(server: S3Server, bucket: str) -> list[str]:
    _, text = server.request("GET", f"/{bucket}", {"versions": "", "prefix": "r/k"})
    return re.findall(r"<VersionId>(.*?)</VersionId>", text.decode())


def test_with_lock_and_policy_nothing_that_was_published_goes_away(s3_server: S3Server) -> None:
    bucket = s3_server.bucket(locked=True)
    s3_server.set_policy(bucket, _no_delete(bucket))
    store = open_store(f"s3://{bucket}/r", access=access_of(s3_server))
    digest = store.put_once("k", b"published")
    assert store.put_once("k", b"published") == digest, "create-once works in a locked bucket"
    with pytest.raises(ConflictError):
        store.put_once("k", b"other")

    def status(method: str, path: str, keys: Keys, **query: str) -> int:
        headers = {"x-amz-bypass-governance-retention": "true"}
        return s3_server.request(method, path, query, headers=headers, keys=keys)[0]

    (version,) = _versions(s3_server, bucket)
    for keys in (s3_server.writer, s3_server.admin):
        assert status("DELETE", f"/{bucket}/r/k", keys) == 403
        assert status("DELETE", f"/{bucket}/r/k", keys, versionId=version) == 403
    suspended = b"<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>"
    assert s3_server.request("PUT", f"/{bucket}", {"versioning": ""}, suspended)[0] == 409
    assert store.digest("k") == digest

    # a writer who leaves our way can put a newer version before it; the published one stays, and can be told apart
    assert s3_server.request("PUT", f"/{bucket}/r/k", body=b"forged", keys=s3_server.writer)[0] == 200
    assert store.digest("k") != digest
    assert s3_server.request("GET", f"/{bucket}/r/k", {"versionId": version})[1] == b"published"


def test_a_lock_without_the_policy_is_not_enough(s3_server: S3Server) -> None:
    """The negative control: a marker hides the object, after which the key looks free again."""
    bucket = s3_server.bucket(locked=True)
    store = open_store(f"s3://{bucket}/r", access=access_of(s3_server))
    store.put_once("k", b"published")
    assert s3_server.request("DELETE", f"/{bucket}/r/k", keys=s3_server.writer)[0] == 204
    assert not store.exists("k")
    store.put_once("k", b"other")
    assert len(_versions(s3_server, bucket)) == 3, "the old version, the marker, the new version"
