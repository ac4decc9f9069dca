"""Staging and publishing: files are written to the work folder, hashed, and put create-once, the manifest last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trasgo_lib.checks import CheckResult, csv_equals_parquet
from trasgo_lib.data import ReleasedTable
from trasgo_lib.errors import CheckFailedError, Reason
from trasgo_lib.release import documents
from trasgo_lib.release.channel_file import channel_document
from trasgo_lib.release.crate import CRATE, crate_document
from trasgo_lib.release.data_files import create_staged, write_csv, write_parquet
from trasgo_lib.release.decoding import require_released
from trasgo_lib.release.envelope import Signing, envelope_bytes, signed_statement
from trasgo_lib.release.manifest import (
    ENVELOPE,
    MANIFEST,
    SIGNING_KEY,
    SUMS,
    StagedFile,
    manifest_document,
    staged_file,
    sums_text,
)
from trasgo_lib.release.standards import standard_files
from trasgo_lib.release.statement import statement_document
from trasgo_lib.reporting import ReleaseFacts, howto_analyse, render_report
from trasgo_lib.storage import ObjectStore

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan

CHANNEL = "channel.json"
STATEMENT = "statement.json"
REPORT = "report.md"
REPORT_PAGE = "report.html"
HOWTO = "HOWTO_ANALYSE.md"


@dataclass(frozen=True, slots=True)
class StagedPackage:
    """Files that wait to be published together.

    Args:
        files: in the order in which they are put; the manifest of a public package is the last.
    """

    files: tuple[StagedFile, ...]

    def file(self, key: str) -> StagedFile:
        """The file of that key.

        Raises:
            KeyError: no such file.
        """
        for file in self.files:
            if file.key == key:
                return file
        raise KeyError(key)


def release_prefix(dataset: str, version: str) -> str:
    """Where a release stands below a root: ``<dataset>/<version>``."""
    return f"{dataset}/{version}"


def data_key(dataset: str, kind: str) -> str:
    """Path of a data file inside a release; ``kind`` is ``parquet`` or ``csv``."""
    return f"data/{dataset}.{kind}"


def stage_data(table: ReleasedTable, plan: ReleasePlan, work: Path) -> tuple[StagedFile, ...]:
    """Write the data files into the work folder.

    Args:
        table: released codes and public values; anything else is refused.
        plan: the compiled plan.
        work: restricted work folder.

    Returns:
        The Parquet file, and the CSV file when the plan asks for it.

    Raises:
        TypeError: when the table is not a released one.
        CheckFailedError: when its codes are not those of the plan.
    """
    require_released(table, plan)
    writers = {"parquet": write_parquet, "csv": write_csv}
    staged = []
    for kind, write in writers.items():
        if kind in plan.config.publish.formats:
            key = data_key(plan.dataset, kind)
            written = write(work / key, table, plan)
            staged.append(StagedFile(key, work / key, written.sha256, written.bytes))
    return tuple(staged)


def compare_staged(data: Iterable[StagedFile]) -> tuple[CheckResult, ...]:
    """The check that CSV equals Parquet, or nothing when only one of them is published."""
    paths = {file.path.suffix: file.path for file in data}
    if ".csv" not in paths:
        return ()
    return (csv_equals_parquet(paths[".csv"], paths[".parquet"]),)


def stage_package(
    facts: ReleaseFacts,
    data: tuple[StagedFile, ...],
    columns: Iterable[str],
    work: Path,
    signing: Signing | None = None,
) -> StagedPackage:
    """Write every other public file, list all of them, and sign the list.

    Args:
        facts: what the run states about itself; its checks must have passed.
        data: the staged data files.
        columns: published column names, in order.
        work: restricted work folder.
        signing: what the package is signed with; None leaves it unsigned, and its manifest says so.

    Returns:
        The whole package: the signed envelope next to last, the manifest last.

    Raises:
        CheckFailedError: when an output check failed, or a data file changed since it was staged.
    """
    # imported late: a verification loads this module and renders nothing
    from trasgo_lib.reporting.column_use import verdicts
    from trasgo_lib.reporting.public_page import render_report_page

    facts.checks.require()
    for file in data:
        _require_unchanged(file)
    channel, statement = channel_document(facts), statement_document(facts)
    has_csv = "csv" in facts.plan.config.publish.formats
    howto = howto_analyse(channel, statement, verdicts(facts), has_csv=has_csv)
    described = [
        *data,
        write_staged(CHANNEL, documents.dump(channel, "channel"), work),
        write_staged(STATEMENT, documents.dump(statement, "statement"), work),
        write_staged(REPORT, render_report(facts).encode(), work),
        write_staged(REPORT_PAGE, render_report_page(facts).encode(), work),
        *standard_files(facts, data, lambda key, content: write_staged(key, content, work)),
        write_staged(HOWTO, howto.encode(), work),
    ]
    if signing is not None:
        described.append(write_staged(SIGNING_KEY, signing.key.public.to_pem(), work))
    crate = crate_document(facts, described, is_signed=signing is not None)
    written = [*described, write_staged(CRATE, documents.dump(crate, "crate"), work)]
    written.append(write_staged(SUMS, sums_text(written).encode(), work))
    if signing is None:
        manifest = manifest_document(facts, written, list(columns))
        return StagedPackage((*written, write_staged(MANIFEST, documents.dump(manifest, "manifest"), work)))
    return StagedPackage((*written, *_sign(facts, written, list(columns), work, signing)))


def _sign(
    facts: ReleaseFacts, written: list[StagedFile], columns: list[str], work: Path, signing: Signing
) -> tuple[StagedFile, StagedFile]:
    """Envelope and manifest. The envelope names the manifest's digest, and so it is put before it."""
    key_id = signing.key.public.key_id
    manifest = manifest_document(facts, written, columns, key_id)
    listing = write_staged(MANIFEST, documents.dump(manifest, "manifest"), work)
    superseded = facts.plan.config.release.supersedes
    reason = None if superseded is None else superseded.note
    statement = signed_statement(manifest, [*written, listing], signing.anchors, key_id, reason)
    return write_staged(ENVELOPE, envelope_bytes(statement, signing.key), work), listing


