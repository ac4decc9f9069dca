"""One suite over every chain: coupled levels checked against exact integer products and exact enumeration.

A mechanism that says it has chains and has no case here fails the first test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, permutations
from typing import Any

import mpmath
import numpy as np
import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import CategoryDomain, DateDomain, NumberDomain, ProductDomain
from trasgo_lib.errors import ConfigError, InputContractError, Reason
from trasgo_lib.mechanisms import (
    MECHANISMS,
    Chain,
    Kernel,
    build_chain,
    build_channel,
    chi_square,
    probe_codes,
    rebuild_chain,
    rebuild_channel,
)
from trasgo_lib.mechanisms.chain import FAMILIES
from trasgo_lib.noise import Keystream

KEY = bytes(range(32))
LADDER = ("0.5", "0.625", "1", "2", "4")
FALSE_ALARM = 1e-6  # of every chi-square test here; keys are fixed

NUMBERS = NumberDomain(lower="0", upper="23", step="1")
FEW = NumberDomain(lower="0", upper="3", step="1")
DAYS = DateDomain(lower="2020-01-01", upper="2020-01-15", step="1")
LABELS = CategoryDomain(["a", "b", "c", "d", "e"])
GROUP = ProductDomain([("label", CategoryDomain(["x", "y", "z"]), None), ("number", NUMBERS, 2)])
PAIR = CategoryDomain(["no", "yes"])


@dataclass(frozen=True)
class Case:
    mechanism: str
    domain: Any
    few: Any
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def delta(self) -> Decimal:
        return Decimal(self.parameters.get("delta", "0"))


CASES = {
    "binary": Case("randomized_response", PAIR, PAIR),
    "kary": Case("kary_randomized_response", LABELS, LABELS),
    "kary-missing": Case("kary_randomized_response", LABELS, LABELS, {"missing": True}),
    "kary-numbers": Case("kary_randomized_response", NUMBERS, FEW),
    "group": Case("kary_randomized_response", GROUP, GROUP),
    "laplace": Case("laplace", NUMBERS, FEW),
    "laplace-dates": Case("laplace", DAYS, FEW),
    "laplace-missing": Case("laplace", NUMBERS, FEW, {"missing": True}),
    "laplace-missing-fill": Case("laplace", DAYS, FEW, {"missing": True, "fill": 2}),
    "gaussian-missing": Case("gaussian", DAYS, FEW, {"missing": True}),
    "gaussian": Case("gaussian", NUMBERS, FEW),
    "staircase": Case("staircase", NUMBERS, FEW),
    "staircase-width": Case("staircase", DAYS, FEW, {"width": 2}),
    "binned": Case("binned_randomized_response", NUMBERS, FEW, {"bins": 3}),
    "binned-missing": Case("binned_randomized_response", NUMBERS, FEW, {"bins": 4, "missing": True}),
    "gaussian-delta": Case("gaussian", NUMBERS, FEW, {"delta": "0.001"}),
}
every_case = pytest.mark.parametrize("name", CASES)


@lru_cache(maxsize=64)
def chain_of(name: str, ladder: tuple[str, ...] = LADDER) -> Chain:
    case = CASES[name]
    return build_chain(case.mechanism, case.domain, ladder, **case.parameters)


def streams(purpose: str, level: Epsilon) -> Keystream:
    return Keystream(KEY, "chain", purpose, level.text)


def rows_of(kernel: Kernel) -> np.ndarray:
    return np.array([kernel.weights(code) for code in range(kernel.inputs)], dtype=object)


def states_at(chain: Chain, rung: int) -> tuple[np.ndarray, int]:
    """Exact product of the integer matrices from inputs to the states of a rung, and what its rows sum to."""
    product, total = rows_of(chain.coupling.top), chain.coupling.top.total
    for step in chain.coupling.steps[: rung - 1 if rung else None : -1]:
        product, total = product.dot(rows_of(step)), total * step.total
    return product, total


def released(chain: Chain, states: np.ndarray) -> np.ndarray:
    places = chain.coupling.released(np.arange(states.shape[1], dtype=np.int32))
    outputs = chain.coupling.channels[0].outputs
    merged = np.zeros((len(states), outputs), dtype=object)
    for state, place in enumerate(places.tolist()):
        merged[:, place] += states[:, state]
    return merged


def log_ratio(rows: np.ndarray) -> mpmath.mpf:
    columns = [column for column in rows.T.tolist() if any(column)]
    return max(mpmath.log(mpmath.mpf(max(column)) / min(column)) for column in columns)


def excess(rows: np.ndarray, total: int, epsilon: Decimal) -> mpmath.mpf:
    """The largest hockey-stick sum over pairs of rows."""
    factor = mpmath.exp(mpmath.mpf(str(epsilon)))
    return max(
        sum(max(mpmath.mpf(0), p - factor * q) for p, q in zip(first, second, strict=True)) / total
        for first, second in permutations(rows.tolist(), 2)
    )


def holds(rows: np.ndarray, total: int, epsilon: Decimal, delta: Decimal) -> bool:
    with mpmath.workdps(60):
        if not delta:
            return bool(log_ratio(rows) <= mpmath.mpf(str(epsilon)))
        return bool(excess(rows, total, epsilon) <= mpmath.mpf(str(delta)) * (1 + mpmath.mpf("1e-40")))


def test_every_chain_has_a_case() -> None:
    coupled = {name for name, entry in MECHANISMS.items() if entry.chain}
    assert {case.mechanism for case in CASES.values()} == coupled == set(FAMILIES)


@every_case
def test_the_product_of_the_matrices_that_run_is_certified_at_every_level(name: str) -> None:
    chain, case = chain_of(name), CASES[name]
    assert tuple(level.text for level in chain.levels) == LADDER
    for rung, level in enumerate(chain.levels):
        proven = chain.certificate(level)
        assert Decimal("0.999") * level.decimal <= proven.epsilon <= level.decimal
        assert proven.delta == case.delta
        states, total = states_at(chain, rung)
        assert all(sum(row) == total for row in states.tolist())
        assert holds(states, total, proven.epsilon, proven.delta)
        if not case.delta and "missing" not in case.parameters:
            with mpmath.workdps(60):
                assert mpmath.mpf(str(proven.epsilon)) - log_ratio(states) <= mpmath.mpf("1.1e-6")


@every_case
def test_published_weights_are_the_product_within_the_stated_difference(name: str) -> None:
    chain = chain_of(name)
    for rung, level in enumerate(chain.levels):
        channel = chain.channel(level)
        states, total = states_at(chain, rung)
        law = released(chain, states)
        bound = chain.certificate(level).difference
        assert 0 <= bound < Decimal("1e-9")
        assert (bound == 0) == (rung == len(LADDER) - 1)
        assert channel.difference == bound
        share = Fraction(bound)
        for code in range(channel.inputs):
            row = channel.weights(code)
            assert sum(row) == channel.total
            for weight, exact in zip(row, law[code].tolist(), strict=True):
                ideal = exact * channel.total
                assert abs(weight * total - ideal) * share.denominator <= ideal * share.numerator


@every_case
def test_levels_follow_their_published_weights(name: str) -> None:
    chain = chain_of(name)
    for level in chain.levels:
        channel = chain.channel(level)
        codes = probe_codes(channel, 100_000)
        assert chi_square(channel, codes, chain.sample(codes, streams, level)) > FALSE_ALARM
        assert chi_square(channel, codes, codes) < FALSE_ALARM


@every_case
def test_bits_do_not_depend_on_batches_threads_or_what_was_revealed_before(name: str) -> None:
    chain = chain_of(name)
    low, high = chain.levels[0], chain.levels[2]
    codes = (np.arange(70_001) * 7 % chain.channel(low).inputs).astype(np.int32)
    codes.setflags(write=False)
    whole = chain.sample(codes, streams, low, first_row=5)
    cuts = [0, 1, 1000, 32_768, 65_537, 70_001]

    def part(bounds: tuple[int, int]) -> np.ndarray:
        return chain.sample(codes[bounds[0] : bounds[1]], streams, low, first_row=5 + bounds[0])

    with ThreadPoolExecutor(max_workers=3) as pool:
        assert np.array_equal(np.concatenate(list(pool.map(part, pairwise(cuts)))), whole)
    finer = chain.sample(codes, streams, high, first_row=5)
    assert whole.dtype == np.int32
    assert not np.array_equal(finer, whole)
    assert np.array_equal(chain.sample(codes, streams, low, first_row=5), whole)
    if chain.coupling.codes is None:  # states are released codes: the lower level is a function of the higher one
        again = finer
        for rung in (1, 0):
            again = chain.coupling.steps[rung].sample(again, streams("coarsen", chain.levels[rung]), 5)
        assert np.array_equal(again, whole)
    assert chain.sample(codes[:0], streams, low).shape == (0,)


@every_case
def test_streams_are_asked_for_once_a_purpose_and_never_below_the_level(name: str) -> None:
    chain, asked = chain_of(name), []

    def recording(purpose: str, level: Epsilon) -> Keystream:
        asked.append((purpose, level.text))
        return streams(purpose, level)

    chain.sample(np.zeros(70_000, dtype=np.int32), recording, "1")
    assert sorted(asked) == [("coarsen", "1"), ("coarsen", "2"), ("draw", "4")]
    asked.clear()
    chain.sample(np.zeros(3, dtype=np.int32), recording, "4")
    assert asked == [("draw", "4")]


@every_case
def test_kernels_draw_what_their_weights_say(name: str) -> None:
    chain = chain_of(name)
    for rung, step in enumerate(chain.coupling.steps):
        rows = rows_of(step)
        assert all(sum(row) == step.total and min(row) >= 0 for row in rows.tolist())
        codes = np.repeat(np.arange(step.inputs, dtype=np.int32), 4000)
        drawn = step.sample(codes, Keystream(KEY, "kernel", name, rung))
        _follows(rows, step.total, codes, drawn)
        with pytest.raises(IndexError):
            step.weights(step.inputs)
    top = chain.coupling.top
    codes = np.repeat(np.arange(top.inputs, dtype=np.int32), 4000)
    _follows(rows_of(top), top.total, codes, top.sample(codes, Keystream(KEY, "top", name)))


def _follows(rows: np.ndarray, total: int, codes: np.ndarray, drawn: np.ndarray) -> None:
    """Pearson's test of every row, cells that expect fewer than five rows pooled."""
    from scipy.stats import chi2

    statistic, freedom = 0.0, 0
    for code, row in enumerate(rows.tolist()):
        counts = np.bincount(drawn[codes == code], minlength=len(row))
        expected = np.array([weight / total for weight in row]) * (codes == code).sum()
        assert not counts[expected == 0].any()
        rare = expected < 5
        seen = np.append(counts[~rare], counts[rare].sum())
        wanted = np.append(expected[~rare], expected[rare].sum())
        kept = wanted > 0.5
        statistic += float(((seen[kept] - wanted[kept]) ** 2 / wanted[kept]).sum())
        freedom += int(kept.sum()) - 1
    assert chi2.sf(statistic, freedom) > FALSE_ALARM


