"""What goes wrong on the way to an S3 store: what is tried again, what stands, what is said, and what never shows."""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path

import obstore
import pytest
from faulty_s3 import Asked, FaultyS3
from s3_server import Keys, S3Server, access_of

from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.storage import ObjectStore, S3Access, open_store
from trasgo_lib.storage import s3 as s3_module
from trasgo_lib.storage.objects import PROOF_KEY

BODY = b"some released bytes"
DIGEST = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def store(s3_server: S3Server, faulty: FaultyS3, place: str, pauses: list[float]) -> ObjectStore:
    """An empty store behind the proxy."""
    return open_store(place, access=access_of(s3_server, endpoint=faulty.endpoint), sleep=pauses.append)


@pytest.mark.parametrize("action", ["lose", "drop", (503, "SlowDown"), (500, "InternalError"), (429, "TooMany")])
def test_b82_a_transient_fault_is_tried_again_and_is_no_conflict(
    store: ObjectStore, faulty: FaultyS3, pauses: list[float], action: str | tuple[int, str]
) -> None:
    """After a lost reply the object is there: the same bytes are success, and it was not written twice."""
    faulty.fail_first(2, action, ends="/k")
    assert store.put_once("k", BODY) == DIGEST
    assert pauses == [0.2, 0.4]
    assert store.get("k") == BODY


def test_a_lost_reply_before_other_bytes_is_a_conflict(store: ObjectStore, faulty: FaultyS3) -> None:
    store.put_once("k", b"other")
    faulty.fail_first(1, "lose", ends="/k")
    with pytest.raises(ConflictError):
        store.put_once("k", BODY)
    assert store.get("k") == b"other"


def test_a_race_that_s3_calls_a_conflict_is_asked_again(store: ObjectStore, faulty: FaultyS3) -> None:
    """S3 answers 409 while another conditional write is under way; here that one never arrives."""
    faulty.fail_first(1, (409, "ConditionalRequestConflict"), ends="/k")
    assert store.put_once("k", BODY) == DIGEST


def test_a_transient_fault_while_reading_back_or_listing_is_tried_again(store: ObjectStore, faulty: FaultyS3) -> None:
    for method, operation in (
        ("GET", lambda: store.put_once("k", BODY)),
        ("HEAD", lambda: store.exists("k")),
        ("GET", lambda: store.list("none")),
        ("GET", lambda: store.reader("k").read()),
    ):
        faulty.fail_first(2, "drop", method=method)
        assert operation() in (DIGEST, True, (), BODY)


def test_attempts_are_bounded(store: ObjectStore, faulty: FaultyS3, pauses: list[float]) -> None:
    faulty.fail_first(99, (503, "SlowDown"), ends="/k")
    with pytest.raises(StoreError, match=r"out of order \(503 SlowDown\) after 6 attempt") as caught:
        store.put_once("k", BODY)
    assert (caught.value.reason, caught.value.exit_code) == (Reason.STORE_UNREACHABLE, 10)
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2] and len(faulty.of("PUT", "/k")) == 6
    faulty.plan = lambda asked: "pass"
    assert store.put_once("k", BODY) == DIGEST, "resumable afterwards"


def test_a_server_that_never_answers_is_given_up(
    s3_server: S3Server, faulty: FaultyS3, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_module, "_REQUEST_SECONDS", 1)
    store = open_store(place, access=access_of(s3_server, endpoint=faulty.endpoint), attempts=1)
    faulty.fail_first(1, "hang", method="HEAD")
    with pytest.raises(StoreError, match="no answer in time after 1 attempt"):
        store.exists("k")


def test_large_objects_are_given_more_time(bucket_store: ObjectStore) -> None:
    backend = bucket_store.backend
    assert isinstance(backend, s3_module.S3Clients)
    small, large = backend.client(1000), backend.client(10**9)
    assert backend.client(5000) is small and backend.client(10**9) is large is not small


