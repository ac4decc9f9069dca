"""Record linkage: against brute force over rows, at both ends of epsilon, and within the bounds that are stated."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import RiskSpec, load_config
from trasgo_lib.data import CategoryDomain
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan, compile_plan
from trasgo_lib.risk import (
    Linkage,
    RiskAudit,
    audit_risk,
    informed_bound,
    linkage,
    target_only_bound,
)
from trasgo_lib.risk.interval import exact_interval
from trasgo_lib.risk.linkage import sampled_rows

FILE = """
format: 1
release: {{dataset: small, version: "1", title: "Small"}}
source: {{path: small.csv, format: csv}}
privacy: {{epsilon_total: "200", account: small, geo_total: "100"}}
columns:
  - {{name: age, type: number, domain: {{lower: "0", upper: "9", step: "1"}}, missing: code, outside: clip,
     mechanism: laplace, epsilon: "{level}"}}
  - {{name: sex, type: category, domain: {{codes: [f, m]}}, mechanism: randomized_response, epsilon: "{level}"}}
  - {{name: region, type: category, domain: {{codes: [n, e, s, w]}}}}
  - {{name: hours, type: number, domain: {{lower: "0", upper: "9", step: "1"}}, noise_bins: 2, outside: clip}}
  - {{name: job, type: category, domain: {{codes: [a, b, c]}}}}
  - {{name: place, type: point, columns: {{latitude: lat, longitude: lon}}, mechanism: planar_laplace,
     domain: {{box: ["41.86", "-87.66", "41.9", "-87.6"], crs: "EPSG:3435", step_m: "500"}},
     geo: {{epsilon: "1.4", radius_m: "400"}}}}
  - {{name: wave, role: public}}
