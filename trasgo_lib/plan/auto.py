"""``auto``: the mechanism of a column, decided while the plan is compiled, from public knowledge alone.

What comes out is an ordinary mechanism with its parameters, and nothing behind the plan knows that it was not named. So
a prior that is corrected later changes the plan exactly when it changes the mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from trasgo_lib.config import DateColumn, KeyPath, NoisedColumn, NumberColumn, PointColumn
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms import Candidate, Prospect, Question, compare
from trasgo_lib.mechanisms.selection import DEFAULT_LOSS_BINS, MOST_ROWS, candidates
from trasgo_lib.plan.channels import Parameter
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.levels import UnitContext, declared_rungs, first_level
from trasgo_lib.plan.mechanism import AUTO, fitting
from trasgo_lib.plan.model import PartPlan
from trasgo_lib.plan.selection import MechanismSelection, left_out

CORRELATION_LOSS = "correlation_loss"
_OWN_KEYS = ("utility", "noise_bins", "width")
"""Keys that belong to a mechanism, and hence to the choice."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One mechanism that may be taken.

    Args:
        mechanism: registry name.
        parameters: what it takes beside domain and level, sorted by name.
        part: the column, its losses measured in bins that suit the mechanism.
        selection: how it was chosen.
    """

    mechanism: str
    parameters: tuple[tuple[str, Parameter], ...]
    part: PartPlan
    selection: MechanismSelection


def choices(
    column: NoisedColumn, part: PartPlan, path: KeyPath, context: UnitContext, faults: FaultCollector
) -> tuple[Choice, ...]:
    """The mechanisms for a column with ``auto``, the best first; none, with faults noted, where there is none.

    Args:
        column: a noised number, date or category.
        part: how it is read.
        path: its place in the release file.
        context: the rest of the release.
        faults: where faults go.
    """
    if isinstance(column, PointColumn) or not _keys_are_free(column, path, faults):
        return ()
    missing = part.missing == "code"
    tried = candidates(part.domain, missing=missing)
    shares = None if context.prior is None else context.prior.shares.get(column.name)
    loss = _loss(column)
    if len(tried) == 1:
        # nothing is decided, so nothing needs to be known
        only = Prospect(tried[0], None, first_level(column, context.config))
        selection = MechanismSelection(column.name, loss, "", "", (only,))
        return (_choice(only.candidate, column, part, missing, selection),)
    if shares is None or context.prior is None:
        if context.is_prior_sound:
            _refuse_without_prior(column, path, faults)
        return ()
    try:
        levels = declared_rungs(first_level(column, context.config), column.target is not None, context)
    except ConfigError as error:
        faults.take(error, ("loop", "ratio"))
        return ()
    rows = (context.prior.rows or MOST_ROWS) if _is_estimated(column, context) else None
    question = Question(
        domain=part.domain,
        shares=shares,
        loss=loss,
        levels=levels,
        ceiling=None if column.target is None else float(Decimal(column.target.ceiling)),
        missing=missing,
        bins=_held_bins(column, part, rows),
        rows=rows,
        correlations=context.correlations_estimated,
    )
    prospects = compare(question)
    chosen = [prospect for prospect in prospects if not prospect.excluded] or _nearest(prospects)
    if not chosen:
        _refuse_all(column, prospects, path, faults)
    prior = context.prior
    return tuple(
        _choice(
            prospect.candidate,
            column,
            part,
            missing,
            MechanismSelection(column.name, loss, prior.source, prior.digest, tuple(_from(prospect, prospects))),
        )
        for prospect in chosen
    )


def _from(chosen: Prospect, prospects: tuple[Prospect, ...]) -> Iterator[Prospect]:
    yield chosen
    yield from (prospect for prospect in prospects if prospect is not chosen)


def _keys_are_free(column: NoisedColumn, path: KeyPath, faults: FaultCollector) -> bool:
    given = [key for key in _OWN_KEYS if getattr(column, key, None) is not None]
    given += ["delta"] if Decimal(getattr(column, "delta", "0")) != 0 else []
    for key in given:
        faults.add(
            Reason.BAD_PARAMETER,
            (*path, key),
            required=f"no {key} beside mechanism auto, which chooses it",
            came=f"`{key}`",
            fix=f"Remove `{key}`, or name the mechanism.",
        )
    return not given


def _loss(column: NoisedColumn) -> str:
    if column.target is not None:
        return column.target.loss
    return "tvd" if column.type == "category" else CORRELATION_LOSS


def _is_estimated(column: NoisedColumn, context: UnitContext) -> bool:
    """Whether a divergence must be seen in released codes for the target to count as met."""
    if column.target is None or column.target.loss == CORRELATION_LOSS:
        return False
    return context.config.loop.loss_from == "released"


def _held_bins(column: NoisedColumn, part: PartPlan, rows: int | None) -> int | None:
    """Bins of the loss that whole bins of the noise must make up."""
    if not isinstance(column, NumberColumn | DateColumn):
        return None
    if column.bins is None and rows is not None:
        return min(DEFAULT_LOSS_BINS, part.domain.size)
    return column.bins


def _choice(
    candidate: Candidate, column: NoisedColumn, part: PartPlan, missing: bool, selection: MechanismSelection
) -> Choice:
    parameters: dict[str, Parameter] = dict(candidate.parameters)
    noise_bins = parameters.get("bins")
    if missing:
        parameters["missing"] = True
    measures_divergence = column.target is not None and column.target.loss != CORRELATION_LOSS
    if isinstance(noise_bins, int) and getattr(column, "bins", None) is None and not measures_divergence:
        # as where the mechanism is named: losses look at the bins of the noise
        part = replace(part, bins=noise_bins)
    return Choice(candidate.mechanism, tuple(sorted(parameters.items())), part, selection)


def _nearest(prospects: tuple[Prospect, ...]) -> list[Prospect]:
    """Where no candidate meets a target, the one that misses it least; whether it may be drawn is judged apart."""
    unmet = [prospect for prospect in prospects if prospect.misses and prospect.loss is not None]
    return unmet and [min(unmet, key=lambda prospect: prospect.loss or 0.0)]


def _refuse_without_prior(column: NoisedColumn, path: KeyPath, faults: FaultCollector) -> None:
    faults.add(
        Reason.BAD_PARAMETER,
        (*path, "mechanism"),
        required=f"public knowledge of {column.name} under `prior`, from which auto decides",
        came=f"{AUTO} without it",
        fix=f"Declare its mean and deviation, quantiles or shares there (`trasgo prior` writes them from an earlier"
        f" release), or name a mechanism: {fitting(column)}.",
    )


def _refuse_all(column: NoisedColumn, prospects: tuple[Prospect, ...], path: KeyPath, faults: FaultCollector) -> None:
    reasons = left_out(prospects)
    faults.add(
        Reason.BAD_PARAMETER,
        (*path, "mechanism"),
        required=f"a mechanism for {column.name} whose {_loss(column)} can be met and be estimated",
        came=f"none: {reasons}",
        fix="Raise epsilon_total or the ceiling, declare fewer `bins`, or write loop.loss_from: original.",
    )
