"""Expected losses by epsilon and by number of rows: one column, one mechanism, what is publicly known of the table.

Every other column is taken to be released at the same epsilon through its own declared mechanism; only correlation
losses depend on that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import ProductDomain
from trasgo_lib.errors import ConfigError
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop.forecast.correlations import ReleasedLaw, expected_correlation_loss
from trasgo_lib.loop.forecast.population import KnownLaw, Population
from trasgo_lib.loop.predict import Knowledge, predict_losses
from trasgo_lib.mechanisms import Channel, margin
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan, UnitPlan
from trasgo_lib.plan.channels import Parameter, channel_of
from trasgo_lib.utility import LossColumn

_COUNTED = 2**40
"""Shares are handed on as counts out of this many, which no rounding of a prior can be told from."""

_SCALES = ("number", "date")
_LABELS = ("category",)
_MOST_STAIRCASE = 4096

_IN_GROUP = "columns of one group share their noise: see what the forecast says of groups"


_Laws = Mapping[str, ReleasedLaw | str | None]
"""By column, what its channel makes of it: None for one that is constant, or why there is no channel."""


@dataclass(frozen=True, slots=True)
class Option:
    """A mechanism that a noise unit could have.

    Args:
        label: for people.
        mechanism: registry name.
        parameters: what it takes beside domain and level.
        is_declared: whether the release file has it.
    """

    label: str
    mechanism: str
    parameters: tuple[tuple[str, Parameter], ...]
    is_declared: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """The loss expected at one epsilon and number of rows; without value, and with a reason, where none is known."""

    level: Epsilon
    rows: int
    loss: Estimate


@dataclass(frozen=True, slots=True)
class Curve:
    """What one column is expected to lose through one mechanism.

    Args:
        column: the column.
        unit: its noise unit; the level is that of the unit.
        loss: which loss.
        ceiling: its target, decimal text, or None.
        option: the mechanism.
        cells: by epsilon and rows.
    """

    column: str
    unit: str
    loss: str
    ceiling: str | None
    option: Option
    cells: tuple[Cell, ...] = field(repr=False)

    def at(self, level: Epsilon, rows: int) -> Estimate | None:
        """The loss at one epsilon and number of rows, or None where it was not asked for."""
        return next((cell.loss for cell in self.cells if (cell.level, cell.rows) == (level, rows)), None)


def options_of(unit: UnitPlan) -> tuple[Option, ...]:
    """The declared mechanism of a noise unit, then others that fit it.

    Bins other than the declared ones are whole multiples of those that the target's loss is measured in.
    """
    declared = Option(_label(unit.mechanism, unit.parameters), unit.mechanism, unit.parameters, True)
    others: list[tuple[str, tuple[tuple[str, Parameter], ...]]] = []
    if unit.type in _SCALES:
        others = [(name, _missing(unit)) for name in ("laplace", "gaussian")]
        others = [(name, (*_fill(unit), *parameters)) for name, parameters in others]
        others += [("staircase", ())] if unit.missing != "code" and unit.domain.size <= _MOST_STAIRCASE else []
        others += [("binned_randomized_response", (("bins", bins), *_missing(unit))) for bins in _bins(unit)]
    elif unit.type in _LABELS:
        name = "randomized_response" if unit.domain.size == 2 else "kary_randomized_response"
        others = [(name, _missing(unit))]
    fitting = [Option(_label(name, parameters), name, parameters, False) for name, parameters in others]
    return (declared, *(option for option in fitting if option.label != declared.label))


def _missing(unit: UnitPlan) -> tuple[tuple[str, Parameter], ...]:
    return (("missing", True),) if unit.missing == "code" else ()


def _fill(unit: UnitPlan) -> tuple[tuple[str, Parameter], ...]:
    """The filling code of numbers under ``missing: code`` is the declared one where there is one."""
    return tuple(entry for entry in unit.parameters if entry[0] == "fill") if unit.missing == "code" else ()


def _bins(unit: UnitPlan) -> Iterator[int]:
    measured = unit.bins or 2
    is_correlation = unit.target is None or unit.target.loss == "correlation_loss"
    for bins in (2, 4, 8) if is_correlation else (measured, 2 * measured):
        if bins <= unit.domain.size:
            yield bins


def _label(mechanism: str, parameters: tuple[tuple[str, Parameter], ...]) -> str:
    named = dict(parameters)
    words = {"kary_randomized_response": "k-ary response", "randomized_response": "binary response"}
    if mechanism == "binned_randomized_response":
        return f"{named['bins']} bins"
    return words.get(mechanism, mechanism)


def loss_curves(
    plan: ReleasePlan,
    population: Population,
    levels: Sequence[Epsilon],
    row_counts: Sequence[int],
    rows: int,
    stream: Callable[..., Keystream],
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Curve, ...]:
    """Expected losses of every known column: the declared mechanism at all rows, others at ``rows``.

    Args:
        plan: public.
        population: the law of the rows.
        levels: epsilons of a noise unit, rising.
        row_counts: numbers of rows, rising, ``rows`` among them.
        rows: number of rows of the release.
        stream: makes a stream of a public fixed key for a label.
        say: told how far the work is.
    """
    curves = []
    declared = {level: _declared_laws(plan, population, level) for level in levels}
    for law in population.laws:
        unit = plan.unit(law.column.unit)
        say(f"losses of {law.name} by epsilon and rows")
        for option in options_of(unit):
            counts = row_counts if option.is_declared else [rows]
            curves.append(_curve(plan, population, declared, law, option, counts, stream))
    return tuple(curves)


def _curve(
    plan: ReleasePlan,
    population: Population,
    declared: Mapping[Epsilon, _Laws],
    law: KnownLaw,
    option: Option,
    row_counts: Sequence[int],
    stream: Callable[..., Keystream],
) -> Curve:
    unit = plan.unit(law.column.unit)
    loss = _loss_of(unit, law, population)
    cells = []
    for level, laws in declared.items():
        channel = _column_channel(unit, law.column, option, level)
        own = stream("curve", law.name, level.text)
        if isinstance(channel, str):
            found = dict.fromkeys(row_counts, Estimate.none(channel))
        elif loss == "correlation_loss":
            found = _correlations(population, laws, law, channel, row_counts, own)
        else:
            found = {rows: _divergence(law, loss, level, channel, rows, own) for rows in row_counts}
        cells += [Cell(level, rows, found[rows]) for rows in row_counts]
    ceiling = unit.target.ceiling if unit.target is not None else None
    return Curve(law.name, unit.name, loss, ceiling, option, tuple(cells))


def _divergence(law: KnownLaw, loss: str, level: Epsilon, channel: Channel, rows: int, stream: Keystream) -> Estimate:
    (found,) = predict_losses(
        Knowledge(prior_counts(law)),
        {level: channel},
        law.column.bins_of(channel.outputs),
        loss=loss,
        rows=rows,
        stream=stream,
    )
    return found.loss


def _declared_laws(plan: ReleasePlan, population: Population, level: Epsilon) -> _Laws:
    """Every column before and after its declared mechanism at a level; none where no correlation loss is asked for."""
    if not any(_loss_of(plan.unit(law.column.unit), law, population) == "correlation_loss" for law in population.laws):
        return {}
    laws: dict[str, ReleasedLaw | str | None] = {}
    for law in population.laws:
        unit = plan.unit(law.column.unit)
        channel = _column_channel(unit, law.column, options_of(unit)[0], level)
        laws[law.name] = channel if isinstance(channel, str) else ReleasedLaw.of(law, channel)
    return laws


def _correlations(
    population: Population,
    declared: _Laws,
    law: KnownLaw,
    channel: Channel,
    row_counts: Sequence[int],
    stream: Keystream,
) -> dict[int, Estimate]:
    """By number of rows: the other columns are released at the same level through their declared mechanisms."""
    if law.column.group is not None:
        return dict.fromkeys(row_counts, Estimate.none(_IN_GROUP))
    laws: dict[str, ReleasedLaw | None] = {law.name: ReleasedLaw.of(law, channel)}
    for name, theirs in declared.items():
        if name == law.name:
            continue
        if isinstance(theirs, str):
            return dict.fromkeys(row_counts, Estimate.none(theirs))
        laws[name] = theirs
    return {rows: expected_correlation_loss(population, laws, law.name, rows, stream) for rows in row_counts}


def prior_counts(law: KnownLaw) -> NDArray[np.int64]:
    """The shares of a law as counts: int64[codes]."""
    return np.rint(law.shares * _COUNTED).astype(np.int64)


def _loss_of(unit: UnitPlan, law: KnownLaw, population: Population) -> str:
    """The target's loss, else that of correlations for a number of which some are declared, else tvd."""
    if unit.target is not None:
        return unit.target.loss
    is_tied = any(law.name in pair for pair in population.declared)
    return "correlation_loss" if law.column.kind == "number" and is_tied and law.column.group is None else "tvd"


def _column_channel(unit: UnitPlan, column: LossColumn, option: Option, level: Epsilon) -> Channel | str:
    """What happens to one column where its unit is drawn at a level, or why that cannot be."""
    try:
        channel = channel_of(option.mechanism, unit.domain, level, option.parameters)
    except ConfigError as error:
        fault = error.faults[0]
        return f"no {option.label} at epsilon {level.text}: required {fault.required}"
    return margin(channel, unit.domain, column.name) if isinstance(unit.domain, ProductDomain) else channel


def best_options(curves: Sequence[Curve], level: Epsilon, rows: int) -> Mapping[str, Curve]:
    """By column, the curve with the least loss at one epsilon."""
    best: dict[str, Curve] = {}
    for curve in curves:
        here = curve.at(level, rows)
        if here is None or here.value is None:
            continue
        before = best.get(curve.column)
        found = before.at(level, rows) if before is not None else None
        if found is None or found.value is None or here.value < found.value:
            best[curve.column] = curve
    return best
