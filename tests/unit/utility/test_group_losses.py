"""Losses of the columns of a group: exact ones by column, estimated ones through the margins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain, ProductPart
from trasgo_lib.errors import InputContractError
from trasgo_lib.mechanisms import build_channel, kept_share
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import LossColumn, estimate_losses, measure
from trasgo_lib.utility.released_correlation import code_powers
from trasgo_lib.utility.released_groups import correlated_groups
from trasgo_lib.utility.released_moments import MomentSums

DOMAIN = ProductDomain(
    [ProductPart("sex", CategoryDomain(["f", "m"])), ProductPart("age", NumberDomain("0", "9"), 5, True)]
)
PLACES = DOMAIN.decode(np.arange(DOMAIN.size, dtype=np.int32))
COLUMNS = [
    LossColumn("sex", "who", "label", 2, places=PLACES[0], group=DOMAIN),
    LossColumn("age", "who", "number", 10, 5, places=PLACES[1], group=DOMAIN),
]
ROWS = 20_000


def _people() -> np.ndarray:
    row = np.arange(ROWS)
    sex, age = (row % 3 == 0).astype(np.int32), (row * 7 // 3 % 10).astype(np.int32)
    return DOMAIN.encode(sex, np.where(row % 11 == 0, 10, np.minimum(age, 3 + 6 * sex)).astype(np.int32))


def test_exact_losses_are_those_of_separate_columns() -> None:
    people = _people()
    channel = build_channel("kary_randomized_response", DOMAIN, "2")
    released = channel.sample(people, Keystream(bytes(32), "group"))
    found = measure({"who": lambda: [people]}, {"who": lambda: [released]}, COLUMNS, rows=ROWS).losses
    apart = [LossColumn(c.name, c.name, c.kind, c.size, c.bins) for c in COLUMNS]
    ours, theirs = DOMAIN.decode(people), DOMAIN.decode(released)
    wanted = measure(
        {"sex": lambda: [ours[0]], "age": lambda: [ours[1]]},
        {"sex": lambda: [theirs[0]], "age": lambda: [theirs[1]]},
        apart,
        rows=ROWS,
    ).losses
    assert [(c.tvd, c.js, c.kl) for c in found.columns] == [(c.tvd, c.js, c.kl) for c in wanted.columns]
    assert found.correlation_loss == wanted.correlation_loss and found.correlation_loss is not None
    assert found.of_unit("who", "tvd").value == max(c.tvd or 0.0 for c in wanted.columns)


@pytest.mark.parametrize("key", range(3))
def test_estimated_divergences_cover_the_exact_ones(key: int) -> None:
    people = _people()
    channel = build_channel("kary_randomized_response", DOMAIN, "3")
    released = channel.sample(people, Keystream(bytes([key]) * 32, "group"))
    exact = measure({"who": lambda: [people]}, {"who": lambda: [released]}, COLUMNS, rows=ROWS).losses
    found = estimate_losses(
        {"who": lambda: [released]},
        COLUMNS,
        {"who": channel},
        method="pearson",
        rows=ROWS,
        stream=Keystream(bytes(32), "public"),
    )
    assert [(column.name, column.unit) for column in found.columns] == [("sex", "who"), ("age", "who")]
    for column in found.columns:
        tvd, truth = column.tvd, exact.column(column.name).tvd
        assert tvd.low is not None and tvd.high is not None and truth is not None
        # three keys, two columns, 95 % intervals widened by half: a miss is a fault
        slack = 0.5 * (tvd.high - tvd.low)
        assert tvd.low - slack <= truth <= tvd.high + slack


GRADE = CategoryDomain(["1", "2", "3"], ordered=True)
MORE = [*COLUMNS, LossColumn("grade", "grade", "ordered", 3)]


def _more_people() -> dict[str, np.ndarray]:
    people = _people()
    age = PLACES[1][people]
    grade = np.where(age > 9, np.arange(ROWS) % 3, np.clip(age // 3 - 1 + np.arange(ROWS) % 2, 0, 2))
    return {"who": people, "grade": grade.astype(np.int32)}


@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
def test_estimated_correlation_losses_cover_the_exact_ones(method: str) -> None:
    """16 fixed keys; an exact binomial test at 1e-4 a column. Pairs within the group and with another unit."""
    private, keys = _more_people(), 16
    channels = {
        "who": build_channel("kary_randomized_response", DOMAIN, "4"),
        "grade": build_channel("kary_randomized_response", GRADE, "4"),
    }
    original = {unit: (lambda codes=codes: [codes]) for unit, codes in private.items()}
    hits = dict.fromkeys(["sex", "age", "grade", "all"], 0)
    for key in range(keys):
        drawn = {
            unit: channels[unit].sample(codes, Keystream(bytes(32), "losses", unit, key))
            for unit, codes in private.items()
        }
        # in two batches, the first of other size
        released = {unit: (lambda codes=codes: [codes[:7000], codes[7000:]]) for unit, codes in drawn.items()}
        exact = measure(original, released, MORE, method=method, rows=ROWS).losses
        found = estimate_losses(
            released, MORE, channels, method=method, rows=ROWS, stream=Keystream(bytes(32), "public")
        )
        assert found.of_unit("who", "correlation_loss").high == max(c.correlation_loss.high for c in found.columns[:2])
        hits["all"] += found.correlation_loss.covers(exact.correlation_loss)
        for column in found.columns:
            hits[column.name] += column.correlation_loss.covers(exact.column(column.name).correlation_loss)
    for name, covered in hits.items():
        assert binomtest(covered, keys, 0.95).pvalue > 1e-4, (name, covered)


def test_rungs_not_looked_at_follow_from_the_one_looked_at() -> None:
    """Exact but for the noise of 20,000 rows: correlations at another rung from the means at this one."""
    private = _more_people()
    grade = build_channel("kary_randomized_response", GRADE, "6")
    theirs = grade.sample(private["grade"], Keystream(bytes(32), "rungs", "grade"))
    levels = {level: build_channel("kary_randomized_response", DOMAIN, level) for level in ("4", "6")}
    found = {}
    for level, channel in levels.items():
        ours = channel.sample(private["who"], Keystream(bytes(32), "rungs", level))
        channels = {"who": channel, "grade": grade}
        decoders = [code_powers(column, channels[column.unit]) for column in MORE]
        sums = MomentSums(MORE, decoders, ROWS, correlated_groups(MORE, channels))
        sums.take([{"who": ours, "grade": theirs}])
        found[level] = sums.second_moments()
    kept = {level: kept_share(channel) for level, channel in levels.items()}
    same, raised = (found["4"].at("who", kept[level]) for level in ("4", "6"))
    assert same.released == pytest.approx(found["4"].released, abs=1e-12)
    assert same.follows == pytest.approx(found["4"].follows, abs=1e-12)
    # a standard error of 0.01 at most; wrong by a factor of 1.1 without the fresh part
    assert raised.released == pytest.approx(found["6"].released, abs=0.04)
    assert found["4"].at("nobody", 0.5) is None
    assert np.abs(found["4"].released - found["6"].released).max() > 0.08


def test_codes_that_no_group_has_are_refused() -> None:
    with pytest.raises(InputContractError):
        COLUMNS[0].own_codes(np.array([DOMAIN.size], dtype=np.int32))