@every_case
def test_a_chain_is_rebuilt_from_its_parameters_without_a_search(name: str) -> None:
    chain, domain = chain_of(name), CASES[name].domain
    stored = json.loads(json.dumps(chain.parameters, allow_nan=False))
    again = rebuild_chain(chain.name, domain, stored)
    assert again.digest == chain.digest
    assert again.levels == chain.levels
    for level in chain.levels:
        channel = chain.channel(level)
        stored_level = json.loads(json.dumps(channel.parameters, allow_nan=False))
        rebuilt = rebuild_channel(chain.name, domain, stored_level)
        assert rebuilt.digest == channel.digest
        assert again.certificate(level) == chain.certificate(level)
        assert channel.event == rebuilt.event
        assert channel.event.epsilon == level
        assert channel.coarsen("0.1") is None or channel.name.endswith("randomized_response")


@every_case
def test_stored_parameters_are_read_strictly(name: str) -> None:
    chain, domain = chain_of(name), CASES[name].domain
    for key in chain.parameters:
        damaged = {other: value for other, value in chain.parameters.items() if other != key}
        if key in ("missing", "width"):
            continue
        with pytest.raises(ConfigError):
            rebuild_chain(chain.name, domain, damaged)
    with pytest.raises(ConfigError):
        rebuild_chain(chain.name, domain, {**chain.parameters, "extra": "1"})
    with pytest.raises(ConfigError):
        rebuild_chain(chain.name, domain, {**chain.parameters, "levels": list(LADDER[:-1])})


