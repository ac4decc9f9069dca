"""Known answers for words, labels, tables and weights.

A release is redrawn from its key years later, so none of these numbers may ever change. A difference here is a break
of a stored format: raise the mechanism's version (or the salt's) instead of writing new answers.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.mechanisms import build_channel, rebuild_channel
from trasgo_lib.noise import AliasTable, Keystream, WideAliasTable, derive, permutation

HERE = Path(__file__).parent
ROOT = bytes(range(32))


def answers(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((HERE / name).read_text(encoding="utf-8"))
    assert loaded["format"] == 1
    return loaded


WORDS = answers("keystream_words.json")
TABLES = answers("alias_tables.json")
CHANNELS = answers("channel_weights.json")["channels"]


@pytest.mark.parametrize("stream", WORDS["streams"], ids=lambda stream: repr(stream["label"]))
def test_labels_and_words(stream: dict[str, Any]) -> None:
    assert bytes.fromhex(WORDS["root"]) == ROOT
    assert derive(ROOT, *stream["label"]).hex() == stream["subkey"]
    keystream = Keystream(ROOT, *stream["label"])
    for known in stream["words"]:
        assert int(keystream.words(known["index"], 1)[0]) == int(known["word"])


def test_labels_follow_rfc_5869_with_the_documented_layout() -> None:
    """The same subkey from nothing but HMAC: extract with the salt, expand over typed, length-prefixed parts."""
    parts = [(b"s", b"demo"), (b"i", b"1"), (b"b", b"\x00\xff")]
    info = b"".join(tag + len(body).to_bytes(8, "big") + body for tag, body in parts)
    extracted = hmac.new(b"trasgo/1", ROOT, hashlib.sha256).digest()
    expanded = hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()
    assert derive(ROOT, "demo", 1, b"\x00\xff") == expanded
    assert derive(ROOT, bytes.fromhex(WORDS["bytes_label"]["label_hex"])).hex() == WORDS["bytes_label"]["subkey"]


def test_words_follow_the_counter_mode_of_aes_256() -> None:
    """NIST SP 800-38A, F.5.5: the same cipher, so the counter starts at 0 and blocks are little-endian pairs."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = derive(ROOT, "demo")
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    block = encryptor.update((5).to_bytes(16, "big"))
    words = [int.from_bytes(block[:8], "little"), int.from_bytes(block[8:], "little")]
    assert Keystream(ROOT, "demo").words(10, 2).tolist() == words


def test_permutation() -> None:
    known = WORDS["permutation"]
    assert permutation(Keystream(ROOT, *known["label"]), known["rows"]).tolist() == known["order"]


@pytest.mark.parametrize("known", TABLES["tables"], ids=lambda known: f"{len(known['weights'])} entries")
def test_alias_tables(known: dict[str, Any]) -> None:
    table = AliasTable([int(weight) for weight in known["weights"]])
    assert [[str(share), alias] for share, alias in table.columns()] == known["columns"]
    out = np.empty(len(known["draws"]), dtype=np.int32)
    table.draw(Keystream(ROOT, "alias").words(0, len(out)), out)
    assert out.tolist() == known["draws"]


def test_wide_alias_table() -> None:
    known = TABLES["wide"]
    table = WideAliasTable([int(weight) for weight in known["weights"]])
    out = np.empty(len(known["draws"]), dtype=np.int32)
    table.draw(Keystream(ROOT, "alias").words(0, 2 * len(out)), out)
    assert out.tolist() == known["draws"]


def domain_of(known: dict[str, Any]) -> NumberDomain | CategoryDomain:
    if known["kind"] == "number":
        return NumberDomain(known["lower"], known["upper"], known["step"])
    return CategoryDomain(known["codes"])


@pytest.mark.parametrize(
    "known", CHANNELS, ids=lambda known: f"{known['mechanism']} {known['epsilon']} {known['options']}"
)
def test_channels(known: dict[str, Any]) -> None:
    domain = domain_of(known["domain"])
    built = build_channel(known["mechanism"], domain, known["epsilon"], **known["options"])
    rebuilt = rebuild_channel(known["mechanism"], domain, known["parameters"])
    for channel in (built, rebuilt):
        assert channel.parameters == known["parameters"]
        assert str(channel.certified_epsilon) == known["certified_epsilon"]
        assert channel.digest == known["digest"]
        assert [[str(weight) for weight in channel.weights(code)] for code in range(channel.inputs)] == known["weights"]
        codes = (np.arange(len(known["draws"])) % channel.inputs).astype(np.int32)
        assert channel.sample(codes, Keystream(ROOT, "golden"), first_row=100).tolist() == known["draws"]
