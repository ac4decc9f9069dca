"""Estimates: the formulas against brute force, versions combined with stated weights, levels made to agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from keyed import dirichlet, normal, uniform

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection import (
    Alphabet,
    Frequencies,
    ReportCounts,
    Tag,
    build_report_channel,
    check_health,
    combine,
    estimate,
    reconcile,
    reports_needed,
    reports_to_notice,
    shuffle_bound,
    size,
)
from trasgo_lib.collection.estimating import noise_variance, null_variance
from trasgo_lib.collection.hierarchy import _projected
from trasgo_lib.errors import InputContractError

OUE = build_report_channel("optimised_unary_encoding", 200, Epsilon.parse("2"))
GRR = build_report_channel("kary_randomized_response", 200, Epsilon.parse("2"))


def _expected_counts(channel: object, shares: np.ndarray, reports: int) -> ReportCounts:
    p, q = float(channel.p), float(channel.q)  # type: ignore[attr-defined]
    counts = np.rint(reports * (q + shares * (p - q))).astype(np.int64)
    return ReportCounts(channel.kind, counts, reports)  # type: ignore[attr-defined]


@pytest.mark.parametrize("channel", [OUE, GRR], ids=["bits", "slots"])
def test_expected_counts_give_the_shares_back(channel: object) -> None:
    shares = dirichlet(200, "expected counts")
    found = estimate(channel, _expected_counts(channel, shares, 10**9))  # type: ignore[arg-type]
    assert np.abs(found.shares - shares).max() < 1e-7
    assert found.adjusted.sum() == pytest.approx(1)
    assert found.adjusted.min() >= 0


def test_the_variance_is_that_of_every_outcome_of_a_tiny_case() -> None:
    """Three devices over three slots, all 3**3 outcomes of randomised response weighted by their probability."""
    channel = build_report_channel("kary_randomized_response", 3, Epsilon.parse("1"))
    p, q = float(channel.p), float(channel.q)
    homes = (0, 0, 1)
    truth = np.array([2, 1, 0]) / 3
    mean, square = np.zeros(3), np.zeros(3)
    for outcome in itertools.product(range(3), repeat=3):
        chance = np.prod([p if out == home else q for out, home in zip(outcome, homes, strict=True)])
        found = estimate(channel, ReportCounts("slot", np.bincount(outcome, minlength=3), 3)).shares
        mean, square = mean + chance * found, square + chance * found**2
    assert mean == pytest.approx(truth)
    assert square - mean**2 == pytest.approx(noise_variance(channel, 3, truth))


def test_errors_of_the_issue() -> None:
    assert null_variance(GRR, 200_000) ** 0.5 == pytest.approx(0.005016, abs=1e-6)
    assert null_variance(OUE, 200_000) ** 0.5 == pytest.approx(0.001903, abs=1e-6)


def test_intervals_are_plug_in_and_wider_where_devices_are_a_sample() -> None:
    shares = np.full(200, 0.5 / 199)
    shares[0] = 0.5
    counted = _expected_counts(OUE, shares, 100_000)
    file, people = estimate(OUE, counted), estimate(OUE, counted, target="population")
    assert file.standard_error[0] > file.standard_error[1]
    assert people.standard_error[0] ** 2 - file.standard_error[0] ** 2 == pytest.approx(0.25 / 100_000, rel=1e-3)
    assert file.high - file.low == pytest.approx(2 * 1.959964 * file.standard_error, rel=1e-6)


def test_cells_are_shown_when_they_clear_their_error_over_all_slots() -> None:
    found = estimate(OUE, _expected_counts(OUE, np.zeros(200), 200_000))
    assert found.floor(0.05)[0] == pytest.approx(0.0066229, abs=1e-6)
    shares = np.zeros(200)
    shares[3], shares[4] = 0.0067, 0.0065
    found = estimate(OUE, _expected_counts(OUE, shares, 200_000))
    assert np.flatnonzero(found.shown(0.05)).tolist() == [3]


def test_versions_are_combined_by_the_inverse_of_their_variance_and_say_so() -> None:
    first, second = Tag("a", "1"), Tag("a", "2")
    shares = dirichlet(200, "combined versions")
    parts = [
        estimate(OUE, _expected_counts(OUE, shares, 300_000), tag=first),
        estimate(GRR, _expected_counts(GRR, shares, 100_000), tag=second),
    ]
    both = combine(parts)
    precisions = [1 / null_variance(OUE, 300_000), 1 / null_variance(GRR, 100_000)]
    assert both.weights == pytest.approx(
        {first: precisions[0] / sum(precisions), second: precisions[1] / sum(precisions)}
    )
    assert both.reports == 400_000
    assert both.null_error[0] ** 2 == pytest.approx(1 / sum(precisions))
    assert (both.standard_error < parts[0].standard_error).all()
    assert np.abs(both.shares - shares).max() < 1e-4
    assert combine(parts[:1]) is parts[0]
    with pytest.raises(InputContractError):
        combine([])


def test_counts_of_another_version_are_refused() -> None:
    for counted in (
        ReportCounts("bits", np.zeros(199, dtype=np.int64), 10),
        ReportCounts("slot", np.zeros(200, dtype=np.int64), 10),
        ReportCounts("bits", np.zeros(200, dtype=np.int64), 0),
    ):
        with pytest.raises(InputContractError):
            estimate(OUE, counted)


def _levels(key: int, noise: tuple[float, float]) -> tuple[list[Alphabet], list[np.ndarray], list[Frequencies]]:
    fine = Alphabet.declare(resolution=6, box=["41.4", "-88.2", "42.2", "-87.4"])
    coarse = fine.coarser(5)
    truth = dirichlet(fine.slots, "truth", key, concentration=0.3)
    truths = [np.bincount(fine.slots_in(coarse), truth, minlength=coarse.slots), truth]
    found = []
    for level, (shares, error) in enumerate(zip(truths, noise, strict=True)):
        seen, spread = shares + error * normal(len(shares), "level", level, key), np.full(len(shares), error)
        found.append(Frequencies(1000, seen, spread, seen, seen, seen, spread))
    return [coarse, fine], truths, found


def test_levels_agree_and_the_result_is_least_squares() -> None:
    """Against a dense solve of the generalised least squares problem, shares and errors."""
    alphabets, _, found = _levels(4, (0.01, 0.03))
    coarse, fine = reconcile(alphabets, found, 0.05)
    parent = alphabets[1].slots_in(alphabets[0])
    assert np.bincount(parent, fine.shares) == pytest.approx(coarse.shares)
    assert coarse.shares.sum() == pytest.approx(1)
    up = np.zeros((alphabets[0].slots, alphabets[1].slots))
    up[parent, np.arange(len(parent))] = 1
    design = np.vstack([up, np.eye(len(parent))])
    weight = np.concatenate([1 / found[0].standard_error ** 2, 1 / found[1].standard_error ** 2])
    seen = np.concatenate([found[0].shares, found[1].shares])
    information = design.T * weight @ design
    ones = np.ones(len(parent))
    spread = np.linalg.inv(information)
    free = spread @ (design.T @ (weight * seen))
    gain = spread @ ones / (ones @ spread @ ones)  # the shares sum to 1
    assert fine.shares == pytest.approx(free + gain * (1 - free.sum()))
    constrained = spread - np.outer(gain, ones @ spread)
    assert fine.standard_error == pytest.approx(np.sqrt(np.diag(constrained)))
    assert coarse.standard_error == pytest.approx(np.sqrt(np.diag(up @ constrained @ up.T)))


def test_agreeing_lowers_the_error_of_every_level() -> None:
    before, after = np.zeros(2), np.zeros(2)
    for key in range(20):
        alphabets, truths, found = _levels(key, (0.01, 0.01))
        levels = reconcile(alphabets, found, 0.05)
        before += [((f.shares - t) ** 2).mean() for f, t in zip(found, truths, strict=True)]
        after += [((f.shares - t) ** 2).mean() for f, t in zip(levels, truths, strict=True)]
    assert (after < before).all()


def test_children_are_shown_under_shown_parents_only() -> None:
    alphabets, truths, _ = _levels(5, (0.01, 0.01))
    exact = [Frequencies(1, t, np.full(len(t), 1e-4), t, t, t, np.full(len(t), 1e-4)) for t in truths]
    coarse, fine = reconcile(alphabets, exact, 0.05)
    parent = alphabets[1].slots_in(alphabets[0])
    assert fine.shown.any() and not (fine.shown & ~coarse.shown[parent]).any()
    blind = Frequencies(1, truths[0], np.full(len(truths[0]), 10.0), truths[0], truths[0], truths[0], np.ones(1))
    hidden, below = reconcile(alphabets, [blind, exact[1]], 0.05)
    assert not (below.shown & ~hidden.shown[parent]).any()


def test_families_are_projected_one_by_one_onto_their_parents_total() -> None:
    from trasgo_lib.estimation.shares import project_simplex

    parent = (5 * uniform(60, "families")).astype(np.int32)
    values, totals = 0.1 + 0.5 * normal(60, "values"), np.array([1.0, 0.5, 0.0, 2.0, 0.1])
    found = _projected(values, parent, totals)
    for family, total in enumerate(totals):
        members = parent == family
        expected = total * project_simplex(values[members] / total) if total else np.zeros(members.sum())
        assert found[members] == pytest.approx(expected, abs=1e-12)


def test_levels_without_an_estimate_each_are_refused() -> None:
    alphabets, _, found = _levels(7, (0.01, 0.01))
    for wrong in ([], found[:1], found[::-1]):
        with pytest.raises(InputContractError):
            reconcile(alphabets, wrong, 0.05)


def test_shuffling_bounds_are_those_of_the_literature() -> None:
    """Feldman, McMillan and Talwar's closed form at delta 1e-6."""
    known = {
        (10_000, 0.5): 0.094,
        (10_000, 2): 0.501,
        (200_000, 1): 0.052,
        (200_000, 4): 0.405,
        (10**6, 2): 0.063,
        (10**6, 8): 1.003,
        (10**7, 4): 0.068,
    }
    for (reports, local), expected in known.items():
        assert shuffle_bound(local, 1e-6, reports).epsilon == pytest.approx(expected, abs=6e-4)
    beyond = shuffle_bound(3.77, 1e-6, 10_000)
    assert beyond.epsilon is None and beyond.valid_up_to == pytest.approx(3.763, abs=1e-3)
    assert shuffle_bound(1, 1e-6, 100).epsilon is None
    for wrong in ((0, 1e-6, 10), (1, 0, 10), (1, 1e-6, 0)):
        with pytest.raises(ValueError):
            shuffle_bound(*wrong)


