"""Expected losses against losses of synthetic rows drawn from the same prior: fixed keys, exact binomial tests."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import binomtest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.loop.forecast import best_options, loss_curves, options_of
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import Target
from trasgo_lib.plan.channels import channel_of
from trasgo_lib.utility import divergence_of_counts, measure

ROWS, KEYS = 4000, 40
LEVELS = tuple(Epsilon.parse(level) for level in ("1", "2"))


def stream(*label):
    return Keystream(bytes(32), *label)


def tvd_of(curve, plan, level, codes, column, key):
    channel = channel_of(curve.option.mechanism, plan.unit(curve.unit).domain, level, curve.option.parameters)
    released = channel.sample(codes, stream("draw", curve.column, curve.option.label, level.text, key))
    bins = column.bins_of(channel.outputs)
    counts = [np.bincount(bins[of], minlength=bins.max() + 1) for of in (codes, released)]
    return divergence_of_counts(*counts).tvd


def test_intervals_hold_what_rows_drawn_from_the_prior_lose(demo):
    """Each mechanism of each column at two levels, 40 populations; false alarm 1e-4 a cell, 2e-3 pooled over 42."""
    curves = loss_curves(demo.plan, demo.population, LEVELS, [ROWS], ROWS, stream)
    assert {curve.option.label for curve in curves} >= {"4 bins", "laplace", "staircase", "gaussian", "binary response"}
    hits = {}
    for key in range(KEYS):
        codes = demo.population.codes(ROWS, stream("population", key))
        for place, curve in enumerate(curves):
            column = demo.known.law(curve.column).column
            for level in LEVELS:
                found = tvd_of(curve, demo.plan, level, codes[curve.column], column, key)
                hits.setdefault((place, level), []).append(curve.at(level, ROWS).covers(found))
    for cell, covered in hits.items():
        assert binomtest(sum(covered), KEYS, 0.95).pvalue > 1e-4, (cell, sum(covered))
    # a wrong number of rows is found out: negative control
    narrow = loss_curves(demo.plan, demo.population, LEVELS[:1], [100 * ROWS], 100 * ROWS, stream)[0]
    column = demo.known.law("wage").column
    missed = sum(
        not narrow.at(LEVELS[0], 100 * ROWS).covers(
            tvd_of(
                narrow,
                demo.plan,
                LEVELS[0],
                demo.population.codes(ROWS, stream("population", key))["wage"],
                column,
                key,
            )
        )
        for key in range(KEYS)
    )
    assert missed > KEYS / 2


def test_correlation_losses_are_foreseen_with_every_column_at_the_same_epsilon(demo):
    units = tuple(
        replace(unit, target=Target("correlation_loss", "40")) if unit.name == "wage" else unit
        for unit in demo.plan.units
    )
    plan = replace(demo.plan, units=units)
    level = Epsilon.parse("4")
    curve = loss_curves(plan, demo.population, [level], [28_000], 28_000, stream)[0]
    assert (curve.column, curve.loss, curve.ceiling) == ("wage", "correlation_loss", "40")
    columns = tuple(law.column for law in demo.known.laws)
    hits, away = 0, []
    for key in range(KEYS):
        codes = demo.population.codes(28_000, stream("population", key))
        released = {
            unit.name: channel_of(unit.mechanism, unit.domain, level, unit.parameters).sample(
                codes[unit.name], stream("draw", unit.name, key)
            )
            for unit in plan.units
        }
        readers = [{name: partial(list, [own]) for name, own in of.items()} for of in (codes, released)]
        found = measure(*readers, columns, rows=28_000).losses.of_unit("wage", "correlation_loss").value
        hits += curve.at(level, 28_000).covers(found)
        away.append(found - curve.at(level, 28_000).value)
    assert binomtest(hits, KEYS, 0.95).pvalue > 1e-4
    assert abs(np.mean(away)) < 1.0


def test_without_a_target_numbers_show_correlations_and_labels_their_shares(demo):
    plan = replace(demo.plan, units=tuple(replace(unit, target=None) for unit in demo.plan.units))
    curves = loss_curves(plan, demo.population, LEVELS[:1], [ROWS], ROWS, stream)
    assert {curve.column: curve.loss for curve in curves} == {
        "wage": "correlation_loss",
        "education": "correlation_loss",
        "experience": "correlation_loss",
        "ethnicity": "tvd",
        "smsa": "tvd",
        "region": "tvd",
        "parttime": "tvd",
    }
    assert all(curve.ceiling is None for curve in curves)


def test_the_declared_mechanism_comes_first_and_once(demo):
    labels = {unit.name: [option.label for option in options_of(unit)] for unit in demo.plan.units}
    assert labels["wage"] == ["4 bins", "laplace", "gaussian", "staircase", "8 bins"]
    assert labels["region"] == ["k-ary response"]
    assert labels["smsa"] == ["binary response"]


def test_the_best_mechanism_is_found_and_losses_fall(demo):
    curves = loss_curves(demo.plan, demo.population, LEVELS, [ROWS], ROWS, stream)
    assert best_options(curves, LEVELS[1], ROWS)["wage"].option.label == "4 bins"
    for curve in curves:
        low, high = (curve.at(level, ROWS).value for level in LEVELS)
        assert high < low
    assert curves[0].at(Epsilon.parse("3"), ROWS) is None


def test_a_level_that_cannot_be_built_says_so(demo):
    curve = loss_curves(demo.plan, demo.population, [Epsilon.parse("60")], [ROWS], ROWS, stream)[0]
    assert "at epsilon 60" in curve.at(Epsilon.parse("60"), ROWS).reason


@pytest.mark.parametrize("rows", [500, 100_000])
def test_intervals_narrow_with_rows(demo, rows):
    curve = loss_curves(demo.plan, demo.population, LEVELS[:1], [rows, 4 * rows], rows, stream)[0]
    widths = [found.high - found.low for found in (curve.at(LEVELS[0], rows), curve.at(LEVELS[0], 4 * rows))]
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.2)


def test_columns_with_a_missing_code_get_mechanisms_that_have_one(demo):
    unit = replace(demo.plan.unit("wage"), missing="code", mechanism="laplace", parameters=(("missing", True),))
    options = options_of(unit)
    assert [option.label for option in options] == ["laplace", "gaussian", "4 bins", "8 bins"]
    for option in options:
        channel = channel_of(option.mechanism, unit.domain, LEVELS[0], option.parameters)
        assert channel.outputs == unit.domain.size + 1
