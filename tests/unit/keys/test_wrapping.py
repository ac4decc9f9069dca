"""The wrapping key: where it may come from, what it binds, and that it never shows."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.errors import ConfigError, ConflictError, Reason
from trasgo_lib.keys import WrappingKey, digest_key_context, load_wrapping_key, root_context

KEY_BYTES = bytes(range(32))
KEY_TEXT = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
SECRET = b"\xa5" * 31 + b"\x5a"
KEY = WrappingKey(KEY_BYTES)


def fixed(count: int) -> bytes:
    return bytes(range(count))


def test_wrapped_bytes_known_answer() -> None:
    wrapped = KEY.wrap(SECRET, root_context("cps1988", "1"), fixed)
    assert wrapped[:13] == b"\x01" + bytes(range(12))
    assert len(wrapped) == 1 + 12 + 32 + 16
    assert KEY.unwrap(wrapped, root_context("cps1988", "1")) == SECRET


@settings(derandomize=True, deadline=None)
@given(st.binary(min_size=1, max_size=64), st.text(max_size=10), st.text(max_size=10))
def test_what_is_wrapped_is_unwrapped_and_nothing_shows(secret: bytes, dataset: str, version: str) -> None:
    context = root_context(dataset, version)
    wrapped = KEY.wrap(secret, context, fixed)
    assert KEY.unwrap(wrapped, context) == secret
    assert len(secret) < 8 or secret not in wrapped


def test_a_wrapped_root_belongs_to_one_version_and_is_no_digest_key() -> None:
    contexts = [
        root_context("cps", "1"),
        root_context("cps", "2"),
        root_context("cps1", ""),
        root_context("", "cps1"),
        root_context("cp", "s1"),
        digest_key_context("cps"),
        digest_key_context("cps1"),
    ]
    assert len(set(contexts)) == len(contexts)
    for mine, other in itertools.permutations(contexts, 2):
        with pytest.raises(ConflictError) as caught:
            KEY.unwrap(KEY.wrap(SECRET, mine, fixed), other)
        assert caught.value.reason is Reason.KEY_UNUSABLE


def test_another_key_or_any_changed_byte_does_not_unwrap() -> None:
    context = root_context("cps", "1")
    wrapped = KEY.wrap(SECRET, context, fixed)
    with pytest.raises(ConflictError):
        WrappingKey(bytes(reversed(KEY_BYTES))).unwrap(wrapped, context)
    for place in range(len(wrapped)):
        broken = wrapped[:place] + bytes([wrapped[place] ^ 1]) + wrapped[place + 1 :]
        with pytest.raises(ConflictError):
            KEY.unwrap(broken, context)


@pytest.mark.parametrize("wrapped", [b"", b"\x01", b"\x02" * 61, b"\x01" + bytes(28)])
def test_bytes_of_another_shape_do_not_unwrap(wrapped: bytes) -> None:
    with pytest.raises(ConflictError, match="do not decrypt") as caught:
        KEY.unwrap(wrapped, b"")
    assert caught.value.__cause__ is None


def test_fresh_nonces_give_fresh_ciphertexts() -> None:
    assert KEY.wrap(SECRET, b"", os.urandom) != KEY.wrap(SECRET, b"", os.urandom)


def test_a_source_without_randomness_makes_no_nonce() -> None:
    with pytest.raises(ValueError, match="12 bytes"):
        KEY.wrap(SECRET, b"", lambda count: b"")


@pytest.mark.parametrize("text", [KEY_TEXT, KEY_TEXT.rstrip("="), f"  {KEY_TEXT}\n"])
def test_text_is_read_with_or_without_padding(text: str) -> None:
    assert WrappingKey.from_text(text).to_text() == KEY_TEXT


@pytest.mark.parametrize(
    "text",
    ["", "short", KEY_TEXT[:-2], KEY_TEXT + "AAAA", "!" + KEY_TEXT[1:], KEY_TEXT.replace("8", "ü"), "AAAA " + KEY_TEXT],
)
def test_text_that_is_no_key_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        WrappingKey.from_text(text)
    assert caught.value.reason is Reason.KEY_UNUSABLE
    assert len(text) < 10 or text.strip() not in str(caught.value)


def test_a_constant_key_is_refused() -> None:
    with pytest.raises(ConfigError):
        WrappingKey(bytes(32))
    with pytest.raises(ConfigError):
        WrappingKey(KEY_BYTES[:16])


def test_generated_keys_come_from_the_source() -> None:
    assert WrappingKey.generate(fixed).to_text() == KEY_TEXT


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_key_file_is_private_whatever_the_umask_and_reads_back(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "wrapping.key"
    before = os.umask(umask)
    try:
        KEY.write_file(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_wrapping_key(path, None).to_text() == KEY_TEXT


def test_a_key_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "wrapping.key"
    KEY.write_file(path)
    with pytest.raises(ConflictError) as caught:
        WrappingKey(bytes(reversed(KEY_BYTES))).write_file(path)
    assert caught.value.reason is Reason.ALREADY_EXISTS
    assert WrappingKey.from_file(path).to_text() == KEY_TEXT


def test_a_key_file_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="writable folder"):
        KEY.write_file(tmp_path / "absent" / "wrapping.key")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610, 0o601])
def test_a_key_file_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "wrapping.key"
    KEY.write_file(path)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=f"{mode:04o}"):
        WrappingKey.from_file(path)


def test_a_key_file_that_is_absent_a_folder_or_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(mode=0o700)
    for name in ("absent", "folder", "pipe"):
        with pytest.raises(ConfigError) as caught:
            WrappingKey.from_file(tmp_path / name)
        assert caught.value.reason is Reason.KEY_UNUSABLE


def test_a_key_file_that_holds_something_else_is_refused_and_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "wrapping.key"
    path.write_bytes(b"canary-4711 \xff" * 1000)
    path.chmod(0o600)
    with pytest.raises(ConfigError) as caught:
        WrappingKey.from_file(path)
    assert "canary" not in str(caught.value)


def test_the_key_comes_from_exactly_one_place(tmp_path: Path) -> None:
    path = tmp_path / "wrapping.key"
    KEY.write_file(path)
    assert load_wrapping_key(None, KEY_TEXT).to_text() == KEY_TEXT
    for file, text in ((None, None), (path, KEY_TEXT)):
        with pytest.raises(ConfigError):
            load_wrapping_key(file, text)


def test_the_key_is_neither_printed_nor_pickled() -> None:
    assert repr(KEY) == str(KEY) == "WrappingKey(...)"
    for leak in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="never pickled"):
            leak(KEY)
