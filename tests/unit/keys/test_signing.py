"""Signing keys: fixed answers, ids, PEM, wrapping, renewal; what is not a key is refused."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest

from trasgo_lib.errors import ConfigError, ConflictError, Reason
from trasgo_lib.keys import PublicKey, SigningKey, SigningKeys, WrappingKey, read_public_keys

SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
EMPTY = (
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
    "655141438e7a100b"
)
"""RFC 8032, 7.1, test 1: the signature of the empty message."""


def counted(start: int = 1):  # type: ignore[no-untyped-def]
    """A random source that is none: every call gives other bytes."""
    state = [start]

    def take(length: int) -> bytes:
        state[0] += 1
        return bytes((state[0] * 31 + place * 7) % 256 for place in range(length))

    return take


@pytest.fixture
def wrapping() -> WrappingKey:
    return WrappingKey(bytes(range(32)))


def test_signatures_are_those_of_the_standard() -> None:
    key = SigningKey(SEED)
    assert key.sign(b"").hex() == EMPTY
    assert key.public.holds(bytes.fromhex(EMPTY), b"")
    assert not key.public.holds(bytes.fromhex(EMPTY), b"x")
    assert not SigningKey(bytes(range(32))).public.holds(bytes.fromhex(EMPTY), b"")


def test_a_key_reads_back_from_pem_and_keeps_its_id() -> None:
    public = SigningKey(SEED).public
    again = PublicKey.from_pem(public.to_pem())
    assert again == public and hash(again) == hash(public)
    assert len(public.key_id) == 64 and public.key_id in repr(public)
    assert public != SigningKey(bytes(range(32))).public
    assert public != "another thing"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine")
def test_the_id_is_what_openssl_gives(tmp_path: Path) -> None:
    public = SigningKey(SEED).public
    (tmp_path / "key.pem").write_bytes(public.to_pem())
    command = ["openssl", "pkey", "-pubin", "-in", str(tmp_path / "key.pem"), "-outform", "DER"]
    der = subprocess.run(command, capture_output=True, check=True).stdout
    assert hashlib.sha256(der).hexdigest() == public.key_id


def test_a_ring_of_several_keys_is_read_with_text_between() -> None:
    keys = [SigningKey(bytes([start] * 31 + [0])).public for start in (1, 2)]
    text = b"office, 2029\n" + keys[0].to_pem() + b"office, 2030\n" + keys[1].to_pem()
    assert list(read_public_keys(text)) == keys
    with pytest.raises(ConfigError, match="2 of them"):
        PublicKey.from_pem(text)


_PRIVATE = (
    b"-----BEGIN PRIVATE KEY-----\n"
    b"MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    b"-----END PRIVATE KEY-----\n"
)
"""The seed above, as someone would paste it by mistake."""


@pytest.mark.parametrize("text", [b"", b"no key", _PRIVATE, SigningKey(SEED).public.to_pem().replace(b"MCow", b"MCox")])
def test_what_is_no_public_key_is_refused(text: bytes) -> None:
    with pytest.raises(ConfigError) as caught:
        read_public_keys(text)
    assert caught.value.reason is Reason.KEY_UNUSABLE
    assert "9d61" not in str(caught.value)


def test_a_seed_has_32_bytes_and_never_leaves() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        SigningKey(SEED[:31])
    key = SigningKey(SEED)
    assert SEED.hex() not in repr(key)
    with pytest.raises(TypeError):
        pickle.dumps(key)


def test_keys_are_stored_wrapped_and_readable_by_the_owner_only(tmp_path: Path, wrapping: WrappingKey) -> None:
    keys = SigningKeys.generate(wrapping, counted())
    path = tmp_path / "signing.key"
    keys.write_file(path)
    assert path.stat().st_mode & 0o777 == 0o600
    again = SigningKeys.from_file(path)
    assert again == keys
    key = again.key(wrapping)
    assert key.public == again.public[0]
    content = path.read_bytes()
    assert key.seed not in content and key.seed.hex().encode() not in content
    with pytest.raises(ConflictError) as caught:
        again.key(WrappingKey(bytes(range(1, 33))))
    assert caught.value.reason is Reason.KEY_UNUSABLE
    with pytest.raises(ConflictError) as caught:
        keys.write_file(path)
    assert caught.value.reason is Reason.ALREADY_EXISTS
    assert path.read_bytes() == content


def test_a_renewed_file_signs_with_the_new_key_and_keeps_the_old_one(wrapping: WrappingKey) -> None:
    random = counted()
    first = SigningKeys.generate(wrapping, random)
    both = first.renewed(wrapping, random)
    assert both.public[0] == first.public[0] != both.public[1]
    assert both.key(wrapping).public == both.public[1]
    assert both.key(wrapping, first.public[0].key_id).public == first.public[0]
    with pytest.raises(ConflictError, match="Restore the file"):
        both.key(wrapping, "0" * 64)
    with pytest.raises(ConflictError):
        first.renewed(WrappingKey(bytes(range(1, 33))), random)


def test_keys_move_to_another_wrapping_key(wrapping: WrappingKey) -> None:
    random, other = counted(), WrappingKey(bytes(range(1, 33)))
    keys = SigningKeys.generate(wrapping, random).renewed(wrapping, random)
    moved = keys.rewrapped(wrapping, other, random)
    assert moved.public == keys.public
    assert moved.key(other).seed == keys.key(wrapping).seed
    with pytest.raises(ConflictError):
        moved.key(wrapping)


def test_a_wrapped_key_passes_for_no_other(tmp_path: Path, wrapping: WrappingKey) -> None:
    """The associated data binds a wrapped seed to its public half."""
    random = counted()
    SigningKeys.generate(wrapping, random).renewed(wrapping, random).write_file(tmp_path / "keys")
    document = json.loads((tmp_path / "keys").read_text())
    first, second = document["keys"]
    first["wrapped"], second["wrapped"] = second["wrapped"], first["wrapped"]
    (tmp_path / "keys").write_text(json.dumps(document))
    with pytest.raises(ConflictError):
        SigningKeys.from_file(tmp_path / "keys").key(wrapping)


@pytest.mark.parametrize("text", ["", "{}", '{"format": 2, "keys": []}', '{"format": 1, "keys": [{}]}', "[]"])
def test_a_file_that_holds_no_keys_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys").write_text(text)
    with pytest.raises(ConfigError) as caught:
        SigningKeys.from_file(tmp_path / "keys")
    assert caught.value.reason is Reason.KEY_UNUSABLE
    with pytest.raises(ConfigError):
        SigningKeys.from_file(tmp_path / "absent")


def test_a_folder_that_is_absent_is_said(tmp_path: Path, wrapping: WrappingKey) -> None:
    with pytest.raises(ConfigError):
        SigningKeys.generate(wrapping, counted()).write_file(tmp_path / "absent" / "keys")