def publish_package(staged: StagedPackage, store: ObjectStore, prefix: str) -> tuple[str, ...]:
    """Put every file of a package, create-once, in order; the same package again changes nothing.

    Args:
        staged: what to publish.
        store: the public root for a release, the restricted root for its evidence.
        prefix: ``<dataset>/<version>``.

    Returns:
        The keys that were put.

    Raises:
        ConflictError: a key holds other bytes; the manifest, which makes a release, is then not put.
        CheckFailedError: a staged file is not what was staged.
        StoreError: the store does not answer.
    """
    if any(file.key == MANIFEST for file in staged.files[:-1]):
        raise ValueError("the manifest is put last")
    keys = []
    for file in staged.files:
        _require_unchanged(file)
        key = f"{prefix}/{file.key}"
        stored = store.put_once(key, file.path)
        if stored != file.sha256:
            raise _changed(file)
        keys.append(key)
    return tuple(keys)


def write_staged(key: str, content: bytes, work: Path) -> StagedFile:
    """Write one file of a package into the work folder, mode 0600.

    Args:
        key: its path inside the package.
        content: its bytes.
        work: restricted work folder.
    """
    with create_staged(work / key) as stream:
        stream.write(content)
    written = stream.digested()
    return StagedFile(key, work / key, written.sha256, written.bytes)


def _require_unchanged(file: StagedFile) -> None:
    try:
        now = staged_file(file.key, file.path)
    except OSError:
        now = None
    if now != file:
        raise _changed(file)


def _changed(file: StagedFile) -> CheckFailedError:
    return CheckFailedError.of(
        Reason.DIGEST_MISMATCH,
        file.key,
        required="the bytes that were staged and checked",
        came="other bytes, or no file",
        fix="Something wrote to the work folder. Nothing was published; run again.",
    )