@pytest.mark.parametrize(
    ("status", "code", "reason", "words"),
    [
        (403, "RequestTimeTooSkewed", Reason.STORE_REFUSED, "clock .* 15 minutes off.*time zone"),
        (403, "ExpiredToken", Reason.STORE_REFUSED, "credentials that the store does not accept"),
        (403, "AccessDenied", Reason.STORE_REFUSED, "may not do this.*s3:PutObject"),
        (401, "", Reason.STORE_REFUSED, "credentials"),
        (301, "PermanentRedirect", Reason.STORE_REFUSED, "another region"),
        (400, "AuthorizationHeaderMalformed", Reason.STORE_REFUSED, "another region"),
        (507, "InsufficientStorage", Reason.STORE_FULL, "full .*19 bytes were needed"),
        (400, "XMinioStorageFull", Reason.STORE_FULL, "full .*19 bytes were needed"),
        (501, "NotImplemented", Reason.STORE_REFUSED, "does not serve this request"),
        (405, "MethodNotAllowed", Reason.STORE_REFUSED, "405 MethodNotAllowed"),
    ],
)
def test_refusals_say_what_to_do_and_are_not_tried_again(
    store: ObjectStore, faulty: FaultyS3, pauses: list[float], status: int, code: str, reason: Reason, words: str
) -> None:
    faulty.fail_first(99, (status, code), ends="/k")
    with pytest.raises(StoreError) as caught:
        store.put_once("k", BODY)
    assert re.search(words, str(caught.value)), caught.value
    assert (caught.value.reason, caught.value.exit_code, pauses) == (reason, 10, [])
    assert len(faulty.of("PUT", "/k")) == 1


def test_wrong_credentials_buckets_and_endpoints_are_told_apart(s3_server: S3Server, bucket: str) -> None:
    server, place = s3_server, f"s3://{bucket}/x"
    secret = "canary/secret+0123456789"
    cases = {
        (place, access_of(server, Keys(server.writer.access, secret))): "SignatureDoesNotMatch",
        (place, access_of(server, Keys("canaryid", secret))): "InvalidAccessKeyId",
        (place, access_of(server, server.reader)): "AccessDenied",
        (place, S3Access(endpoint=server.endpoint)): "AccessDenied",
        ("s3://no-such-bucket/x", access_of(server)): "no such bucket",
        (place, access_of(server, endpoint="http://127.0.0.1:9")): "no connection after 2 attempt",
        (place, access_of(server, endpoint="http://no-such-host.invalid")): "no connection after 2 attempt",
    }
    for (location, access), words in cases.items():
        store = open_store(location, access=access, attempts=2)
        assert "canary" not in repr(store) + repr(access) + str(access)
        with pytest.raises(StoreError, match=words) as caught:
            store.put_once("k", BODY)
        faults = [caught.value]
        if access.credentials is None or access.credentials.access_key_id != server.reader.access:
            # a HEAD is refused without a reason, so only the kind of refusal is the same
            for operation in (store.list, lambda: store.get("k"), lambda: store.digest("k"), lambda: store.exists("k")):  # noqa: B023
                if words == "no such bucket" and operation is not store.list:
                    continue
                with pytest.raises(StoreError) as refused:
                    operation()
                faults.append(refused.value)
        for fault in faults:
            assert fault.exit_code == 10 and fault.__context__ is None
            assert fault.reason is faults[0].reason
            assert "canary" not in str(fault)


def test_a_store_that_overwrites_is_refused_before_anything_is_written(store: ObjectStore, faulty: FaultyS3) -> None:
    faulty.plan = lambda asked: "overwrite" if asked.method == "PUT" else "pass"
    for _ in range(2):
        with pytest.raises(StoreError, match="wrote the same object twice") as caught:
            store.put_once("k", BODY)
        assert (caught.value.reason, caught.value.exit_code) == (Reason.STORE_UNSAFE, 10)
    assert not faulty.of("PUT", "/k")


def test_a_store_is_proved_once_and_the_proof_is_no_release(store: ObjectStore, faulty: FaultyS3, place: str) -> None:
    for number in range(3):
        store.put_once(f"k{number}", BODY)
    assert len(faulty.of("PUT", PROOF_KEY)) == 2
    again = open_store(place, access=store.backend.access)  # type: ignore[union-attr]
    again.require_create_once()
    assert len(faulty.of("PUT", PROOF_KEY)) == 3, "one request to a store that was proved before"
    assert store.list() == ("k0", "k1", "k2")


def test_a_reader_asks_for_no_right_to_write(s3_server: S3Server, bucket_store: ObjectStore, place: str) -> None:
    bucket_store.put_once("k", BODY)
    reader = open_store(place, create=False, access=access_of(s3_server, s3_server.reader))
    assert (reader.get("k"), reader.list(), reader.exists("none")) == (BODY, ("k",), False)


