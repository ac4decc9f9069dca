"""Whether what was published still stands: every file that the manifest on record lists, by one listing of the store.

Bytes are not read again: ``trasgo verify`` does that, and a file that is put again is compared byte for byte.
"""

from __future__ import annotations

import hashlib
import json

from tasks.places import VersionPlan
from tasks.version_life import VersionLife
from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.records import State
from trasgo_lib.release import ENVELOPE, MANIFEST, erratum_key, release_prefix


def lost_files(life: VersionLife[VersionPlan]) -> tuple[str, ...]:
    """Files of a published version that the public root lacks, or holds with another length.

    Args:
        life: the version. One that was never published, or was withdrawn, has lost nothing.

    Returns:
        Their paths below the version; that of the manifest alone when it is not the one on record, since nothing else
        tells then what belongs to the version.

    Raises:
        StoreError: the public root is out of reach.
    """
    record, plan = life.version(), life.plan
    if record is None or record.state not in (State.PUBLISHED, State.SUPERSEDED):
        return ()
    prefix = release_prefix(plan.dataset, plan.version)
    found = {key.removeprefix(f"{prefix}/"): size for key, size in life.public.sizes(prefix).items()}
    content = life.public.get(f"{prefix}/{MANIFEST}") if MANIFEST in found else b""
    if hashlib.sha256(content).hexdigest() != record.manifest_digest:
        return (MANIFEST,)
    manifest = json.loads(content)
    lost = [entry["path"] for entry in manifest["files"] if found.get(entry["path"]) != entry["bytes"]]
    if manifest.get("signature") and ENVELOPE not in found:
        lost.append(ENVELOPE)
    if manifest.get("supersedes") and not life.public.exists(erratum := erratum_key(plan.dataset, plan.version)):
        lost.append(erratum)
    return tuple(lost)


def require_nothing_lost(life: VersionLife[VersionPlan]) -> None:
    """Stop instead of calling a version published of which files are gone.

    Raises:
        StoreError: they are; a release is not made again, so they have to come from a copy.
    """
    lost = lost_files(life)
    if lost:
        raise StoreError.of(
            Reason.MISSING_FILE,
            life.public.uri(release_prefix(life.plan.dataset, life.plan.version)),
            required="every file that was published, as long as it was",
            came=f"without {', '.join(lost[:5])}{' and others' if len(lost) > 5 else ''}, or with others instead",
            fix="Restore the public files from a copy; `trasgo verify` tells whether it is whole.",
        )
