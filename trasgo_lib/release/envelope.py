"""``manifest.dsse.json``: a signed statement about every file of a release, in formats that other tools read.

A DSSE envelope holds an in-toto Statement v1 whose subjects are the files. Both are canonical JSON (RFC 8785), so a
reader can compare bytes instead of trusting a parser: any other spelling of the same content is refused.
Source: DSSE v1.0 (protocol and envelope), in-toto attestation framework v1 (Statement).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import rfc8785

from trasgo_lib.errors import Reason, VerificationError
from trasgo_lib.keys import PublicKey, SigningKey
from trasgo_lib.release import documents
from trasgo_lib.release.manifest import ENVELOPE, StagedFile

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:x-trasgo:release:1"
"""Names what the predicate means and in which version; an address of nobody."""


@dataclass(frozen=True, slots=True)
class PublishedBefore:
    """The version of the same data set that was published before this one.

    Args:
        version: its version.
        manifest_sha256: digest of its manifest, hex.
    """

    version: str
    manifest_sha256: str


@dataclass(frozen=True, slots=True)
class Anchors:
    """What ties a release to the records of the office; public, and the same however often a publication is resumed.

    Args:
        plan_digest: digest of the plan, hex.
        account: the account that paid; None for a collection, whose devices paid.
        sequence: number of the account's last entry for this version; 0 without an account.
        head: hash of that entry, hex; everything before it hangs on it; empty without an account.
        previous: what was published before, or None.
    """

    plan_digest: str
    account: str | None
    sequence: int
    head: str
    previous: PublishedBefore | None = None


@dataclass(frozen=True, slots=True)
class Signing:
    """What a package is signed with.

    Args:
        key: the signing key; secret.
        anchors: what the signed statement says beside the files.
    """

    key: SigningKey
    anchors: Anchors


def canonical(document: Mapping[str, Any]) -> bytes:
    """Canonical JSON (RFC 8785)."""
    return rfc8785.dumps(dict(document))


def pre_authentication_encoding(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """The bytes that a DSSE signature is made over: type and payload with their lengths."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def signed_statement(
    manifest: Mapping[str, Any], files: Iterable[StagedFile], anchors: Anchors, key_id: str, reason: str | None = None
) -> dict[str, Any]:
    """The in-toto statement of a package.

    Args:
        manifest: the manifest's content.
        files: every file of the package but the envelope, the manifest included.
        anchors: what ties it to the records.
        key_id: whose signature it will carry.
        reason: why it takes the place of the version that the manifest names, or None.
    """
    previous = anchors.previous
    return {
        "_type": STATEMENT_TYPE,
        "subject": subjects({file.key: file.sha256 for file in files}),
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "format": 1,
            "release": {"dataset": manifest["dataset"], "version": manifest["version"]},
            "created": manifest["created"],
            "plan_digest": anchors.plan_digest,
            "account": None
            if anchors.account is None
            else {"name": anchors.account, "sequence": anchors.sequence, "head": anchors.head},
            "previous": None
            if previous is None
            else {"version": previous.version, "manifest_sha256": previous.manifest_sha256},
            "supersedes": manifest["supersedes"],
            "reason": reason,
            "key_id": key_id,
        },
    }


def subjects(digests: Mapping[str, str]) -> list[dict[str, Any]]:
    """Files as a statement names them, sorted by path."""
    return [{"name": path, "digest": {"sha256": digest}} for path, digest in sorted(digests.items())]


def envelope_bytes(statement: Mapping[str, Any], key: SigningKey) -> bytes:
    """The signed envelope, canonical, with a newline at its end.

    Args:
        statement: what is signed.
        key: the signing key; secret.

    Raises:
        VerificationError: the statement does not satisfy its own schema.
    """
    documents.check_schema(statement, "signed_statement")
    payload = canonical(statement)
    signature = key.sign(pre_authentication_encoding(payload))
    return _bytes_of(payload, key.public.key_id, signature)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A parsed envelope; not verified yet.

    Args:
        payload: the signed bytes.
        key_id: whose signature it says it carries.
        signature: the signature.
    """

    payload: bytes
    key_id: str
    signature: bytes

    def signed_by(self, key: PublicKey) -> bool:
        """Whether the signature is that of this key over the payload."""
        return key.holds(self.signature, pre_authentication_encoding(self.payload))

    def statement(self) -> dict[str, Any]:
        """The statement inside.

        Raises:
            VerificationError: it is no strict JSON of its schema, or not in canonical form.
        """
        statement = documents.parse(self.payload, "signed_statement")
        if canonical(statement) != self.payload:
            raise _not_canonical("payload")
        return statement


def read_envelope(data: bytes) -> Envelope:
    """Parse an envelope strictly: one spelling only.

    Raises:
        VerificationError: another form, another payload type, or not the canonical bytes of its own content.
    """
    document = documents.parse(data, "envelope")
    (signature,) = document["signatures"]
    try:
        payload = base64.b64decode(document["payload"], validate=True)
        raw = base64.b64decode(signature["sig"], validate=True)
    except (binascii.Error, ValueError):
        payload = raw = b""
    if _bytes_of(payload, signature["keyid"], raw) != data:
        raise _not_canonical(ENVELOPE)
    return Envelope(payload, signature["keyid"], raw)


def _bytes_of(payload: bytes, key_id: str, signature: bytes) -> bytes:
    document = {
        "payload": base64.b64encode(payload).decode("ascii"),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": key_id, "sig": base64.b64encode(signature).decode("ascii")}],
    }
    documents.check_schema(json.loads(json.dumps(document)), "envelope")
    return canonical(document) + b"\n"


def _not_canonical(where: str) -> VerificationError:
    return VerificationError.of(
        Reason.SCHEMA_VIOLATION,
        where,
        required="canonical JSON, byte for byte",
        came="another spelling of it",
        fix="Fetch the release again, or ask the publisher.",
    )
