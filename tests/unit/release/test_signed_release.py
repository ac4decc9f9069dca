"""A signed release verifies with its key and no other; every tampering is named; an independent library agrees."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope as ForeignEnvelope
from securesystemslib.exceptions import VerificationError as ForeignError
from securesystemslib.signer import CryptoSigner, SSlibKey

from trasgo_lib.errors import Reason, VerificationError
from trasgo_lib.keys import PublicKey, SigningKey
from trasgo_lib.release import (
    ENVELOPE,
    MANIFEST,
    Anchors,
    PublishedBefore,
    Signing,
    VerificationReport,
    publish_package,
    read_envelope,
    stage_package,
    verify_release,
)
from trasgo_lib.release.envelope import envelope_bytes, pre_authentication_encoding
from trasgo_lib.storage import open_store

KEY, OTHER = SigningKey(bytes(range(32))), SigningKey(bytes(range(1, 33)))
ANCHORS = Anchors("a" * 64, "demo_account", 7, "b" * 64, PublishedBefore("0", "c" * 64))
LIGHT = """
format: 1
release: {dataset: light, version: "1", title: "A small one", licence: CC0-1.0}
source: {path: private-source.csv, format: csv}
privacy: {epsilon_total: "4", account: light, row_order: source}
columns:
  - {name: region, type: category, domain: {codes: [north, south, west]}, mechanism: kary_randomized_response,
     epsilon: "1"}
  - {name: note, role: public}
