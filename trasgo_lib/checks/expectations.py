"""The adapter to Great Expectations: value checks of one batch, as true or false and nothing else.

Great Expectations is imported inside the functions, because its import takes seconds and plan, verify and every error
path must not pay for it. Results are asked for as ``BOOLEAN_ONLY``: in every other format its result objects hold the
failing values themselves. The context is ephemeral and its analytics and progress bars are off, so that nothing is
written to a disk and nothing leaves the machine.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

if TYPE_CHECKING:
    from great_expectations.core.batch_definition import BatchDefinition
    from great_expectations.core.expectation_validation_result import ExpectationSuiteValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
    from great_expectations.expectations.expectation import Expectation

RESULT_FORMAT: Literal["BOOLEAN_ONLY"] = "BOOLEAN_ONLY"
"""The only result format in which Great Expectations stores no failing value."""

RuleKind = Literal["columns", "rows", "not_null", "between", "in_set"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One expectation over a batch.

    Args:
        kind: which expectation.
        column: the column concerned, or None for ``columns`` and ``rows``.
        lower: least value, for ``between`` (inclusive) and ``rows``.
        upper: largest value, for ``between`` (inclusive) and ``rows``.
        allowed: the set for ``in_set``, or the ordered column names for ``columns``.
    """

    kind: RuleKind
    column: str | None = None
    lower: Any = None
    upper: Any = None
    allowed: tuple[Any, ...] = ()


class BatchValidator:
    """Validates released batches of one table against a fixed list of rules.

    Args:
        rules: the rules, in the order in which outcomes are returned.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        from great_expectations import ExpectationSuite

        expectations = [expectation(rule, number) for number, rule in enumerate(rules)]
        self._suite = ExpectationSuite(name="released batch", expectations=expectations)
        self._batches = _batch_definition(ephemeral_context())
        self._count = len(rules)

    def outcomes(self, batch: pa.RecordBatch) -> tuple[bool, ...]:
        """Whether each rule holds for a batch of released or public values.

        A rule that cannot be evaluated (its column is absent, or has another type) does not hold. What Great
        Expectations says about it is dropped: a traceback can quote values.
        """
        outcomes = [False] * self._count
        results: list[Any] = self.validate(batch).results
        for result in results:
            outcomes[result.expectation_config.meta[_RULE_NUMBER]] = result.success is True
        return tuple(outcomes)

    def validate(self, batch: pa.RecordBatch) -> ExpectationSuiteValidationResult:
        """The library's own result object, values off; for tests that look for values in it."""
        # dates as datetime64: a set or range check never matches a column of Python date objects
        frame = batch.to_pandas(date_as_object=False)
        return self._batches.get_batch({"dataframe": frame}).validate(self._suite, result_format=RESULT_FORMAT)


_RULE_NUMBER = "rule"
"""Key of an expectation's metadata that holds its rule's position: results come back in another order."""


def ephemeral_context() -> EphemeralDataContext:
    """A context that lives in memory only, with analytics and progress bars off."""
    import great_expectations
    from great_expectations.data_context.types.base import ProgressBarsConfig

    # this module sets its own level to INFO at import, to announce a folder that is of no use here
    logging.getLogger(ProgressBarsConfig.__module__).setLevel(logging.WARNING)
    context = great_expectations.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    context.variables.config.analytics_enabled = False
    return context


def _batch_definition(context: EphemeralDataContext) -> BatchDefinition[Any]:
    asset = context.data_sources.add_pandas("release").add_dataframe_asset("batches")
    return asset.add_batch_definition_whole_dataframe("batch")


def expectation(rule: Rule, number: int) -> Expectation:
    """The expectation of a rule.

    Args:
        rule: what is expected.
        number: position of the rule, kept in the metadata.
    """
    from great_expectations import expectations

    known: Any = expectations
    meta = {_RULE_NUMBER: number}
    builders: dict[RuleKind, Callable[[], Expectation]] = {
        "columns": lambda: known.ExpectTableColumnsToMatchOrderedList(column_list=list(rule.allowed), meta=meta),
        "rows": lambda: known.ExpectTableRowCountToBeBetween(min_value=rule.lower, max_value=rule.upper, meta=meta),
        "not_null": lambda: known.ExpectColumnValuesToNotBeNull(column=rule.column, meta=meta),
        "between": lambda: known.ExpectColumnValuesToBeBetween(
            column=rule.column, min_value=rule.lower, max_value=rule.upper, meta=meta
        ),
        "in_set": lambda: known.ExpectColumnValuesToBeInSet(
            column=rule.column, value_set=list(rule.allowed), meta=meta
        ),
    }
    return builders[rule.kind]()
