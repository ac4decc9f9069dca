"""Correlation losses are shared: each falls when any column climbs, so the units that miss theirs climb together."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop import Continue, History, PredictedLoss, RoundEntry, next_step
from trasgo_lib.plan import Target

RUNGS = tuple(Epsilon.parse(text) for text in ("1", "2", "4", "8"))


@dataclass(frozen=True)
class Unit:
    name: str
    target: Target
    rungs: tuple[Epsilon, ...] = RUNGS
    delta: Delta = Delta(0)  # noqa: RUF009
    geo: Geo = Geo(0)  # noqa: RUF009


@dataclass(frozen=True)
class Plan:
    units: tuple[Unit, ...]
    epsilon_total: Epsilon = Epsilon.parse("100")  # noqa: RUF009
    delta_total: Delta = Delta(0)  # noqa: RUF009
    geo_total: Geo = Geo(0)  # noqa: RUF009
    max_rows: int = 1
    max_rounds: int = 100
    on_unmet: str = "publish"
    composition: str = "chain"


KEPT, NEAR = Target("correlation_loss", "40"), Target("tvd", "0.05")
PLAN = Plan((Unit("wage", KEPT), Unit("education", KEPT), Unit("region", NEAR)))

TABLE = {
    "one is hidden at a lower level: it goes first, however large the other's loss": (
        {"wage": ("4", 90.0), "education": ("2", None), "region": ("1", 0.01)},
        ("education", "4"),
    ),
    "one is hidden at a higher level: the one that is seen catches up": (
        {"wage": ("2", 50.0), "education": ("4", None), "region": ("1", 0.01)},
        ("wage", "4"),
    ),
    "both are seen: the larger loss in terms of its target goes first": (
        {"wage": ("4", 50.0), "education": ("2", 45.0), "region": ("1", 0.01)},
        ("wage", "8"),
    ),
    "none of those that share waits for a hidden one that met nothing to do with it": (
        {"wage": ("2", 50.0), "education": ("1", 30.0), "region": ("1", None)},
        ("wage", "4"),
    ),
    "evidence on another loss goes before those that are hidden": (
        {"wage": ("2", 90.0), "education": ("1", None), "region": ("1", 0.06)},
        ("region", "2"),
    ),
}


def _history(found: dict[str, tuple[str, float | None]]) -> History:
    targets = {unit.name: unit.target for unit in PLAN.units}
    entries = [
        RoundEntry.judged(name, Epsilon.parse(level), 1, loss, targets[name]) for name, (level, loss) in found.items()
    ]
    return History().append(entries)


@pytest.mark.parametrize("case", TABLE)
def test_order(case: str) -> None:
    found, (name, level) = TABLE[case]
    step = next_step(PLAN, _history(found))
    assert isinstance(step, Continue)
    assert step.levels == ((name, Epsilon.parse(level)),)


def _promises(name: str) -> dict[str, tuple[PredictedLoss, ...]]:
    """Only the top rung is predicted to meet the target."""
    estimates = (Estimate(60.0, 55.0, 65.0, 2.0), Estimate(50.0, 45.0, 55.0, 2.0), Estimate(35.0, 31.0, 39.0, 2.0))
    return {name: tuple(map(PredictedLoss, RUNGS[1:], estimates))}


def test_no_jump_while_another_can_lower_the_loss() -> None:
    both = {"wage": ("1", 90.0), "education": ("1", 60.0), "region": ("1", 0.01)}
    step = next_step(PLAN, _history(both), _promises("wage"))
    assert isinstance(step, Continue) and step.levels == (("wage", RUNGS[1]),)


def test_the_last_one_jumps() -> None:
    alone = {"wage": ("1", 90.0), "education": ("1", 30.0), "region": ("1", 0.01)}
    step = next_step(PLAN, _history(alone), _promises("wage"))
    assert isinstance(step, Continue) and step.levels == (("wage", RUNGS[3]),)