def test_sizes_follow_from_the_error_of_an_empty_cell() -> None:
    found = size(OUE, 200_000, 0.05)
    assert found.floor * 200_000 == pytest.approx(1325, abs=1)
    assert size(GRR, 200_000, 0.05).floor * 200_000 == pytest.approx(3492, abs=1)
    assert (found.rule, size(OUE, 3 * 10**6, 0.05).rule, size(OUE, 10**8, 0.05).rule) == ("few", "some", "many")
    needed = reports_needed(OUE, found.told, 0.05)
    assert needed == pytest.approx(200_000, rel=1e-6)
    assert size(GRR, 10, 0.05).told == 1.0
    with pytest.raises(ValueError):
        reports_needed(OUE, 0, 0.05)


def test_how_many_reports_show_a_wrong_epsilon() -> None:
    wrong_bits = build_report_channel("optimised_unary_encoding", 200, Epsilon.parse("1.9"))
    wrong_slots = build_report_channel("kary_randomized_response", 200, Epsilon.parse("1.9"))
    assert reports_to_notice(OUE, wrong_bits, "set_bits") < 1000
    assert 10**8 < reports_to_notice(GRR, wrong_slots, "nobody") < 10**9
    few, few_wrong = (build_report_channel("kary_randomized_response", 20, Epsilon.parse(e)) for e in ("2", "1.9"))
    assert 10**6 < reports_to_notice(few, few_wrong, "nobody") < 10**7


def test_checks_that_have_too_few_counts_are_left_out() -> None:
    alphabet = Alphabet.declare(resolution=5, box=["41.0", "-88.5", "42.6", "-87.0"], has_nobody=True)
    channel = build_report_channel("kary_randomized_response", alphabet.slots, Epsilon.parse("1"))
    few = ReportCounts("slot", np.full(alphabet.slots, 1, dtype=np.int64), alphabet.slots)
    assert check_health(channel, few, alphabet) == ()
    each = 100_000
    even = ReportCounts("slot", np.full(alphabet.slots, each, dtype=np.int64), each * alphabet.slots)
    found = {check.name: check for check in check_health(channel, even, alphabet)}
    assert set(found) == {"nobody", "least_count"}
    assert not found["nobody"].is_passed, "a slot that nobody is in is named less often than others"
    assert found["least_count"].is_passed
    even.counts[0] = 0
    checks = {check.name: check for check in check_health(channel, even, alphabet)}
    assert not checks["least_count"].is_passed
