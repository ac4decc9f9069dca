"""What output checks find: plain facts about released data, merged over batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trasgo_lib.errors import CheckFailedError, Fault, Reason

_PROBE_CHECK = "probe"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one column, or of the whole table.

    Args:
        name: which check, one of ``columns``, ``types``, ``rows``, ``batch_rows``, ``not_null``,
            ``between``, ``in_set``, ``on_grid``, ``share_at_bounds``, ``csv_equals_parquet``, ``probe``.
        column: the released column or noise unit, or None for the table.
        passed: whether it held for every batch.
        observed: what was seen in the released bytes, as counts and shares; never a value.
        limit: what is allowed, from the public declaration.
    """

    name: str
    column: str | None
    passed: bool
    observed: str
    limit: str

    @property
    def detail(self) -> str:
        """One sentence: what was seen against what is allowed."""
        return f"observed {self.observed}; limit {self.limit}"

    def to_json(self) -> dict[str, str | bool | None]:
        """The result as strict JSON."""
        return {
            "name": self.name,
            "column": self.column,
            "passed": self.passed,
            "observed": self.observed,
            "limit": self.limit,
        }


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All results, in the order in which they were run."""

    results: tuple[CheckResult, ...]

    @property
    def passed(self) -> bool:
        """Whether there is at least one check and none failed; a report without checks proves nothing."""
        return bool(self.results) and all(result.passed for result in self.results)

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The results that did not pass."""
        return tuple(result for result in self.results if not result.passed)

    def with_results(self, results: Iterable[CheckResult]) -> CheckReport:
        """A longer report: these results, then more."""
        return CheckReport((*self.results, *results))

    def to_json(self) -> dict[str, object]:
        """The report as strict JSON, format 1: the content of ``checks.json``."""
        return {"format": 1, "passed": self.passed, "results": [result.to_json() for result in self.results]}

    def require(self) -> None:
        """Stop unless every check passed.

        Raises:
            CheckFailedError: one fault per failed check.
        """
        if self.passed:
            return
        if not self.results:
            raise CheckFailedError.of(
                Reason.CHECK_FAILED,
                "output checks",
                required="at least one check",
                came="none",
                fix="Run the output checks before publishing.",
            )
        raise CheckFailedError(*(_fault(result) for result in self.failures))


def _fault(result: CheckResult) -> Fault:
    where = result.name if result.column is None else f"{result.name} of {result.column}"
    return Fault(
        reason=Reason.PROBE_FAILED if result.name == _PROBE_CHECK else Reason.CHECK_FAILED,
        where=where,
        required=result.limit,
        came=result.observed,
        fix=_FIXES.get(result.name, "Nothing was published; report this: the writer broke its own declaration."),
    )


_FIXES = {
    "share_at_bounds": "Widen the bounds, raise the column's epsilon, or raise checks.max_share_at_bounds.",
    "probe": "Nothing was published: the sampler does not draw from the published channel. Report this.",
    "rows": "Nothing was published; run again from an input with the expected rows.",
}