def test_an_object_that_changes_while_it_is_read_is_noticed(
    s3_server: S3Server, bucket_store: ObjectStore, place: str
) -> None:
    bucket_store.put_once("k", bytes(9_000_000))
    reader = bucket_store.reader("k")
    assert reader.read(10) == bytes(10)
    path = place.removeprefix("s3:/") + "/k"
    assert s3_server.request("PUT", path, body=b"x" * 9_000_000)[0] == 200
    with pytest.raises(StoreError) as caught:
        reader.seek(8_000_000)
        reader.read(10)
    assert caught.value.reason is Reason.DIGEST_MISMATCH


def test_bytes_are_checked_on_the_way_and_read_back(store: ObjectStore, faulty: FaultyS3) -> None:
    store.put_once("k", BODY)
    (sent,) = faulty.of("PUT", "/k")
    assert sent.headers["if-none-match"] == "*"
    assert sent.headers["x-amz-content-sha256"] == DIGEST, "the signature covers the body"
    assert "x-amz-checksum-sha256" in sent.headers
    assert faulty.of("GET", "/k"), "read back"


def test_b84_a_checksum_is_that_of_the_bytes_and_never_an_etag(
    bucket_store: ObjectStore, tmp_path: Path, s3_server: S3Server
) -> None:
    """20 MB that another tool uploaded in parts: its ETag is no MD5 of it, and nothing here takes it for one."""
    body = hashlib.shake_256(b"table").digest(20_000_000)
    file = tmp_path / "table"
    file.write_bytes(body)
    client = bucket_store._client()
    obstore.put(client, "parts", body, use_multipart=True, chunk_size=5 * 2**20)
    assert "-" in str(obstore.head(client, "parts")["e_tag"]), "stored in parts"
    wanted = hashlib.sha256(body).hexdigest()
    assert bucket_store.put_once("whole", file) == bucket_store.put_once("parts", file) == wanted
    assert bucket_store.digest("parts") == wanted


def test_an_object_beyond_one_request_is_refused(
    bucket_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trasgo_lib.storage import objects

    monkeypatch.setattr(objects, "LARGEST_PUT_BYTES", 10)
    with pytest.raises(StoreError, match=r"at most 10 bytes in one object.*came 19 bytes"):
        bucket_store.put_once("k", BODY)
    assert not bucket_store.exists("k")


def test_no_variable_decides_where_a_request_goes_or_as_whom(
    s3_server: S3Server, faulty: FaultyS3, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two roots may have different credentials: a token that belongs to other ones must not be sent along."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "canaryid",
        "AWS_SECRET_ACCESS_KEY": "canary",
        "AWS_SESSION_TOKEN": "canarytoken",
        "AWS_ENDPOINT": "http://127.0.0.1:9",
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9",
        "AWS_REGION": "eu-canary-1",
        "AWS_SKIP_SIGNATURE": "true",
        "AWS_UNSIGNED_PAYLOAD": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true",
        "AWS_REQUEST_PAYER": "true",
    }.items():
        monkeypatch.setenv(name, value)
    store = open_store(place, access=access_of(s3_server, endpoint=faulty.endpoint))
    assert store.put_once("k", BODY) == DIGEST
    assert store.list() == ("k",)
    assert not [asked for asked in faulty.asked if "canary" in str(asked)]


def test_temporary_credentials_send_their_token(s3_server: S3Server, faulty: FaultyS3, place: str) -> None:
    from trasgo_lib.storage import Credentials

    credentials = Credentials(s3_server.writer.access, s3_server.writer.secret, "a-token")
    store = open_store(place, access=S3Access(faulty.endpoint, credentials=credentials), attempts=1)
    seen: list[Asked] = []
    faulty.plan = lambda asked: seen.append(asked) or "pass"  # type: ignore[func-returns-value]
    with contextlib.suppress(StoreError):  # whether this server takes a token it did not make is not the question
        store.exists("k")
    assert seen[0].headers["x-amz-security-token"] == "a-token"


def test_a_large_object_is_read_in_few_requests(store: ObjectStore, faulty: FaultyS3) -> None:
    store.put_once("k", bytes(9_000_000))
    before = len(faulty.of("GET", "/k"))
    assert len(store.reader("k").read()) == 9_000_000
    assert len(faulty.of("GET", "/k")) - before == 2
    assert len(store.reader("k").read(5_000_000)) == 5_000_000
    assert len(faulty.of("GET", "/k")) - before <= 5
