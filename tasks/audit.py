"""Audit: read the source again, redraw what was published, compare. Reads records and stores; writes to neither."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trasgo_lib
from tasks.made_with import made_with, source_revision
from tasks.places import signing_key_file
from tasks.session import Session
from tasks.signing import own_entries
from tasks.streams import stream_of_draw, streams_of_chain
from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import PrivateCodes, ReleasedCodes, ReleasedTable, read_source
from trasgo_lib.errors import ConflictError, Reason, VerificationError
from trasgo_lib.keys import PublicKey, SigningKeys
from trasgo_lib.mechanisms import draw_codes, reveal_codes
from trasgo_lib.plan import UnitPlan, source_reading
from trasgo_lib.records import State, VersionRecord
from trasgo_lib.release import (
    ENVELOPE,
    MANIFEST,
    STATEMENT,
    Drift,
    StagedFile,
    VerificationReport,
    VerificationResult,
    drift_between,
    read_envelope,
    release_prefix,
    stage_data,
    verify_release,
)
from trasgo_lib.release.documents import parse
from trasgo_lib.release.statement import read_amounts
from trasgo_lib.release.verification import judge
from trasgo_lib.release.verify_claims import suffix_of

_AUDITED = (State.PUBLISHED, State.SUPERSEDED)


def prefix_of(session: Session) -> str:
    """Where the version stands below a root."""
    return release_prefix(session.plan.dataset, session.plan.version)


def drift_of(session: Session) -> tuple[Drift, ...]:
    """What is not what drew the version."""
    now = made_with(trasgo_lib.__version__, source_revision())
    return drift_between(session.event_of(State.DRAWN).evidence, now)


def require_audited(session: Session) -> VersionRecord:
    """Stop unless this version is published and release file and source are those it was made from.

    Raises:
        ConflictError: it is not published, or plan or source are not the ones it was charged for.
        InputContractError: the source cannot be read.
    """
    record = session.version()
    where = f"version {prefix_of(session)}"
    if record is None or record.state not in _AUDITED:
        came = "none of this name" if record is None else f"one that is {record.state.value}"
        fix = "Audit a version that was published and not withdrawn."
        raise ConflictError.of(Reason.STATE_CONFLICT, where, required="a published version", came=came, fix=fix)
    if record.plan_digest != session.plan.digest:
        drift = "; ".join(str(one) for one in drift_of(session)) or "nothing else drifted"
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            where,
            required="the plan it was charged for",
            came=f"another plan ({drift})",
            fix="Restore the release file of this version, and the library version that is named.",
        )
    if session.source_digest() != record.input_digest:
        raise ConflictError.of(
            Reason.INPUT_CHANGED,
            f"source {session.plan.source_path.name}",
            required="the file that this version was drawn from",
            came="another file: its keyed digest differs",
            fix="Bring the sealed source of this version: trasgo audit CONFIG --source FILE.",
        )
    return record


def verify_published(session: Session) -> VerificationReport:
    """Verify the public files, with the office's own public keys where there are some."""
    file = signing_key_file(Path(session.ref.home), session.plan)
    keys: tuple[PublicKey, ...] = SigningKeys.from_file(file).public if file.exists() else ()
    signed = session.public.exists(f"{prefix_of(session)}/{ENVELOPE}")
    return verify_release(session.public, prefix_of(session), keys if signed else ())


def check_records(session: Session, record: VersionRecord) -> Iterator[VerificationResult]:
    """Hold the public files against ledger and lifecycle: manifest, amounts, anchors."""
    prefix = prefix_of(session)
    reason = Reason.CHAIN_BROKEN
    manifest = session.public.digest(f"{prefix}/{MANIFEST}")
    yield judge("manifest on record", MANIFEST, record.manifest_digest, manifest, Reason.DIGEST_MISMATCH)
    statement = json.loads(session.public.get(f"{prefix}/{STATEMENT}"))
    stated = read_amounts(statement, "_realised", suffix_of(statement))
    yield judge("charged in the ledger", STATEMENT, str(session.spent()), str(stated), reason)
    if not session.public.exists(f"{prefix}/{ENVELOPE}"):
        return
    try:
        predicate = read_envelope(session.public.get(f"{prefix}/{ENVELOPE}")).statement()["predicate"]
    except VerificationError:
        return  # named by the verification already
    last = own_entries(session)[-1]
    anchored = (last.account, last.seq, last.hash)
    said = tuple(predicate["account"][name] for name in ("name", "sequence", "head"))
    yield judge("ledger anchor", ENVELOPE, anchored, said, reason)
    yield judge("plan anchor", ENVELOPE, record.plan_digest, predicate["plan_digest"], reason)
    yield from _check_previous(session, predicate["previous"])


