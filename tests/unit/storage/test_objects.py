"""Create-once puts over folders, buckets and memory, and what happens when the store fails."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.exceptions import GenericError, PermissionDeniedError

from trasgo_lib.errors import ConfigError, ConflictError, Reason, StoreError
from trasgo_lib.storage import ObjectStore, objects, open_store


@pytest.fixture(params=["folder", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """The one suite below runs over every kind of store."""
    if request.param == "s3":
        return request.getfixturevalue("bucket_store")
    return open_store("memory:" if request.param == "memory" else tmp_path / "root")


def failing(monkeypatch: pytest.MonkeyPatch, name: str, errors: list[Exception]) -> list[str]:
    """Make obstore's function raise these errors first; returns the list of its calls."""
    real: Callable[..., object] = getattr(obstore, name)
    calls: list[str] = []

    def stand_in(backend: object, path: str, *args: object, **options: object) -> object:
        calls.append(path)
        if errors:
            raise errors.pop(0)
        return real(backend, path, *args, **options)

    monkeypatch.setattr(objects.obstore, name, stand_in)
    return calls


def test_an_object_is_written_and_its_digest_returned(store: ObjectStore) -> None:
    assert store.put_once("cps1988/1/data.csv", b"a,b\n") == hashlib.sha256(b"a,b\n").hexdigest()
    assert store.get("cps1988/1/data.csv") == b"a,b\n"
    assert store.digest("cps1988/1/data.csv") == hashlib.sha256(b"a,b\n").hexdigest()
    assert store.exists("cps1988/1/data.csv") and not store.exists("cps1988/1/other")


def test_the_same_bytes_twice_is_success_and_other_bytes_are_a_conflict(store: ObjectStore) -> None:
    store.put_once("k", b"one")
    assert store.put_once("k", b"one") == hashlib.sha256(b"one").hexdigest()
    with pytest.raises(ConflictError) as caught:
        store.put_once("k", b"two")
    assert caught.value.reason is Reason.ALREADY_EXISTS
    assert store.get("k") == b"one"


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_files_are_stored_as_their_bytes(store: ObjectStore, tmp_path: Path, size: int) -> None:
    file = tmp_path / "staged"
    file.write_bytes(bytes(range(256)) * (size // 256) + b"x" * (size % 256))
    assert store.put_once("table", file) == hashlib.sha256(file.read_bytes()).hexdigest()
    assert store.get("table") == file.read_bytes()


def test_a_staged_file_that_is_gone_is_named(store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="staged") as caught:
        store.put_once("k", tmp_path / "staged")
    assert caught.value.reason is Reason.MISSING_FILE
    assert not store.exists("k")


def test_keys_are_listed_sorted_by_whole_segments(store: ObjectStore) -> None:
    for key in ("b/2", "b/1", "ba/1", "a"):
        store.put_once(key, b"")
    assert store.list() == ("a", "b/1", "b/2", "ba/1")
    assert store.list("b") == ("b/1", "b/2")
    assert store.list("none") == ()


def test_a_listing_tells_lengths(store: ObjectStore) -> None:
    store.put_once("a/long", b"12345")
    store.put_once("a/empty", b"")
    store.put_once("b", b"1")
    assert store.sizes("a") == {"a/empty": 0, "a/long": 5} and store.sizes("none") == {}
    assert tuple(store.sizes()) == store.list()


@pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\\b", "a\nb", "a#1"])
def test_keys_that_could_leave_the_root_or_hide_are_refused(store: ObjectStore, key: str) -> None:
    for operation in (store.get, store.exists, store.digest, lambda k: store.put_once(k, b"")):
        with pytest.raises(ConfigError):
            operation(key)
    with pytest.raises(ConfigError):
        store.put_once("a" * 901, b"")
    assert store.list() == ()


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=8), min_size=1, max_size=3))
def test_any_accepted_key_round_trips(segments: list[str]) -> None:
    memory, key = open_store("memory:"), "/".join(segments)
    try:
        memory.put_once(key, b"x")
    except ConfigError:
        return
    assert memory.list() == (key,) and memory.get(key) == b"x"


def test_odd_names_round_trip(store: ObjectStore) -> None:
    keys = ("a b/ä%41 c+d.x", "1/v=2,(3)~", "x/&y;z'")
    for key in keys:
        store.put_once(key, key.encode())
    assert store.list() == tuple(sorted(keys))
    assert all(store.get(key) == key.encode() for key in keys)