groups: [{{name: work, columns: [region, hours, job], mechanism: kary_randomized_response, epsilon: "{level}"}}]
publish: {{store: releases}}
"""

ROOT_KEY = bytes(range(32))


def _plan(folder: Path, level: str) -> ReleasePlan:
    path = folder / "release.yaml"
    path.write_text(FILE.format(level=level), encoding="utf-8")
    return compile_plan(load_config(path))


class Small:
    """A file of few rows: true and released codes by unit, and the public column."""

    def __init__(self, folder: Path, level: str, rows: int) -> None:
        self.plan, self.rows = _plan(folder, level), rows
        self.levels = {unit.name: unit.rungs[0] for unit in self.plan.units}
        self.true: dict[str, NDArray[np.int32]] = {}
        self.released: dict[str, NDArray[np.int32]] = {}
        for place, unit in enumerate(self.plan.units):
            size = unit.domain.size + (unit.missing == "code")
            word = np.arange(rows, dtype=np.int64)
            self.true[unit.name] = ((word * (7 + 4 * place) + word // 3) % size).astype(np.int32)
            self.released[unit.name] = unit.channel(self.levels[unit.name]).sample(
                self.true[unit.name], Keystream(ROOT_KEY, "draw", unit.name)
            )
        self.wave = [None if row % 5 == 0 else str(row % 2) for row in range(rows)]

    def audit(self, **spec: Any) -> RiskAudit:
        import pyarrow as pa

        sides = tuple(
            {name: (lambda codes=codes: iter(np.split(codes, [11]))) for name, codes in side.items()}
            for side in (self.true, self.released)
        )
        public = {"wave": lambda: iter([pa.array(self.wave[:11], pa.string()), pa.array(self.wave[11:], pa.string())])}
        stream = Keystream(ROOT_KEY, "risk")
        return audit_risk(self.plan, RiskSpec(**spec), self.levels, sides, public, self.rows, stream)  # type: ignore[arg-type]


def _brute_force(small: Small, names: tuple[str, ...]) -> dict[str, float]:
    """Every target against every row, with the whole weight tables; groups by summing over what is not known."""
    plan, rows = small.plan, small.rows
    scores = np.zeros((rows, rows))
    for unit in plan.units:
        parts = [part.name for part in unit.parts] or [unit.name]
        known = [parts.index(name) for name in names if name in parts]
        if not known:
            continue
        channel = unit.channel(small.levels[unit.name])
        table = np.array([channel.weights(code) for code in range(channel.inputs)], dtype=np.float64)
        table /= table.sum(axis=1, keepdims=True)
        codes = np.arange(channel.outputs, dtype=np.int32)
        own = unit.domain.decode(codes) if unit.parts else (codes,)
        same = np.ones((channel.outputs, channel.outputs), dtype=bool)
        for place in known:
            same &= own[place][:, None] == own[place][None, :]
        seen = table @ same.T  # float64[inputs, outputs]: all outputs with the same visible values together
        scores += np.log(seen[small.true[unit.name]][:, small.released[unit.name]])
    if "wave" in names:
        equal = np.array([[a == b for b in small.wave] for a in small.wave])
        scores = np.where(equal, scores, -np.inf)
    found: dict[str, list[float]] = {"likelihood": [], "posterior": []}
    visible = list(zip(*_visible_rows(small, names)))
    sizes = Counter(visible)
    for target in range(rows):
        weighed = scores[target] - np.log([sizes[row] for row in visible])
        for name, score in (("likelihood", scores[target]), ("posterior", weighed)):
            best = score >= score.max() - 1e-9
            found[name].append(best[target] / best.sum())
    return {name: float(np.mean(chances)) for name, chances in found.items()}


def _visible_rows(small: Small, names: tuple[str, ...]) -> list[list[Any]]:
    columns: list[list[Any]] = []
    for unit in small.plan.units:
        parts = [part.name for part in unit.parts] or [unit.name]
        codes = small.released[unit.name]
        own = unit.domain.decode(codes) if unit.parts else (codes,)
        columns += [column.tolist() for part, column in zip(parts, own) if part in names]
    return [*columns, *([small.wave] if "wave" in names else [])]


@pytest.mark.parametrize("level", ["0.5", "2", "5"])
@pytest.mark.parametrize(
    "names",
    [("age",), ("sex", "age"), ("region", "job"), ("age", "hours", "sex"), ("place", "sex"), ("wave", "age", "place")],
    ids=",".join,
)
def test_the_attack_is_that_of_brute_force(tmp_path: Path, level: str, names: tuple[str, ...]) -> None:
    small = Small(tmp_path, level, 60)
    found = small.audit(quasi_identifiers=names).linkage
    assert (found.targets, found.rows, found.chance) == (60, 60, 1 / 60)
    shares = {attack.name: attack.share for attack in found.attacks}
    for name, share in _brute_force(small, names).items():
        assert shares[name] == pytest.approx(share), name


def test_without_noise_every_unique_record_is_found(tmp_path: Path) -> None:
    """The released rows are the true ones, and the channels say that they hardly ever differ."""
    small = Small(tmp_path, "40", 60)
    small.released = small.true
    keys = list(zip(small.true["age"].tolist(), small.true["work"].tolist(), small.true["sex"].tolist()))
    sizes = Counter(keys)
    names = ("age", "region", "hours", "job", "sex")
    expected = sum(1 / sizes[key] for key in keys) / 60
    found = small.audit(quasi_identifiers=names)
    assert found.original == found.released and found.original.classes.unique_rows == 12
    assert [attack.share for attack in found.linkage.attacks] == pytest.approx([expected] * 3)
    assert found.linkage.bound == pytest.approx(1.0) and found.linkage.bound_target_only == 1.0


def test_without_information_nobody_is_found(tmp_path: Path) -> None:
    """Epsilon 0.001 a column: the share is the chance 1/n within 1 %, so 2,000 targets of 20,000 rows give few hits.

    False alarm below 1e-4 for a right attack; one that finds 1 % would pass with a chance below 1e-5.
    """
    small = Small(tmp_path, "0.001", 20_000)
    found = small.audit(quasi_identifiers=("age", "sex", "region"), linkage_sample=2000).linkage
    limit = binom.isf(1e-4, 2000, 1 / 20_000)
    assert binom.cdf(limit, 2000, 0.01) < 1e-5
    for attack in found.attacks:
        assert attack.correct <= limit
        assert attack.share <= 10 / 20_000
        assert attack.low <= 1 / 20_000 <= attack.high
    assert found.bound == pytest.approx(1 / 20_000, rel=0.01)
    assert found.bound_target_only == pytest.approx(1 / 20_000, rel=0.01)


def test_epsilon_is_the_sum_over_units_or_says_why_not(tmp_path: Path) -> None:
    small = Small(tmp_path, "2", 60)

    def found(*names: str) -> Linkage:
        return small.audit(quasi_identifiers=names).linkage

    three = found("sex", "region", "job")  # two units: a group is one
    assert three.epsilon == pytest.approx(4, abs=1e-5) and three.reason is None
    assert three.bound == pytest.approx(exp(8) / (exp(8) + 59), rel=1e-4)
    assert three.bound_target_only == pytest.approx(exp(4) / 60, rel=1e-4)
    for names, words in (((("sex", "place")), "point"), (("sex", "wave"), "public")):
        none = found(*names)
        assert none.bound is None and none.bound_target_only is None and words in (none.reason or "")


def _binary(level: str) -> NDArray[np.float64]:
    channel = build_channel("randomized_response", CategoryDomain(codes=("a", "b")), epsilon=level)
    return np.array([channel.weights(0), channel.weights(1)], dtype=np.float64) / 2.0**64


@pytest.mark.parametrize("level", ["0.3", "1", "3"])
@pytest.mark.parametrize("rows", [2, 3, 4])
def test_no_attacker_passes_the_bounds(level: str, rows: int) -> None:
    """Exact, over every release of small files: the best attackers there can be, one who knows all, one the target."""
    law, epsilon = _binary(level), float(Epsilon.parse(level).text)
    shares = np.array([0.3, 0.7])
    releases = list(product((0, 1), repeat=rows))
    target_only = 0.0
    for target in (0, 1):
        # known to be one of a random sample: the chance of a release with the target at each place
        seen = shares @ law
        chances = np.array(
            [
                [law[target, y[j]] * np.prod([seen[y[i]] for i in range(rows) if i != j]) for j in range(rows)]
                for y in releases
            ]
        )
        best = chances.max(axis=1).sum() / rows
        target_only = max(target_only, best)
        # the rule of the attack, with the true frequencies, is the best there is
        ratio = np.array([[law[target, y[j]] / seen[y[j]] for j in range(rows)] for y in releases])
        assert chances[np.arange(len(releases)), ratio.argmax(axis=1)].sum() / rows == pytest.approx(best)
        for others in product((0, 1), repeat=rows - 1):
            known = _informed(law, target, others, releases)
            posterior = known / known.sum(axis=1, keepdims=True)
            assert posterior.max() <= informed_bound(epsilon, rows) + 1e-9
    assert target_only <= target_only_bound(epsilon, rows) + 1e-9
    # both bounds mean something: they are above chance, and smaller epsilons than the true one break the first
    assert 1 / rows < target_only and target_only_bound(epsilon, rows) <= exp(epsilon)


def _informed(law: Any, target: int, others: tuple[int, ...], releases: Any) -> NDArray[np.float64]:
    """Chance of each release with the target at each place, the others being known and anywhere: [releases, places]."""
    rows = len(others) + 1
    found = np.zeros((len(releases), rows))
    for row, y in enumerate(releases):
        for place in range(rows):
            rest = [i for i in range(rows) if i != place]
            ways = [np.prod([law[x, y[i]] for x, i in zip(others, order)]) for order in permutations(rest)]
            found[row, place] = law[target, y[place]] * np.mean(ways)
    return found


def test_the_informed_bound_is_reached_by_two_people() -> None:
    """Two people who differ, and whose released values do: half of its epsilon would be too little."""
    for level in ("0.3", "1", "3"):
        known = _informed(_binary(level), 1, (0,), [(0, 1)])
        epsilon = float(level)
        assert known.max() / known.sum() == pytest.approx(informed_bound(epsilon, 2), abs=1e-6)
        assert known.max() / known.sum() > informed_bound(epsilon / 2, 2)


def test_a_sample_is_without_replacement_uniform_and_the_same_again() -> None:
    counts = np.zeros(50, dtype=np.int64)
    for key in range(400):
        rows = sampled_rows(Keystream(ROOT_KEY, key), 50, 10)
        assert len(set(rows.tolist())) == 10 and np.all(np.diff(rows) > 0)
        counts += np.bincount(rows, minlength=50)
    # exact: each row is in a sample with chance 1/5; over 50 rows a false alarm in 1e-4
    assert counts.min() >= binom.isf(1 - 1e-6, 400, 0.2) and counts.max() <= binom.isf(1e-6, 400, 0.2)
    assert np.array_equal(sampled_rows(Keystream(ROOT_KEY, 1), 50, 10), sampled_rows(Keystream(ROOT_KEY, 1), 50, 10))
    assert sampled_rows(Keystream(ROOT_KEY, 1), 7, 7).tolist() == list(range(7))
    assert len(sampled_rows(Keystream(ROOT_KEY, 1), 10, 9)) == 9


def test_a_sample_estimates_what_all_rows_give(tmp_path: Path) -> None:
    """The interval from 400 of 4,000 targets holds the share of all: exact 99.99 %, fixed key."""
    small = Small(tmp_path, "3", 4000)
    names = ("age", "region", "hours", "job", "sex")
    whole = small.audit(quasi_identifiers=names, linkage_sample=4000).linkage
    part = small.audit(quasi_identifiers=names, linkage_sample=400).linkage
    assert (whole.targets, part.targets) == (4000, 400)
    for all_rows, some in zip(whole.attacks, part.attacks):
        low, high = exact_interval(some.correct, 400, level=0.9999)
        assert low <= all_rows.share <= high
        assert (all_rows.low, all_rows.high) == (all_rows.share, all_rows.share) and some.low < some.high


def test_fewer_targets_are_tried_where_there_are_many_rows_to_compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linkage, "_MOST_STEPS", 20_000)
    assert 1 <= Small(tmp_path, "3", 300).audit(quasi_identifiers=("age", "region")).linkage.targets < 100


@pytest.mark.parametrize(("found", "tried"), [(0, 10), (3, 10), (10, 10), (1, 1000)])
def test_the_interval_is_that_of_clopper_and_pearson(found: int, tried: int) -> None:
    """Its ends are where as many or more, and as few or fewer, have a chance of 2.5 %."""
    low, high = exact_interval(found, tried)
    assert low == 0 if found == 0 else binom.sf(found - 1, tried, low) == pytest.approx(0.025)
    assert high == 1 if found == tried else binom.cdf(found, tried, high) == pytest.approx(0.025)


def test_bounds_by_hand() -> None:
    assert informed_bound(0, 100) == pytest.approx(0.01) and target_only_bound(0, 100) == pytest.approx(0.01)
    assert informed_bound(log(3), 10) == pytest.approx(9 / 18)
    assert target_only_bound(log(3), 10) == pytest.approx(0.3)
    assert informed_bound(400, 10**7) == 1 and target_only_bound(400, 10**7) == 1
