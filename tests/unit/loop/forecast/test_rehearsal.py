"""The loop rehearsed on public rows: what it spends, what it cannot meet, and why."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import CategoryDomain, ProductDomain, ProductPart
from trasgo_lib.loop import RoundEntry, Stop
from trasgo_lib.loop.forecast import (
    Rehearsal,
    Rehearsals,
    generous_plan,
    only_units,
    rehearse,
    target_forecasts,
    unit_codes,
)
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import Target, read_plan
from trasgo_lib.utility import estimate_losses

DEMO = Path(__file__).resolve().parents[4] / "configs" / "demo" / "cps1988.yaml"
PUBLIC, ROOT = bytes(32), bytes([7] * 32)


def stream(*label):
    return Keystream(bytes(32), *label)


def with_targets(plan, **ceilings):
    """The plan with other targets; units that are not named have none."""
    units = tuple(
        replace(unit, target=Target(*ceilings[unit.name]) if unit.name in ceilings else None) for unit in plan.units
    )
    return replace(plan, units=units)


@pytest.fixture(scope="module")
def generous(demo):
    return generous_plan(demo.loaded, demo.plan)


def codes_of(demo, plan, rows):
    return unit_codes(plan, demo.population.codes(rows, stream("population")))


def test_the_generous_plan_is_the_plan_with_room(demo, generous):
    for ours, theirs in zip(generous.units, demo.plan.units, strict=True):
        assert ours.rungs[: len(theirs.rungs)][:12] == theirs.rungs[:12]
        assert Epsilon.parse("12") < ours.rungs[-1] <= Epsilon.parse("16")
        assert (ours.mechanism, ours.target) == (theirs.mechanism, theirs.target)
    assert generous.on_unmet == "publish"
    assert generous.epsilon_total > demo.plan.epsilon_total


def test_a_rehearsal_spends_the_highest_levels_and_repeats_itself(demo, generous):
    plan = only_units(generous, ["smsa", "region"])
    codes = codes_of(demo, plan, 3000)
    found = rehearse(plan, codes, ROOT, PUBLIC)
    assert found.is_met and found.stop.reason == "met"
    assert found.total == sum((entry.level for entry in found.entries.values()), Epsilon(0))
    assert found == rehearse(plan, codes, ROOT, PUBLIC)
    assert found.entries != rehearse(plan, codes, bytes([8] * 32), PUBLIC).entries


def test_fresh_draws_and_exact_losses_add_up(demo, generous):
    units = tuple(replace(unit, is_chained=False) for unit in only_units(generous, ["smsa", "region"]).units)
    plan = replace(
        only_units(generous, ["smsa", "region"]), units=units, composition="sequential", loss_from="original"
    )
    plan = with_targets(plan, smsa=("tvd", "0.1"), region=("tvd", "0.2"))
    found = rehearse(plan, codes_of(demo, plan, 3000), ROOT, PUBLIC)
    assert found.is_met
    assert found.entries["smsa"].attempt > 1
    assert found.spent["smsa"] > found.entries["smsa"].level
    assert found.entries["smsa"].interval is None


def test_what_cannot_be_met_has_a_reason_and_a_number_of_rows(demo, generous):
    plan = with_targets(only_units(generous, ["smsa", "wage"]), smsa=("tvd", "0.15"), wage=("correlation_loss", "30"))
    short = tuple(
        replace(unit, rungs=tuple(rung for rung in unit.rungs if rung < Epsilon(10**6))) for unit in plan.units
    )
    plan = replace(plan, units=short)
    at = {}
    for rows in (300, 30_000):
        at[rows] = Rehearsals(rows, (rehearse(plan, codes_of(demo, plan, rows), ROOT, PUBLIC),))
    smsa, wage = sorted(target_forecasts(plan, at[300], [at[300], at[30_000]]), key=lambda target: target.unit)
    assert smsa.met == 0 and smsa.rows_needed == 30_000
    assert "at epsilon 0.953672, the last of its ladder" in smsa.obstacle
    assert wage.met == 0 and wage.rows_needed is None
    assert "no loss can be told" in wage.obstacle
    assert not at[300].is_met


def test_chance_alone_can_be_wider_than_a_target(demo, generous):
    """A loss below its target whose interval is not: the reason names the rows, not the noise."""
    (unit,) = with_targets(only_units(generous, ["smsa"]), smsa=("tvd", "0.15")).units
    entry = RoundEntry.judged("smsa", unit.rungs[-1], 1, 0.1, unit.target, source="released", interval=(0.02, 0.2))
    run = Rehearsal(300, {"smsa": entry}, {"smsa": entry.level}, 1, Stop("unmet"))
    (found,) = target_forecasts(replace(generous, units=(unit,)), Rehearsals(300, (run,)), [])
    assert "with 300 rows chance alone is wider than the target" in found.obstacle
    worse = replace(entry, loss=0.3, interval=None)
    (found,) = target_forecasts(
        replace(generous, units=(unit,)), Rehearsals(300, (replace(run, entries={"smsa": worse}),)), []
    )
    assert "the loss is still 0.3" in found.obstacle


def test_a_limit_of_rounds_is_named(demo, generous):
    plan = replace(with_targets(only_units(generous, ["smsa"]), smsa=("tvd", "0.01")), max_rounds=2)
    here = Rehearsals(300, (rehearse(plan, codes_of(demo, plan, 300), ROOT, PUBLIC),))
    (found,) = target_forecasts(plan, here, [here])
    assert "limit of 2 rounds" in found.obstacle


def test_totals_are_the_most_and_the_median(demo, generous):
    plan = only_units(generous, ["smsa"])
    codes = codes_of(demo, plan, 1000)
    runs = tuple(rehearse(plan, codes, bytes([key] * 32), PUBLIC) for key in range(1, 4))
    found = Rehearsals(1000, runs)
    totals = sorted(run.total for run in runs)
    assert (found.median, found.most, found.met) == (totals[1], totals[2], 3)


def test_groups_get_the_codes_of_their_columns(demo, generous):
    domain = ProductDomain([ProductPart("a", CategoryDomain(["x", "y"])), ProductPart("b", CategoryDomain(["x", "y"]))])
    group = replace(generous.units[-1], name="both", domain=domain, parts=_parts("a", "b"))
    plan = replace(generous, units=(group,))
    codes = unit_codes(plan, {"a": np.array([0, 1]), "b": np.array([1, 1])})
    assert codes["both"].tolist() == [1, 3]
    assert unit_codes(plan, {"a": np.array([0, 1])}) == {}


def _parts(*names):
    return tuple(SimpleNamespace(name=name) for name in names)


def test_what_auto_chose_stays_whatever_the_room(tmp_path):
    """A larger total could lead ``auto`` elsewhere; the rehearsal is of the plan that will run."""
    text = DEMO.read_text(encoding="utf-8")
    declared = "mechanism: binned_randomized_response\n    noise_bins: 4\n    target"
    config = tmp_path / "auto.yaml"
    config.write_text(text.replace(declared, "mechanism: auto\n    target", 1), encoding="utf-8")
    loaded, plan = read_plan(config)
    chosen = plan.unit("wage")
    assert chosen.selection is not None
    wide = generous_plan(loaded, plan).unit("wage")
    assert (wide.mechanism, wide.parameters, wide.bins) == (chosen.mechanism, chosen.parameters, chosen.bins)
    assert wide.selection is None
    assert wide.rungs[-1] > Epsilon.parse("12")


def test_only_divergences_with_a_target_are_estimated(demo, generous, monkeypatch):
    asked = []

    def counted(*_, **given):
        asked.append(given["divergences"])
        return estimate_losses(*_, **given)

    monkeypatch.setattr("trasgo_lib.loop.forecast.rehearsal.estimate_losses", counted)
    plan = with_targets(only_units(generous, ["smsa", "region"]), region=("tvd", "0.3"))
    rehearse(plan, codes_of(demo, plan, 500), ROOT, PUBLIC)
    assert asked and set().union(*asked) == {"region"}
