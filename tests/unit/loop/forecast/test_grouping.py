"""Advice on groups, on public files: against one on cps1988, for one on Adult, and the closed forms behind it."""

from pathlib import Path

import numpy as np
import pyarrow.csv as pc
import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain
from trasgo_lib.loop.forecast import Population, PublicKnowledge, advise_group
from trasgo_lib.loop.forecast.grouping import _undone
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.plan.prior import PublicPrior
from trasgo_lib.utility import LossColumn

CPS = Path(__file__).resolve().parents[4] / "configs" / "demo" / "cps1988.csv"
ADULT = Path(__file__).resolve().parents[5] / "shared" / "data" / "uci_adult_train.csv"
TOTALS = [Epsilon.parse(total) for total in ("2", "4", "6", "8")]


def stream(*label):
    return Keystream(bytes(32), *label)


def rows_like(parts, codes):
    """Synthetic rows from a prior that a public file gives: its shares and correlations, and nothing else of it."""
    names = [name for name, *_ in parts]
    sizes = {name: domain.size for name, domain, *_ in parts}
    shares = {name: np.bincount(codes[name], minlength=sizes[name]) / len(codes[name]) for name in names}
    pairs = [(left, right) for at, left in enumerate(names) for right in names[at + 1 :]]
    correlations = {pair: float(np.corrcoef(codes[pair[0]], codes[pair[1]])[0, 1]) for pair in pairs}
    prior = PublicPrior("a public file", "0" * 64, len(codes[names[0]]), shares, correlations)
    known = PublicKnowledge.of(prior, [LossColumn(name, name, "number", sizes[name]) for name in names], sizes)
    return Population.of(known).codes(prior.rows, stream("population"))


def labels(table, name):
    values = [str(value).strip() for value in table[name].to_pylist()]
    domain = CategoryDomain(sorted(set(values)))
    return (name, domain), domain.encode(values)


def read(path):
    table = pc.read_csv(path)
    return table.rename_columns([name.strip() for name in table.column_names])


def test_it_advises_against_the_group_whose_raw_loss_gets_worse():
    table, parts, codes = read(CPS), [], {}
    for name in ("ethnicity", "smsa", "region", "parttime"):
        part, codes[name] = labels(table, name)
        parts.append(part)
    found = advise_group(ProductDomain(parts), rows_like(parts, codes), TOTALS, stream, 5)
    assert not found.is_advised
    assert "get worse" in found.reason and "weak" in found.reason and "debias" in found.reason
    at_4 = found.comparisons[1]
    assert at_4.raw_group > 1.5 * at_4.raw_single
    assert at_4.debiased_single > 2 * at_4.debiased_group
    assert at_4.added > 0.05
    assert found.strength < 0.06


def test_it_advises_for_the_group_on_adult():
    if not ADULT.is_file():
        pytest.skip("the public Adult file is not beside this checkout")
    table, parts, codes = read(ADULT), [], {}
    for name in ("sex", "salary-class"):
        part, codes[name] = labels(table, name)
        parts.append(part)
    for name, lower, upper in (("education-num", "1", "16"), ("hours-per-week", "0", "99")):
        parts.append((name, NumberDomain(lower=lower, upper=upper, step="1"), 4))
        codes[name] = (np.asarray(table[name]) - int(lower)).astype(np.int32)
    found = advise_group(ProductDomain(parts), rows_like(parts, codes), TOTALS, stream, 5)
    assert found.is_advised
    assert found.combinations == 64
    at_6 = found.comparisons[2]
    assert at_6.raw_group < 0.6 * at_6.raw_single
    assert at_6.debiased_single > 2 * at_6.debiased_group


def test_pair_tables_are_undone_exactly():
    ours, theirs = (build_channel("kary_randomized_response", CategoryDomain(list("abcd")[:k]), "1") for k in (3, 4))
    truth = np.arange(1.0, 13).reshape(3, 4) / 78
    matrices = [
        np.array([channel.weights(code) for code in range(channel.inputs)], dtype=float) / channel.total
        for channel in (ours, theirs)
    ]
    kept = [matrix[0, 0] - matrix[0, 1] for matrix in matrices]
    assert _undone(matrices[0].T @ truth @ matrices[1], *kept) == pytest.approx(truth, abs=1e-12)


def test_missing_codes_are_left_out_of_correlations():
    parts = [("a", CategoryDomain(["x", "y"]), None, True), ("b", CategoryDomain(["x", "y"]), None, False)]
    a = np.tile(np.array([0, 1, 2], dtype=np.int32), 2000)
    b = np.where(a == 2, np.arange(len(a)) % 2, a).astype(np.int32)
    found = advise_group(ProductDomain(parts), {"a": a, "b": b}, TOTALS[2:], stream, 2)
    assert found.strength == pytest.approx(1.0)
    assert found.is_advised