@every_case
def test_the_digest_fixes_the_whole_ladder(name: str) -> None:
    ladders = (LADDER, LADDER[1:], LADDER[:-1], ("0.5", "0.626", "1", "2", "4"))
    digests = {chain_of(name, ladder).digest for ladder in ladders}
    assert len(digests) == len(ladders)
    assert all(len(digest) == 64 for digest in digests)


@every_case
def test_one_rung_is_a_chain_and_bad_ladders_are_refused(name: str) -> None:
    case = CASES[name]
    single = build_chain(case.mechanism, case.domain, ["1"], **case.parameters)
    codes = np.arange(single.channel("1").inputs, dtype=np.int32)
    assert single.sample(codes, streams, "1").shape == codes.shape
    for ladder in ((), ("1", "1"), ("2", "1"), ("0", "1"), (0.5, "1")):
        with pytest.raises(ConfigError):
            build_chain(case.mechanism, case.domain, ladder, **case.parameters)
    with pytest.raises(ConfigError):
        build_chain(case.mechanism, case.domain, ("1", "60"), **case.parameters)
    with pytest.raises(ConfigError) as caught:
        chain_of(name).channel("3")
    assert "0.5, 0.625, 1, 2, 4" in str(caught.value)
    bad = np.array([0, 99], dtype=np.int32)
    with pytest.raises(InputContractError) as refused:
        chain_of(name).sample(bad, streams, "1")
    assert refused.value.reason is Reason.OUT_OF_DOMAIN