publish: {store: releases}
"""
"""Cheap to verify: a thousand edited copies of it are."""


def sign(made: Any, folder: Path, signing: Signing = Signing(KEY, ANCHORS)) -> Path:  # noqa: B008 frozen
    """Stage the made release signed, and publish it."""
    columns = json.loads((made.work / MANIFEST).read_text())["columns"]
    data = tuple(file for file in made.package.files if file.key.startswith("data/"))
    package = stage_package(made.facts, data, columns, folder / "work", signing)
    prefix = f"{made.plan.dataset}/{made.plan.version}"
    publish_package(package, open_store(folder / "public"), prefix)
    return folder / "public" / prefix


@pytest.fixture(scope="module")
def light(kit: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return kit.make(tmp_path_factory.mktemp("light"), LIGHT)


@pytest.fixture(scope="module")
def published(light: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sign(light, tmp_path_factory.mktemp("signed"))


@pytest.fixture
def release(published: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(published, tmp_path / "copy"))


def failures(report: VerificationReport) -> set[tuple[str, str]]:
    return {(result.name, result.subject) for result in report.failures}


def checked(folder: Path, *keys: SigningKey) -> set[tuple[str, str]]:
    return failures(verify_release(folder, keys=[key.public for key in keys or (KEY,)]))


def test_a_signed_release_verifies_and_says_who_signed(published: Path) -> None:
    report = verify_release(published, keys=[OTHER.public, KEY.public])
    assert report.failures == ()
    assert report.signature.signer_checked and report.signature.key_id == KEY.public.key_id
    assert "Signed by the given key" in report.signature.in_words
    assert report.to_json()["signature"] == {"signed": True, "key_id": KEY.public.key_id, "signer_checked": True}


def test_without_a_key_it_says_that_who_signed_was_not_checked(published: Path) -> None:
    report = verify_release(published)
    assert report.passed and not report.signature.signer_checked
    assert "not checked" in report.signature.in_words and KEY.public.key_id in report.signature.in_words


def test_another_key_is_not_the_signer(published: Path) -> None:
    report = verify_release(published, keys=[OTHER.public])
    assert failures(report) == {("signer", MANIFEST)}
    assert report.failures[0].reason is Reason.SIGNATURE_WRONG
    assert not report.signature.signer_checked
    with pytest.raises(VerificationError) as caught:
        report.require()
    assert caught.value.exit_code == 8


def test_an_unsigned_release_verifies_as_unsigned_and_not_under_a_key(light: Any, tmp_path: Path) -> None:
    publish_package(light.package, open_store(tmp_path), "light/1")
    report = verify_release(tmp_path / "light/1")
    assert report.passed and "not signed" in report.signature.in_words
    assert checked(tmp_path / "light/1") == {("signer", MANIFEST)}


def test_signing_again_gives_the_same_bytes(light: Any, published: Path, tmp_path: Path) -> None:
    again = sign(light, tmp_path)
    for path in sorted(published.rglob("*")):
        if path.is_file():
            assert (again / path.relative_to(published)).read_bytes() == path.read_bytes()


def test_the_statement_names_every_other_file_and_the_anchors(published: Path) -> None:
    statement = read_envelope((published / ENVELOPE).read_bytes()).statement()
    files = {path.relative_to(published).as_posix(): path for path in published.rglob("*") if path.is_file()}
    assert {entry["name"] for entry in statement["subject"]} == set(files) - {ENVELOPE}
    for entry in statement["subject"]:
        assert entry["digest"]["sha256"] == hashlib.sha256(files[entry["name"]].read_bytes()).hexdigest()
    assert statement["predicate"]["account"] == {"name": "demo_account", "sequence": 7, "head": "b" * 64}
    assert statement["predicate"]["previous"] == {"version": "0", "manifest_sha256": "c" * 64}
    assert statement["predicate"]["plan_digest"] == "a" * 64
    assert (statement["predicate"]["supersedes"], statement["predicate"]["reason"]) == (None, None)


def test_a_correction_says_what_it_supersedes_and_why(kit: Any, tmp_path: Path) -> None:
    corrects = 'supersedes: {version: "0", reason: error, note: 37 rows were corrected upstream}, licence: CC0-1.0}'
    (tmp_path / "made").mkdir()
    folder = sign(kit.make(tmp_path / "made", LIGHT.replace("licence: CC0-1.0}", corrects)), tmp_path)
    assert checked(folder) == set()
    assert json.loads((folder / MANIFEST).read_text())["supersedes"] == "0"
    predicate = read_envelope((folder / ENVELOPE).read_bytes()).statement()["predicate"]
    assert (predicate["supersedes"], predicate["reason"]) == ("0", "37 rows were corrected upstream")


# an independent library, in both directions


def foreign_key(key: SigningKey) -> SSlibKey:
    public: Any = load_pem_public_key(key.public.to_pem())
    return SSlibKey.from_crypto(public, keyid=key.public.key_id)


def test_an_independent_library_verifies_our_envelope(published: Path) -> None:
    document = json.loads((published / ENVELOPE).read_text())
    envelope = ForeignEnvelope.from_dict(json.loads(json.dumps(document)))
    accepted = envelope.verify([foreign_key(KEY)], 1)
    assert set(accepted) == {KEY.public.key_id}
    with pytest.raises(ForeignError):
        ForeignEnvelope.from_dict(json.loads(json.dumps(document))).verify([foreign_key(OTHER)], 1)
    document["payload"] = base64.b64encode(base64.b64decode(document["payload"]) + b" ").decode()
    with pytest.raises(ForeignError):
        ForeignEnvelope.from_dict(document).verify([foreign_key(KEY)], 1)


def test_we_verify_the_envelope_of_an_independent_library(published: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    ours = read_envelope((published / ENVELOPE).read_bytes())
    envelope = ForeignEnvelope(ours.payload, "application/vnd.in-toto+json", {})
    signer = CryptoSigner(Ed25519PrivateKey.from_private_bytes(KEY.seed), foreign_key(KEY))
    theirs = bytes.fromhex(envelope.sign(signer).signature)
    assert envelope.pae() == pre_authentication_encoding(ours.payload)
    assert theirs == ours.signature
    assert KEY.public.holds(theirs, envelope.pae())
    assert not KEY.public.holds(theirs, envelope.pae() + b" ")


# tampering


def flip(path: Path, place: int, by: int = 1) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= by
    path.write_bytes(bytes(content))


def test_a_lost_file_is_named(release: Path) -> None:
    (release / "report.md").unlink()
    assert ("complete", "report.md") in checked(release)
    (release / ENVELOPE).unlink()
    assert ("complete", ENVELOPE) in checked(release)


def test_an_added_file_is_named(release: Path) -> None:
    (release / "data" / "more.csv").write_text("a\n1\n")
    assert checked(release) == {("no other files", "data/more.csv")}


def test_a_truncated_parquet_is_named(release: Path) -> None:
    path = release / "data/light.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    assert {("digest", "data/light.parquet"), ("data", "data/light.parquet")} <= checked(release)


def test_the_envelope_of_another_version_is_named(kit: Any, release: Path, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    other = sign(kit.make(tmp_path / "made", LIGHT.replace('version: "1"', 'version: "2"')), tmp_path / "other")
    shutil.copyfile(other / ENVELOPE, release / ENVELOPE)
    found = checked(release)
    assert ("signed release", ENVELOPE) in found and ("signed file", MANIFEST) in found
    assert ("signature", ENVELOPE) not in found


@pytest.mark.parametrize("path", ["statement.json", "channel.json", MANIFEST, "ro-crate-metadata.json"])
def test_reordered_json_is_named(release: Path, path: str) -> None:
    document = json.loads((release / path).read_text())
    (release / path).write_text(json.dumps(dict(reversed(document.items())), ensure_ascii=False, indent=2) + "\n")
    assert (("signed file", path) if path == MANIFEST else ("digest", path)) in checked(release)


def respelled(change: Callable[[dict[str, Any]], object], release: Path) -> bytes:
    document = json.loads((release / ENVELOPE).read_text())
    change(document)
    return bytes(rfc8785.dumps(document)) + b"\n"


def test_another_spelling_of_the_envelope_is_named(release: Path) -> None:
    stored = (release / ENVELOPE).read_bytes()
    document = json.loads(stored)
    swapped = dict(reversed(document.items()))
    for text in (
        json.dumps(document),
        json.dumps(swapped, separators=(",", ":")),
        stored.decode() + "\n",
        stored.decode().replace('","payloadType"', ' ","payloadType"'),
    ):
        (release / ENVELOPE).write_text(text)
        assert checked(release) == {("envelope", ENVELOPE)}


def test_base64_with_other_trailing_bits_is_named(release: Path) -> None:
    """The last character before == carries four bits that decoders drop."""

    def change(document: dict[str, Any]) -> None:
        sig = document["signatures"][0]["sig"]
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        document["signatures"][0]["sig"] = sig[:-3] + alphabet[alphabet.index(sig[-3]) ^ 1] + "=="

    text = respelled(change, release)
    before = json.loads((release / ENVELOPE).read_text())["signatures"][0]["sig"]
    assert base64.b64decode(json.loads(text)["signatures"][0]["sig"]) == base64.b64decode(before)
    (release / ENVELOPE).write_bytes(text)
    assert checked(release) == {("envelope", ENVELOPE)}


def test_a_payload_in_another_spelling_is_named_although_it_is_signed(release: Path) -> None:
    statement = read_envelope((release / ENVELOPE).read_bytes()).statement()
    payload = json.dumps(statement).encode()
    signature = KEY.sign(pre_authentication_encoding(payload))

    def change(document: dict[str, Any]) -> None:
        document["payload"] = base64.b64encode(payload).decode()
        document["signatures"][0]["sig"] = base64.b64encode(signature).decode()

    (release / ENVELOPE).write_bytes(respelled(change, release))
    assert checked(release) == {("envelope", ENVELOPE)}


def test_another_key_in_the_package_is_named(release: Path) -> None:
    (release / "signing-key.pem").write_bytes(OTHER.public.to_pem())
    assert {("signing key", "signing-key.pem"), ("digest", "signing-key.pem")} <= checked(release)
    (release / "signing-key.pem").write_bytes(b"no key")
    assert ("signature", ENVELOPE) in failures(verify_release(release))


def test_a_release_signed_anew_by_a_forger_passes_only_without_the_publishers_key(light: Any, tmp_path: Path) -> None:
    """Why a key inside the package proves nothing."""
    forged = sign(light, tmp_path, Signing(OTHER, ANCHORS))
    assert verify_release(forged).passed
    assert checked(forged) == {("signer", MANIFEST)}


def test_a_stripped_signature_is_named_under_a_key(light: Any, release: Path) -> None:
    for file in light.package.files:
        shutil.copyfile(file.path, release / file.key)
    for key in (ENVELOPE, "signing-key.pem"):
        (release / key).unlink()
    assert verify_release(release).passed
    assert checked(release) == {("signer", MANIFEST)}


def test_signed_claims_that_differ_from_the_files_are_named(release: Path) -> None:
    """A statement that its own office signed, about other things than lie beside it."""
    statement = read_envelope((release / ENVELOPE).read_bytes()).statement()
    for change, found in (
        (lambda body: body["predicate"].update(supersedes="0"), ("signed supersedes", ENVELOPE)),
        (lambda body: body["predicate"].update(created="2027-01-01T00:00:00Z"), ("signed created", ENVELOPE)),
        (lambda body: body["predicate"].update(key_id="0" * 64), ("signed key", ENVELOPE)),
        (lambda body: body["subject"].pop(0), ("signed file", statement["subject"][0]["name"])),
        (lambda body: body["subject"].append({"name": "x", "digest": {"sha256": "0" * 64}}), ("signed file", "x")),
        (lambda body: body["subject"].append(body["subject"][0]), ("signed in order", ENVELOPE)),
    ):
        body = json.loads(json.dumps(statement))
        change(body)
        (release / ENVELOPE).write_bytes(envelope_bytes(body, KEY))
        assert checked(release) == {found}


def test_old_keys_keep_verifying_what_they_signed(light: Any, published: Path, tmp_path: Path) -> None:
    new = sign(light, tmp_path, Signing(OTHER, ANCHORS))
    ring = (KEY, OTHER)
    assert checked(published, *ring) == checked(new, *ring) == set()
    assert checked(published, OTHER) == {("signer", MANIFEST)}


def edits(folder: Path, count: int, seed: int) -> list[tuple[str, int, int]]:
    """Places over all files, each file as likely as its share of all bytes but at least one in fifty, and a byte."""
    chosen = random.Random(seed)
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    sizes = [max((folder / name).stat().st_size, 400) for name in files]
    found = []
    for name in chosen.choices(files, sizes, k=count):
        found.append((name, chosen.randrange((folder / name).stat().st_size), chosen.randrange(1, 256)))
    return found


def undetected(release: Path, count: int, seed: int, keys: list[PublicKey]) -> list[tuple[str, int, int]]:
    missed = []
    for name, place, by in edits(release, count, seed):
        flip(release / name, place, by)
        missed += [(name, place, by)] if verify_release(release, keys=keys).passed else []
        flip(release / name, place, by)
    return missed


@pytest.mark.parametrize("keys", [[KEY.public], []], ids=["key", "no key"])
def test_random_edits_of_one_byte_are_detected(release: Path, keys: list[PublicKey]) -> None:
    assert undetected(release, 200, 1, keys) == []
    assert verify_release(release, keys=keys).passed, "every edit was undone"


@pytest.mark.long
@pytest.mark.parametrize("keys", [[KEY.public], []], ids=["key", "no key"])
def test_a_thousand_random_edits_of_one_byte_are_detected(release: Path, keys: list[PublicKey]) -> None:
    assert undetected(release, 1000, 2, keys) == []
    assert {name for name, _, _ in edits(release, 1000, 2)} == {
        path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_file()
    }


def test_random_edits_of_an_unsigned_release_are_detected(light: Any, tmp_path: Path) -> None:
    publish_package(light.package, open_store(tmp_path), "light/1")
    assert undetected(tmp_path / "light" / "1", 60, 3, []) == []


def test_what_is_no_base64_or_no_statement_is_named(release: Path) -> None:
    for payload in ("AAAAA", base64.b64encode(b'{"_type":"x"}').decode()):
        text = respelled(lambda document, payload=payload: document.update(payload=payload), release)  # type: ignore[misc]
        (release / ENVELOPE).write_bytes(text)
        assert checked(release) == {("envelope", ENVELOPE)}


def test_a_respelled_manifest_of_an_unsigned_release_is_named(light: Any, tmp_path: Path) -> None:
    publish_package(light.package, open_store(tmp_path), "light/1")
    path = tmp_path / "light/1" / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text())))
    assert failures(verify_release(path.parent)) == {("spelling", MANIFEST)}
