"""What an audit finds: records, published files and a redraw of every published level, held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trasgo_lib.checks import parquet_equals_parquet
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release.manifest import StagedFile
from trasgo_lib.release.stored import is_out_of_reach, open_stored
from trasgo_lib.release.verification import SignatureState, VerificationResult, failed, judge
from trasgo_lib.storage import ObjectStore

WRITER = "pyarrow"
"""The package whose version decides whether the same rows have the same bytes."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Something that is not what made the version.

    Args:
        name: package, interpreter, machine, library or commit.
        then: what made the version.
        now: what audits it.
    """

    name: str
    then: str
    now: str

    def __str__(self) -> str:
        return f"{self.name}: {self.then} then, {self.now} now"


def drift_between(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[Drift, ...]:
    """What differs between the maker of a version and its auditor.

    Args:
        then: the evidence recorded when the version was drawn; other evidence beside it is passed over.
        now: the same of this process.
    """
    return tuple(
        Drift(name, then.get(name, "not recorded"), value) for name, value in now.items() if then.get(name) != value
    )


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All results of one audit.

    Args:
        release: ``<dataset>/<version>``.
        results: one entry a check, in the order made.
        drift: what is not what made the version.
        redrawn: whether every published level was redrawn; False where the root no longer exists.
        bytes_compared: whether file bytes were compared, besides codes and rows.
        signature: what is known of who signed.
    """

    release: str
    results: tuple[VerificationResult, ...]
    drift: tuple[Drift, ...]
    redrawn: bool
    bytes_compared: bool
    signature: SignatureState

    @property
    def passed(self) -> bool:
        """Whether there is at least one check and none failed."""
        return bool(self.results) and all(result.passed for result in self.results)

    @property
    def failures(self) -> tuple[VerificationResult, ...]:
        """The results that did not pass."""
        return tuple(result for result in self.results if not result.passed)

    @property
    def in_words(self) -> tuple[str, ...]:
        """The outcome, one sentence each."""
        words = [f"{len(self.results)} checks, {len(self.failures)} failed."]
        if not self.redrawn:
            words.append("Nothing was redrawn: redraws of this version have ended with its root.")
        elif self.passed:
            words.append("Every published level was redrawn from the sealed key: the same codes, the same rows.")
        else:
            words.append("Every published level was redrawn from the sealed key.")
        if self.bytes_compared:
            words.append(f"File bytes were compared: {WRITER} is the version that wrote them.")
        elif self.redrawn:
            writer = next((str(drift) for drift in self.drift if drift.name == WRITER), WRITER)
            words.append(f"File bytes were not compared, since their writer drifted ({writer}).")
        others = [str(drift) for drift in self.drift if drift.name != WRITER or self.bytes_compared]
        words += [f"Drifted besides: {'; '.join(others)}."] if others else []
        return (*words, self.signature.in_words, "Nothing was charged and nothing was published.")

    def to_json(self) -> dict[str, object]:
        """The report as strict JSON; public."""
        return {
            "format": 1,
            "release": self.release,
            "passed": self.passed,
            "redrawn": self.redrawn,
            "bytes_compared": self.bytes_compared,
            "drift": [{"name": drift.name, "then": drift.then, "now": drift.now} for drift in self.drift],
            "signature": self.signature.to_json(),
            "in_words": list(self.in_words),
            "results": [result.to_json() for result in self.results],
        }


def compare_codes(recorded: Mapping[str, str], redrawn: Mapping[str, str]) -> Iterator[VerificationResult]:
    """Hold the codes of a redraw against the digests recorded when the version was checked.

    Args:
        recorded: keyed digest of each unit's released codes, by unit; private, and never shown.
        redrawn: the same of the redraw.
    """
    for unit, digest in redrawn.items():
        if unit not in recorded:
            continue  # a version from before codes were recorded: its rows are compared, which says the same
        came = "the recorded codes" if digest == recorded[unit] else "other codes"
        yield judge("redrawn codes", unit, "the recorded codes", came, Reason.REDRAW_DIFFERS)


def compare_files(
    store: ObjectStore, prefix: str, listed: Mapping[str, str], staged: tuple[StagedFile, ...], *, with_bytes: bool
) -> Iterator[VerificationResult]:
    """Hold the data files of a redraw against the published ones.

    Args:
        store: the public root.
        prefix: where the release stands.
        listed: digest of each published file by path, as its manifest says.
        staged: the redrawn data files.
        with_bytes: whether the same writer wrote both, so that bytes must agree, too.
    """
    for file in staged:
        if file.path.suffix == ".parquet":
            yield _compare_rows(store, prefix, file)
        if with_bytes:
            published = listed.get(file.key, "no such file in the manifest")
            yield judge("redrawn bytes", file.key, published, file.sha256, Reason.REDRAW_DIFFERS)


def _compare_rows(store: ObjectStore, prefix: str, file: StagedFile) -> VerificationResult:
    try:
        published = open_stored(store, f"{prefix}/{file.key}")
    except (TrasgoError, OSError) as error:
        if is_out_of_reach(error, store):
            raise
        return failed("redrawn rows", file.key, "the published rows", "no readable file", Reason.MISSING_FILE)
    rows = parquet_equals_parquet(published, file.path)
    return VerificationResult("redrawn rows", file.key, rows.passed, rows.limit, rows.observed, Reason.REDRAW_DIFFERS)