def _check_previous(session: Session, previous: dict[str, str] | None) -> Iterator[VerificationResult]:
    if previous is None:
        return
    before = session.records.version(session.plan.dataset, previous["version"])
    required = None if before is None else before.manifest_digest
    yield judge("previous version", ENVELOPE, required, previous["manifest_sha256"], Reason.CHAIN_BROKEN)


@contextmanager
def audit_folder(session: Session) -> Iterator[Path]:
    """A private folder beside the work folders, removed at the end; it holds private codes while the audit works."""
    parent = session.work.parents[1].with_name("audit")
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def require_root(session: Session) -> None:
    """Stop where the version can no longer be redrawn.

    Raises:
        ConflictError: its root was destroyed, or the wrapping key does not open it (``ROOT_LOST``).
    """
    session.stream("audit")


@dataclass(frozen=True, slots=True)
class Redraw:
    """What a redraw gave.

    Args:
        codes: keyed digest of each unit's codes, by unit; private.
        files: the data files written from them.
    """

    codes: dict[str, str]
    files: tuple[StagedFile, ...]


def redraw(session: Session, folder: Path) -> Redraw:
    """Read the source again and redraw every published level; the same draws, paid for once.

    Args:
        session: the version.
        folder: private folder for codes and files.

    Raises:
        ConflictError: the root is gone, or the ledger holds no charge for a unit: what was not paid is not drawn.
    """
    plan = session.plan
    table, _ = read_source(
        source_reading(plan),
        digest_key=session.digest_key(),
        permutation=lambda input_digest: session.stream("permute", input_digest),
        work=folder,
        rows_per_batch=_rows_per_batch(session),
    )
    units = tuple(_redraw_unit(session, unit, table.unit(unit.name), folder / "draw") for unit in plan.units)
    released = ReleasedTable(table.rows, units, table.public)
    return Redraw({codes.unit: codes.digest for codes in units}, stage_data(released, plan, folder / "staged"))


def recorded_codes(session: Session) -> dict[str, str]:
    """Keyed digest of each unit's released codes, as recorded when the version was checked; private."""
    evidence, head = session.event_of(State.CHECKED).evidence, "codes of "
    return {name.removeprefix(head): digest for name, digest in evidence.items() if name.startswith(head)}


def published_digests(session: Session) -> dict[str, str]:
    """Digest of each published file as the manifest lists it; empty when there is no readable manifest."""
    key = f"{prefix_of(session)}/{MANIFEST}"
    if not session.public.exists(key):
        return {}
    try:
        manifest = parse(session.public.get(key), "manifest")
    except VerificationError:
        return {}
    return {entry["path"]: entry["sha256"] for entry in manifest["files"]}


def _redraw_unit(session: Session, unit: UnitPlan, codes: PrivateCodes, folder: Path) -> ReleasedCodes:
    level, attempt = _published_draw(session, unit)
    key = session.digest_key()
    if unit.is_chained:
        streams = streams_of_chain(session, "draw", unit, codes)
        return reveal_codes(unit.chain, level, codes, streams, folder, key)
    stream = stream_of_draw(session, "draw", unit, codes, level, attempt)
    return draw_codes(unit.channel(level), codes, stream, folder, key)


def _published_draw(session: Session, unit: UnitPlan) -> tuple[Epsilon, int]:
    """Level and number of a unit's last paid draw, which is the published one."""
    paid = [entry.reservation for entry in own_entries(session) if entry.reservation is not None]
    last = max((drawn for drawn in paid if drawn.unit == unit.name), key=lambda drawn: drawn.attempt, default=None)
    rungs = {level.text: level for level in unit.rungs}
    if last is None or last.level not in rungs or last.chain_digest != unit.chain_digest:
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            f"noise unit {unit.name}",
            required="a charge for one of its levels",
            came="none",
            fix="Run trasgo ledger check; what was not paid for is not drawn.",
        )
    return rungs[last.level], last.attempt


def _rows_per_batch(session: Session) -> int:
    """Rows of a row group when the version was made; it changes no draw, but the bytes of the files."""
    stored = json.loads(session.restricted.get(f"{prefix_of(session)}/provenance.json"))
    return int(stored["provenance"]["rows_per_batch"])
