"""Signing: which key signs a version, and what its signed statement says of ledger and earlier versions.

Everything here is taken at a point that lies behind the version (its last charge, its checked state), so that a
publication that is resumed signs the same bytes.
"""

from __future__ import annotations

import json
from hashlib import sha256

from tasks.places import VersionPlan, signing_key_file
from tasks.session import Session
from tasks.version_life import VersionLife
from trasgo_lib.keys import PublicKey, SigningKey, SigningKeys
from trasgo_lib.records import Entry, State, VersionRecord
from trasgo_lib.release import MANIFEST, SIGNING_KEY, Anchors, PublishedBefore, Signing, release_prefix

_PREVIOUS_VERSION = "previous_version"
_PREVIOUS_MANIFEST = "previous_manifest"


def require_signing_key(session: VersionLife[VersionPlan]) -> None:
    """Stop before anything is drawn when this version is to be signed and there is no key to sign it with.

    Raises:
        ConfigError: there is no signing key file, or it is none.
        ConflictError: the wrapping key does not open it.
    """
    if session.plan.config.publish.sign == "required":
        signing_key(session)


def signing_key(session: VersionLife[VersionPlan]) -> SigningKey:
    """The key that signs this version: the present one, or that of a publication that was begun; secret.

    Raises:
        ConfigError: there is no signing key file, or it is none.
        ConflictError: the key is not in it, or the wrapping key does not open it.
    """
    keys = SigningKeys.from_file(signing_key_file(session.home, session.plan))
    return keys.key(session.wrapping_key, _begun_with(session))


def _begun_with(session: VersionLife[VersionPlan]) -> str | None:
    """Id of the key whose public half a publication that was begun has put already, or that it names; or None."""
    prefix = release_prefix(session.plan.dataset, session.plan.version)
    places = ((session.public, f"{prefix}/{SIGNING_KEY}"), (session.restricted, f"{prefix}/waiting/{SIGNING_KEY}"))
    found = next((store.get(key) for store, key in places if store.exists(key)), None)
    if found is not None:
        return PublicKey.from_pem(found).key_id
    record, manifest = session.version(), f"{prefix}/{MANIFEST}"
    if record is None or record.manifest_digest is None or not session.public.exists(manifest):
        return None
    # published, and its public half was lost: only the manifest on record is taken at its word
    content = session.public.get(manifest)
    signature = json.loads(content).get("signature") if sha256(content).hexdigest() == record.manifest_digest else None
    return None if signature is None else str(signature["key_id"])


def signing_of(session: Session) -> Signing | None:
    """What this version's package is signed with; None when its release file asks for no signature.

    Raises:
        ConfigError: there is no signing key file, or it is none.
        ConflictError: the key is not in it, or the wrapping key does not open it.
    """
    plan = session.plan
    if plan.config.publish.sign == "none":
        return None
    last = own_entries(session)[-1]
    anchors = Anchors(
        plan_digest=plan.digest,
        account=plan.account,
        sequence=last.seq,
        head=last.hash,
        previous=previous_of(session),
    )
    return Signing(signing_key(session), anchors)


def previous_of(session: VersionLife[VersionPlan]) -> PublishedBefore | None:
    """What was published of this data set when the version was checked, as the record of that says."""
    checked = session.event_of(State.CHECKED).evidence
    if _PREVIOUS_MANIFEST not in checked:
        return None
    return PublishedBefore(checked[_PREVIOUS_VERSION], checked[_PREVIOUS_MANIFEST])


def previous_evidence(session: VersionLife[VersionPlan]) -> dict[str, str]:
    """The version of this data set that was published last, as evidence of the checked state; empty without one."""
    plan = session.plan
    others = [
        record
        for record in session.records.versions()
        if record.dataset == plan.dataset and record.version != plan.version and record.manifest_digest is not None
    ]
    if not others:
        return {}
    last = max(others, key=lambda record: _published_at(session, record))
    return {_PREVIOUS_VERSION: last.version, _PREVIOUS_MANIFEST: last.manifest_digest or ""}


def _published_at(session: VersionLife[VersionPlan], record: VersionRecord) -> tuple[str, str]:
    events = session.records.events(record.dataset, record.version)
    return max(event.at for event in events if event.state is State.PUBLISHED), record.version


def own_entries(session: Session) -> list[Entry]:
    """The ledger's entries for this version, in order."""
    plan = session.plan
    return list(session.records.charges_of(plan.dataset, plan.version))
