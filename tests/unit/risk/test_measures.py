"""Anonymity measures: by hand, against their definitions row by row, and against pyCANON."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from math import exp, floor, inf, log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trasgo_lib.risk import SensitiveMeasures, count_classes, measures, sensitive_measures

ROOT = Path(__file__).resolve().parents[3]
RECORDED = json.loads((ROOT / "tests" / "golden" / "risk" / "pycanon.json").read_text(encoding="utf-8"))
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=40)


def measured(kit: Any, rows: Any, size: int, *, ordered: bool) -> SensitiveMeasures:
    known, sensitive = zip(*rows)
    columns = [kit.column("known", max(known) + 1), kit.column("sensitive", size, ordered=ordered)]
    table = {"known": known, "sensitive": sensitive}
    return sensitive_measures(count_classes(kit.readers(table), columns), size, is_ordered=ordered)


def by_definition(rows: Any, size: int, *, ordered: bool) -> dict[str, Any]:
    """The measures as the papers write them, class by class and value by value."""
    table, groups = Counter(value for _, value in rows), defaultdict(list)
    for key, value in rows:
        groups[key].append(value)
    overall = [table[value] / len(rows) for value in range(size)]
    found: dict[str, Any] = defaultdict(list)
    for values in groups.values():
        counts = Counter(values)
        shares = [counts[value] / len(values) for value in range(size)]
        found["alpha"].append(max(shares))
        found["distinct_l"].append(len(counts))
        found["entropy_l"].append(exp(-sum(share * log(share) for share in shares if share)))
        found["gain"] += [(here, there) for here, there in zip(shares, overall) if here > there]
        found["log"] += [abs(log(here / there)) if here else inf for here, there in zip(shares, overall) if there]
        apart = [here - there for here, there in zip(shares, overall)]
        moved = sum(abs(sum(apart[: place + 1])) for place in range(size)) / (size - 1)
        found["t"].append(moved if ordered else sum(map(abs, apart)) / 2)
        found["ranked"].append(sorted(counts.values(), reverse=True))
    least = min(found["distinct_l"])
    beta = max(((here - there) / there for here, there in found["gain"]), default=0.0)
    allowed = all((here - there) / there <= -log(there) for here, there in found["gain"])
    return {
        "alpha": max(found["alpha"]),
        "distinct_l": least,
        "entropy_l": min(found["entropy_l"]),
        "recursive_c": None if least == 1 else max(ranked[0] / sum(ranked[least - 1 :]) for ranked in found["ranked"]),
        "basic_beta": beta,
        "enhanced_beta": beta if allowed else None,
        "t": max(found["t"]),
        "delta": None if inf in found["log"] else max(found["log"]),
        "delta_present": max(number for number in found["log"] if number < inf),
    }


@given(rows=ROWS, ordered=st.booleans(), together=st.sampled_from([1, 4, 2**20]))
def test_measures_are_those_of_the_definitions(kit: Any, rows: Any, ordered: bool, together: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "_PART_ENTRIES", together)
        found, wanted = measured(kit, rows, 6, ordered=ordered), by_definition(rows, 6, ordered=ordered)
    for name, value in wanted.items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-12), name


def test_two_classes_by_hand(kit: Any) -> None:
    """Class 0: a a b; class 1: b c c c. In the table a, b, c have 2/7, 2/7, 3/7."""
    rows = [(0, 0), (0, 0), (0, 1), (1, 1), (1, 2), (1, 2), (1, 2)]
    found = measured(kit, rows, 3, ordered=True)
    assert (found.alpha, found.distinct_l) == (3 / 4, 2)
    assert found.entropy_l == pytest.approx(exp(-(log(1 / 4) / 4 + 3 * log(3 / 4) / 4)))
    assert found.recursive_c == 3.0  # 3 of c over 1 of b; in class 0 it is 2 of a over 1 of b
    assert found.basic_beta == pytest.approx((2 / 3) / (2 / 7) - 1)
    assert found.enhanced_beta is None  # a gains 4/3, and -ln(2/7) is 1.25
    assert found.t == pytest.approx((8 / 21 + 9 / 21) / 2)  # cumulated: 2/3 - 2/7, then 1 - 4/7; class 1 is nearer
    assert found.delta is None and found.delta_present == pytest.approx(log((2 / 3) / (2 / 7)))


def test_a_class_like_the_table_tells_nothing(kit: Any) -> None:
    found = measured(kit, [(key, value) for key in (0, 1) for value in (0, 1, 1)], 2, ordered=False)
    assert (found.basic_beta, found.enhanced_beta, found.t, found.delta) == (0, 0, 0, 0)
    constant = measured(kit, [(0, 0), (1, 0)], 1, ordered=True)
    assert (constant.alpha, constant.t, constant.entropy_l) == (1, 0, 1)


def _example(recorded: dict[str, Any]) -> tuple[list[tuple[int, int]], int]:
    """Rows of a recorded example; classes and values that occur are numbered as they sort."""
    if "rows" in recorded:
        keys = [(row[0], row[1]) for row in recorded["rows"]]
        values = [row[2] for row in recorded["rows"]]
    else:
        with (ROOT / "configs" / "demo" / "cps1988.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        keys = [tuple(row[name] for name in recorded["known"]) for row in rows]  # type: ignore[misc]
        values = [int(row[recorded["sensitive"]]) for row in rows]
    of_key = {key: place for place, key in enumerate(sorted(set(keys)))}
    of_value = {value: place for place, value in enumerate(sorted(set(values)))}
    return [(of_key[key], of_value[value]) for key, value in zip(keys, values)], len(of_value)


@pytest.mark.parametrize("recorded", RECORDED["examples"], ids=lambda one: f"{one['name']}, {one['kind']}")
def test_values_agree_with_pycanon(kit: Any, recorded: dict[str, Any]) -> None:
    """pyCANON 1.3.6, recorded by tests/benchmarks/pycanon_values.py; where it defines otherwise, its value follows."""
    theirs, (rows, size) = recorded["values"], _example(recorded)
    ours = measured(kit, rows, size, ordered=recorded["kind"] == "number")
    assert min(Counter(key for key, _ in rows).values()) == theirs["k"]
    for name, value in (
        ("alpha", ours.alpha),
        ("distinct_l", ours.distinct_l),
        ("basic_beta", ours.basic_beta),
        ("t", ours.t),
        ("delta", ours.delta_present),  # theirs leaves out values that a class lacks
    ):
        assert value == pytest.approx(theirs[name], rel=1e-12), name
    # theirs is rounded down, after a power of e that rounds: where both values of a class are even, it says 1 and not 2
    assert int(exp(1) ** log(ours.entropy_l)) == theirs["entropy_l"]
    shares = [count / len(rows) for count in Counter(value for _, value in rows).values()]
    # theirs gives the larger of beta and the allowance of the rarest value, the paper a limit on every value
    assert max(min(ours.basic_beta, -log(share)) for share in shares) == pytest.approx(theirs["enhanced_beta"])
    assert ours.enhanced_beta is None or ours.enhanced_beta == pytest.approx(theirs["enhanced_beta"])
    assert _ascending_c(rows, ours.distinct_l) == theirs["recursive_c"]


def _ascending_c(rows: list[tuple[int, int]], least: int) -> float | None:
    """c with counts sorted from the rarest on, as pyCANON does; the paper sorts from the most frequent on."""
    if least == 1:
        return None
    groups: dict[int, Counter[int]] = defaultdict(Counter)
    for key, value in rows:
        groups[key][value] += 1
    ranked = [sorted(counts.values()) for counts in groups.values()]
    return max(floor(counts[0] / sum(counts[least - 1 :]) + 1) for counts in ranked)


def test_the_recorded_values_are_of_the_named_version_and_cover_both_kinds() -> None:
    assert RECORDED["pycanon"] == "1.3.6"
    assert {one["kind"] for one in RECORDED["examples"]} == {"number", "label"}
    assert any(one["values"]["recursive_c"] is not None for one in RECORDED["examples"])