def joint_law(chain: Chain, lowest: int = 0) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Every path of released codes from the lowest rung up, with its exact weight for every input."""
    product = rows_of(chain.coupling.top)
    places = chain.coupling.released(np.arange(product.shape[1], dtype=np.int32)).tolist()
    paths: dict[tuple[tuple[int, ...], int], list[int]] = {
        ((places[state],), state): product[:, state].tolist() for state in range(product.shape[1])
    }
    for step in reversed(chain.coupling.steps[lowest:]):
        rows, following = rows_of(step), {}
        for (path, state), weights in paths.items():
            for below, weight in enumerate(rows[state].tolist()):
                key = ((places[below], *path), below)
                known = following.setdefault(key, [0] * len(weights))
                for place, value in enumerate(weights):
                    known[place] += value * weight
        paths = following
    merged: dict[tuple[int, ...], list[int]] = {}
    for (path, _), weights in paths.items():
        known = merged.setdefault(path, [0] * len(weights))
        for place, value in enumerate(weights):
            known[place] += value
    yield from merged.items()


@every_case
def test_everything_seen_costs_the_highest_level_looked_at(name: str) -> None:
    """Guarantee 6, exactly: all levels of a tiny domain, and a stop that depends on what was seen."""
    case = CASES[name]
    ladder = ("0.5", "1", "2")
    chain = build_chain(case.mechanism, case.few, ladder, **case.parameters)
    laws = [dict(joint_law(build_prefix(chain, rungs))) for rungs in (1, 2, 3)]
    for rungs, law in enumerate(laws, start=1):
        rows = np.array(list(law.values()), dtype=object).T
        proven = chain.certificate(ladder[rungs - 1])
        total = sum(rows[0].tolist())
        assert holds(rows, total, proven.epsilon, proven.delta)
    if case.delta:
        return
    # adaptive: climb while the level seen last shows an even code, else stop; each path pays for where it stopped
    for rungs, law in enumerate(laws, start=1):
        for path, weights in law.items():
            stopped = all(code % 2 == 0 for code in path[:-1]) and (path[-1] % 2 or rungs == len(laws))
            if stopped:
                with mpmath.workdps(60):
                    paid = mpmath.mpf(ladder[rungs - 1])
                    assert mpmath.log(mpmath.mpf(max(weights)) / min(weights)) <= paid


class _Prefix:
    """The first rungs of a chain as they are drawn: the finer levels run, and are summed out."""

    def __init__(self, chain: Chain, rungs: int) -> None:
        states, _ = states_at(chain, rungs - 1)
        self.coupling = self
        self.top = _Rows(states)
        self.steps = chain.coupling.steps[: rungs - 1]
        self.released = chain.coupling.released


class _Rows:
    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows
        self.inputs = len(rows)

    def weights(self, code: int) -> tuple[int, ...]:
        return tuple(self._rows[code].tolist())


def build_prefix(chain: Chain, rungs: int) -> Any:
    return _Prefix(chain, rungs)


def test_an_edited_ladder_charged_as_its_maximum_fails_the_enumeration() -> None:
    # two chains of one column: whoever sees both pays 1 + 2, not 2; the negative control of the test above
    first = rows_of(chain_of("kary", ("0.5", "1")).coupling.top)
    second = rows_of(chain_of("kary", ("0.5", "2")).coupling.top)
    joint = np.array([np.outer(first[i], second[i]).ravel() for i in range(5)], dtype=object)
    with mpmath.workdps(60):
        assert log_ratio(joint) > mpmath.mpf("2.99")
        assert log_ratio(joint) <= mpmath.mpf(3)


@pytest.mark.parametrize("name", ["kary", "laplace"])
def test_shared_uniforms_are_told_apart_from_fresh_ones(name: str) -> None:
    """A chain that reuses the words of the draw for its steps breaks the pair law; fresh words keep it."""
    chain = chain_of(name)
    codes = np.full(60_000, 2, dtype=np.int32)
    step = rows_of(chain.coupling.steps[-1])

    def p_follows(source: Any) -> bool:
        finer, coarser = chain.sample(codes, source, "4"), chain.sample(codes, source, "2")
        try:
            _follows(step, 2**64, finer, coarser)
        except AssertionError:
            return False
        return True

    assert p_follows(streams)
    assert not p_follows(lambda _purpose, _level: Keystream(KEY, "shared"))


@every_case
def test_coarsening_a_single_channel_meets_the_lower_level(name: str) -> None:
    case = CASES[name]
    channel = build_channel(case.mechanism, case.domain, "2", **case.parameters)
    kernel = channel.coarsen("1")
    if kernel is None:
        assert case.parameters.get("missing")
        return
    product = rows_of(channel).dot(rows_of(kernel))
    assert holds(product, channel.total * kernel.total, Decimal(1), case.delta)
    assert not holds(product, channel.total * kernel.total, Decimal("0.999"), case.delta)
    assert channel.coarsen(Epsilon.parse("1")).digest == kernel.digest
    for level in ("2", "3"):
        with pytest.raises(ConfigError):
            channel.coarsen(level)


def test_mechanisms_without_chains_say_so() -> None:
    with pytest.raises(ConfigError) as caught:
        build_chain("exponential", LABELS, ["1", "2"])
    assert "sequential" in str(caught.value)
    assert build_channel("exponential", LABELS, "1").coarsen("0.5") is None
    with pytest.raises(ConfigError):
        build_chain("laplace", LABELS, ["1", "2"])
    with pytest.raises(ConfigError):
        build_chain("laplace", NUMBERS, ["1", "2"], window=3)