@pytest.mark.parametrize("size", [0, 1, 9_000_000])
def test_a_reader_seeks_in_an_object(store: ObjectStore, size: int) -> None:
    body = hashlib.shake_256(b"body").digest(size)
    store.put_once("table", body)
    assert store.size("table") == size
    reader = store.reader("table")
    assert reader.read() == body and reader.read() == b""
    assert reader.seek(-min(7, size), os.SEEK_END) == size - min(7, size)
    assert reader.read(100) == body[-7:]
    assert reader.seek(size // 2) == reader.tell() == size // 2
    assert (reader.seek(1, os.SEEK_CUR), reader.read(5)) == (size // 2 + 1, body[size // 2 + 1 :][:5])
    with pytest.raises(ValueError, match="before"):
        reader.seek(-size - 10, os.SEEK_END)
    assert not reader.writable()


def test_an_absent_object_is_missing(store: ObjectStore) -> None:
    for operation in (store.get, store.digest, store.size, store.reader):
        with pytest.raises(StoreError) as caught:
            operation("absent")
        assert caught.value.reason is Reason.MISSING_FILE
        assert caught.value.__cause__ is caught.value.__context__ is None


def test_addresses(tmp_path: Path) -> None:
    folder, memory = open_store(tmp_path / "a b"), open_store("memory:")
    assert folder.uri("x/y") == f"{tmp_path.as_uri()}/a%20b/x/y"
    assert folder.uri() == (tmp_path / "a b").as_uri()
    assert folder.local_path("x/y") == tmp_path / "a b" / "x" / "y"
    assert (memory.uri("x"), memory.local_path("x")) == ("memory:///x", None)
    assert open_store(folder.uri()).root == tmp_path / "a b"


def test_two_stores_in_memory_share_nothing() -> None:
    one, other = open_store("memory:"), open_store("memory:")
    one.put_once("k", b"")
    assert other.list() == ()


@pytest.mark.parametrize("umask", [0o000, 0o077])
@pytest.mark.parametrize(("private", "folder", "file"), [(True, 0o700, 0o600), (False, 0o755, 0o644)])
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: int, private: bool, folder: int, file: int) -> None:
    before = os.umask(umask)
    try:
        opened = open_store(tmp_path / "made" / "root", private=private)
        opened.put_once("a/b/c", b"x")
    finally:
        os.umask(before)
    made = tmp_path / "made"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (made, *made.rglob("*")) if path.is_dir()} == {folder}
    assert stat.S_IMODE((made / "root/a/b/c").stat().st_mode) == file


def test_an_existing_private_root_is_closed_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    open_store(tmp_path, private=True)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_objects_and_their_folders_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, flushed = tmp_path / "root", []
    store = open_store(root)
    monkeypatch.setattr(objects.folders.os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_ino))
    store.put_once("a/b", b"x")
    assert flushed[-3:] == [path.stat().st_ino for path in (root / "a" / "b", root / "a", root)]


