"""The whole forecast of a release file: losses by epsilon and rows, what its targets cost, and whether to group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import LoadedConfig
from trasgo_lib.data import ProductDomain
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.loop.forecast.curves import Curve, loss_curves
from trasgo_lib.loop.forecast.grouping import GroupAdvice, advise_group
from trasgo_lib.loop.forecast.population import Population, PublicKnowledge
from trasgo_lib.loop.forecast.proposals import proposed_group
from trasgo_lib.loop.forecast.rehearsal import generous_plan, only_units, rehearse, unit_codes
from trasgo_lib.loop.forecast.targets import Rehearsals, TargetForecast, target_forecasts
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.plan.prior import PublicPrior
from trasgo_lib.utility import loss_columns

_PUBLIC_ROOT = b"trasgo forecast: no secret here."
"""Root of synthetic rows and of rehearsed draws: 32 bytes that everyone knows; no raw row ever meets them."""

DEFAULT_EPSILONS = tuple(Epsilon.parse(text) for text in ("0.25", "0.5", "1", "2", "4", "8"))
DEFAULT_ROW_COUNTS = (500, 1_000, 3_000, 10_000, 30_000, 100_000)
GROUP_TOTALS = tuple(Epsilon.parse(text) for text in ("2", "4", "6", "8"))
_GROUP_KEYS = 5
_UNTOLD = "the prior tells no correlation among them, so they count as unrelated"

FEWEST_ROWS = 30
MOST_ROWS = 10_000_000
"""Rows are held in memory, at 8 bytes a column."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of a forecast.

    Args:
        rows: number of rows of the release; None: the prior's.
        epsilons: levels of a noise unit, rising.
        row_counts: numbers of rows, rising.
        keys: how many rehearsals at the release's number of rows.
        groups: columns that might be noised as one, beside the groups of the release file.
        assume_uniform: whether columns without a prior count as evenly spread; they are marked.
    """

    rows: int | None = None
    epsilons: tuple[Epsilon, ...] = DEFAULT_EPSILONS
    row_counts: tuple[int, ...] = DEFAULT_ROW_COUNTS
    keys: int = 3
    groups: tuple[tuple[str, ...], ...] = ()
    assume_uniform: bool = False


@dataclass(frozen=True, slots=True)
class Forecast:
    """What can be foreseen of a release; public.

    Args:
        plan: the release.
        prior: what it rests on.
        rows: number of rows.
        questions: what was asked.
        unknown: columns that nothing is known of; nothing here covers them.
        assumed: columns that count as evenly spread because the person asked for it.
        notes: where the prior could not be followed, in words.
        curves: expected losses.
        targets: what comes of every known noise unit.
        rehearsals: the loop at the release's number of rows.
        by_rows: the loop at every number of rows, rising; one rehearsal each beside those at ``rows``.
        groups: for and against groups.
    """

    plan: ReleasePlan = field(repr=False)
    prior: PublicPrior = field(repr=False)
    rows: int
    questions: Questions = field(repr=False)
    unknown: tuple[str, ...]
    assumed: tuple[str, ...]
    notes: tuple[str, ...]
    curves: tuple[Curve, ...] = field(repr=False)
    targets: tuple[TargetForecast, ...]
    rehearsals: Rehearsals
    by_rows: tuple[Rehearsals, ...] = field(repr=False)
    groups: tuple[GroupAdvice, ...]

    @property
    def least_total(self) -> Epsilon | None:
        """The least ``epsilon_total`` that meets every target in every rehearsal, or None where one is not met."""
        return self.rehearsals.most if self.rehearsals.is_met else None


def forecast(
    loaded: LoadedConfig, plan: ReleasePlan, questions: Questions, say: Callable[[str], None] = lambda _: None
) -> Forecast:
    """Foresee a release from its plan and its prior; no data is opened.

    Args:
        loaded: the release file.
        plan: its plan, with a prior.
        questions: what is asked.
        say: told how far the work is.

    Raises:
        ConfigError: no prior, no number of rows, nothing known of any noised column, or a group that cannot be.
    """
    prior = _prior_of(plan)
    rows = _rows(prior, questions)
    columns = loss_columns(plan)
    sizes = {column.name: column.size + _has_missing_code(plan, column.unit, column.name) for column in columns}
    known = PublicKnowledge.of(prior, columns, sizes, assume_uniform=questions.assume_uniform)
    if not known.laws:
        raise _nothing_known(known.unknown)
    proposals = [proposed_group(plan, group, known) for group in questions.groups]
    say("synthetic rows from the prior")
    population = Population.of(known)
    row_counts = tuple(sorted({*questions.row_counts, rows}))
    curves = loss_curves(plan, population, questions.epsilons, row_counts, rows, _stream, say)
    by_rows, generous = _rehearsed(loaded, plan, population, row_counts, rows, questions.keys, say)
    here = next(found for found in by_rows if found.rows == rows)
    return Forecast(
        plan,
        prior,
        rows,
        questions,
        known.unknown,
        tuple(law.name for law in known.laws if law.is_assumed),
        population.notes,
        curves,
        target_forecasts(generous, here, by_rows),
        here,
        by_rows,
        _advised(plan, known, population, rows, proposals, say),
    )


def _stream(*label: str | int) -> Keystream:
    return Keystream(_PUBLIC_ROOT, *label)


def _rehearsed(
    loaded: LoadedConfig,
    plan: ReleasePlan,
    population: Population,
    row_counts: Sequence[int],
    rows: int,
    keys: int,
    say: Callable[[str], None],
) -> tuple[tuple[Rehearsals, ...], ReleasePlan]:
    generous = generous_plan(loaded, plan)
    found = []
    for count in row_counts:
        say(f"rehearsal at {count:,} rows")
        codes = unit_codes(generous, population.codes(count, _stream("population")))
        generous = only_units(generous, list(codes))
        runs = [
            rehearse(generous, codes, bytes([1 + key]) * 32, _PUBLIC_ROOT)
            for key in range(keys if count == rows else 1)
        ]
        found.append(Rehearsals(count, tuple(runs)))
    return tuple(found), generous


def _advised(
    plan: ReleasePlan,
    known: PublicKnowledge,
    population: Population,
    rows: int,
    proposals: Sequence[ProductDomain],
    say: Callable[[str], None],
) -> tuple[GroupAdvice, ...]:
    declared = [unit.domain for unit in plan.units if isinstance(unit.domain, ProductDomain)]
    names = {law.name for law in known.laws}
    judged = [domain for domain in [*declared, *proposals] if {part.name for part in domain.parts} <= names]
    if not judged:
        return ()
    codes = population.codes(rows, _stream("population"))
    advice = []
    for domain in judged:
        say(f"group of {', '.join(part.name for part in domain.parts)}")
        found = advise_group(domain, codes, GROUP_TOTALS, _stream, _GROUP_KEYS)
        is_told = any({*pair} <= {*found.columns} for pair in known.correlations)
        advice.append(found if is_told else replace(found, reason=f"{_UNTOLD}: {found.reason}"))
    return tuple(advice)


def _has_missing_code(plan: ReleasePlan, unit: str, column: str) -> bool:
    found = plan.unit(unit)
    return (found.part(column).missing if found.parts else found.missing) == "code"


def _prior_of(plan: ReleasePlan) -> PublicPrior:
    if plan.prior is None:
        raise ConfigError.of(
            Reason.BAD_PARAMETER,
            "prior",
            required="public knowledge of the values, which a forecast rests on",
            came="none",
            fix="Write it as in configs/README.md, or take it from an earlier release or a public file: trasgo prior.",
        )
    return plan.prior


def _rows(prior: PublicPrior, questions: Questions) -> int:
    rows = questions.rows if questions.rows is not None else prior.rows
    if rows is None:
        raise ConfigError.of(
            Reason.BAD_PARAMETER,
            "prior.rows",
            required="a number of rows to expect",
            came="nothing",
            fix="Add `rows` to the prior, or pass --rows.",
        )
    for count in (rows, *questions.row_counts):
        if not FEWEST_ROWS <= count <= MOST_ROWS:
            raise ConfigError.of(
                Reason.BAD_PARAMETER,
                "rows",
                required=f"{FEWEST_ROWS} to {MOST_ROWS:,} rows",
                came=f"{count}",
                fix="Ask for a number of rows in that range.",
            )
    return rows


def _nothing_known(unknown: Sequence[str]) -> ConfigError:
    return ConfigError.of(
        Reason.BAD_PARAMETER,
        "prior.columns",
        required=f"something known of at least one of {', '.join(unknown)}",
        came="nothing of any",
        fix="Add columns to the prior, or pass --assume-uniform to see what evenly spread values would lose.",
    )