def test_leftovers_of_a_killed_put_are_no_objects_and_do_not_disturb(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    (tmp_path / "data.csv#1").write_bytes(b"half")
    assert store.list() == ()
    store.put_once("data.csv", b"whole")
    assert store.list() == ("data.csv",) and store.get("data.csv") == b"whole"


def test_a_transient_fault_is_retried_with_growing_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    store = open_store("memory:", sleep=pauses.append)
    calls = failing(monkeypatch, "put", [GenericError("lost"), OSError("reset")])
    store.put_once("k", b"x")
    assert (len(calls), pauses) == (3, [0.2, 0.4])


def test_a_lasting_fault_ends_cleanly_after_the_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """B82: the store refuses the second of three objects."""
    pauses: list[float] = []
    store = open_store("memory:", sleep=pauses.append, attempts=3)
    store.put_once("v/1", b"1")
    failing(monkeypatch, "put", [GenericError("https://user:canary@host refused")] * 3)
    with pytest.raises(StoreError, match=r"GenericError after 3 attempt\(s\)") as caught:
        store.put_once("v/2", b"2")
    assert caught.value.reason is Reason.STORE_UNREACHABLE
    assert "canary" not in str(caught.value) and caught.value.__cause__ is None
    assert caught.value.__context__ is None, "the client's message must not be chained"
    assert (store.list(), pauses) == (("v/1",), [0.2, 0.4])


def test_a_refusal_is_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store("memory:")
    calls = failing(monkeypatch, "put", [PermissionDeniedError("no")] * 4)
    with pytest.raises(StoreError, match="PermissionDeniedError") as caught:
        store.put_once("k", b"x")
    assert caught.value.reason is Reason.STORE_REFUSED
    assert calls == ["k"]


def test_a_lost_reply_is_success_when_the_bytes_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    store, real = open_store("memory:"), obstore.put

    def put_and_lose_the_reply(*args: object, **options: object) -> None:
        real(*args, **options)  # type: ignore[arg-type]
        monkeypatch.setattr(objects.obstore, "put", real)
        raise GenericError("reset")

    monkeypatch.setattr(objects.obstore, "put", put_and_lose_the_reply)
    assert store.put_once("k", b"x") == hashlib.sha256(b"x").hexdigest()


def test_bytes_that_come_back_changed_are_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    store, real = open_store("memory:"), obstore.put

    def damage(backend: object, path: str, body: object, **options: object) -> object:
        return real(backend, path, bytes(body) + b"!", **options)  # type: ignore[arg-type, call-overload, operator]

    monkeypatch.setattr(objects.obstore, "put", damage)
    with pytest.raises(StoreError) as caught:
        store.put_once("k", b"x")
    assert caught.value.reason is Reason.DIGEST_MISMATCH


def test_racing_writers_leave_one_winner(store: ObjectStore) -> None:
    """Sixteen at one key, twice over."""
    for turn in range(2):
        _race(store, f"k{turn}")


def test_racing_writers_of_the_same_bytes_all_succeed(store: ObjectStore) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(lambda _: store.put_once("k", b"same"), range(16)))
    assert found == {hashlib.sha256(b"same").hexdigest()} and store.list() == ("k",)


def _race(store: ObjectStore, key: str) -> None:
    outcomes: list[str] = []

    def put(body: bytes) -> None:
        try:
            outcomes.append(store.put_once(key, body))
        except ConflictError:
            outcomes.append("conflict")

    threads = [threading.Thread(target=put, args=(b"%d" % number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = (outcome for outcome in outcomes if outcome != "conflict")
    assert len(outcomes) == 16 and store.digest(key) == winner


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("s3:bucket/prefix", Reason.BAD_SHAPE),
        ("s3://user:canary@bucket/prefix", Reason.BAD_SHAPE),
        ("s3://bucket/a//b", Reason.BAD_SHAPE),
        ("s3://bucket/../canary", Reason.BAD_SHAPE),
        ("s3://bucket/x?secret=canary", Reason.BAD_SHAPE),
        ("s3://B/x", Reason.BAD_SHAPE),
        ("s3://", Reason.BAD_SHAPE),
        (f"s3://bucket/{'p' * 101}", Reason.BAD_SHAPE),
        ("gs://bucket", Reason.NOT_BUILT_YET),
        ("ftp://user:canary@host/x", Reason.UNKNOWN_NAME),
        ("file://host/x", Reason.BAD_SHAPE),
        ("file:relative", Reason.BAD_SHAPE),
        ("", Reason.BAD_SHAPE),
        ("  ", Reason.BAD_SHAPE),
    ],
)
def test_locations_that_are_not_served_are_refused(location: str, reason: Reason) -> None:
    with pytest.raises(ConfigError) as caught:
        open_store(location)
    assert caught.value.reason is reason
    assert "canary" not in str(caught.value)


def test_a_folder_with_a_colon_or_a_space_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_store("./a:b").root == tmp_path / "a:b"
    assert open_store(f"file://localhost{tmp_path}/a%20b").root == tmp_path / "a b"


def test_an_absent_folder_is_not_made_for_a_reader(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(tmp_path / "absent", create=False)
    assert not (tmp_path / "absent").exists()
    assert caught.value.exit_code == 10


@pytest.mark.parametrize("create", [True, False])
def test_a_file_in_the_place_of_the_folder_is_a_store_error(tmp_path: Path, create: bool) -> None:
    (tmp_path / "file").write_bytes(b"")
    for location in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError):
            open_store(location, create=create)


def test_a_file_in_the_place_of_a_key_folder_is_a_store_error(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.put_once("a", b"")
    with pytest.raises(StoreError) as caught:
        store.put_once("a/b", b"")
    assert caught.value.reason is Reason.STORE_REFUSED


def test_at_least_one_attempt() -> None:
    with pytest.raises(ValueError, match="one attempt"):
        open_store("memory:", attempts=0)
