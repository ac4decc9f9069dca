"""The public correlation loss: public fault reports B57, B62, B66, T06 to T09, own golden numbers."""

import itertools
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from trasgo_lib.errors import ConfigError, InputContractError, Reason
from trasgo_lib.utility import correlation_loss

METHODS = ["pearson", "spearman", "kendall"]


def _source(seed):
    return np.random.Generator(np.random.PCG64(seed))


def _related(rows=600, seed=1):
    """Three related numbers and a noisy copy of them."""
    source = _source(seed)
    base = source.standard_normal(rows)
    frame = pd.DataFrame({name: np.round(base + source.standard_normal(rows), 2) for name in "abc"})
    return frame, frame + np.round(2 * source.standard_normal((rows, 3)), 2)


def _by_definition(original, released, method):
    """The definition, through pandas."""
    before, after = (frame.corr(method=method).to_numpy() for frame in (original, released))
    off = ~np.eye(len(before), dtype=bool)
    return 100 * np.mean(np.abs(before - after)[off]) / np.mean(np.abs(before)[off])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gaps", [False, True])
def test_agrees_with_the_definition_also_with_nulls(method, gaps):
    original, released = _related()
    if gaps:
        for frame, seed in ((original, 7), (released, 8)):
            frame[_source(seed).random(frame.shape) < 0.2] = np.nan
    found = correlation_loss(original, released, method=method)
    assert found.percent == pytest.approx(_by_definition(original, released, method), abs=1e-9)
    assert (found.reliable, found.reason, found.left_out, found.method) == (True, None, (), method)
    for name in "abc":
        other = [column for column in "abc" if column != name]
        before, after = (frame.corr(method=method).loc[name, other] for frame in (original, released))
        expected = 100 * (before - after).abs().mean() / before.abs().mean()
        assert found.per_column[name].percent == pytest.approx(expected, abs=1e-9)


def test_golden_numbers():
    """Worked by hand: r(a, b) = 1, r(a, c) = r(b, c) = -0.6; released: 0.8, -1 and -0.8."""
    original = pd.DataFrame({"a": [1, 2, 3, 4], "b": [2, 4, 6, 8], "c": [4, 2, 3, 1.0]})
    original["c"] = [4, 1, 3, 2]
    released = pd.DataFrame({"a": [1, 2, 3, 4], "b": [1, 3, 2, 4], "c": [4, 3, 2, 1]})
    before = {"pearson": 0.4, "spearman": 0.4, "kendall": 1 / 3}
    after = {"pearson": 0.8, "spearman": 0.8, "kendall": 2 / 3}
    for method in METHODS:
        r, s = before[method], after[method]
        shifts = [1 - s, 1 - r, s - r]  # ab, ac, bc
        strength = (1 + r + r) / 3
        found = correlation_loss(original, released, method=method)
        assert found.nominal == pytest.approx(100 * (math.fsum(shifts) / 3) / strength, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_row_order_changes_nothing_to_the_last_bit(method):
    original, released = _related(300)
    original["label"] = np.where(original["a"] > 0.5, "x", np.where(original["b"] > 0, "y", "z"))
    released["label"] = np.where(released["a"] > 0.5, "x", "y")
    order = _source(2).permutation(300)
    assert correlation_loss(original, released, method=method) == correlation_loss(
        original.iloc[order], released.iloc[order], method=method
    )


@pytest.mark.parametrize("method", METHODS)
def test_pandas_and_arrow_agree(method):
    original, released = _related(200)
    tables = [pa.Table.from_pandas(frame) for frame in (original, released)]
    batches = [table.combine_chunks().to_batches()[0] for table in tables]
    expected = correlation_loss(original, released, list("abc"), method=method)
    assert correlation_loss(*tables, list("abc"), method=method) == expected
    assert correlation_loss(*batches, list("abc"), method=method) == expected


def test_identical_frames_lose_nothing():
    original, _ = _related()
    for method in METHODS:
        assert correlation_loss(original, original, method=method).percent == 0


# B57: constant columns


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_column_is_named_and_left_out(method):  # B57
    frame = pd.DataFrame({"a": np.arange(50), "b": 2 * np.arange(50), "c": 1.0})
    found = correlation_loss(frame, frame.assign(c=np.arange(50)), method=method)
    assert (found.percent, found.reliable, found.left_out) == (0.0, True, ("c",))
    assert found.reason == "constant in the original, left out: c"
    assert found.per_column["c"].percent is None
    assert "left out: c" in found.per_column["c"].reason
    assert found.per_column["a"] == found.per_column["b"]
    assert found.per_column["a"].reason is None


@pytest.mark.parametrize("method", METHODS)
def test_a_released_column_that_became_constant_lost_everything(method):  # B57
    frame = pd.DataFrame({"a": np.arange(50), "b": 2 * np.arange(50), "c": 1.0})
    found = correlation_loss(frame, frame.assign(b=7), method=method)
    assert found.percent == 100.0
    assert found.reason == "constant in the original, left out: c; constant in the release, counted as full loss: b"
    assert found.per_column["b"].percent == 100.0
    assert "full loss: b" in found.per_column["b"].reason


def test_a_pair_that_nulls_left_constant_lost_everything():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4, 5, 6], "b": [1.0, 2, 3, 4, 5, 6], "c": [6.0, 5, 4, 3, 2, 1]})
    released = frame.assign(a=[1, 1, 1, 1, 5, 6], b=[1, 2, 3, 4, None, None])
    found = correlation_loss(frame, released)
    assert found.reason == "constant in the release where both are present, counted as full loss: a with b"
    assert found.per_column["c"].reason is None
    assert found.percent > 100 / 3


# B62: frames that do not belong together


def test_unequal_row_counts_are_an_error():  # B62
    frame = pd.DataFrame({"a": range(50), "b": range(50)})
    with pytest.raises(InputContractError, match="50 original and 10 released rows") as caught:
        correlation_loss(frame, frame[:10])
    assert caught.value.reason == Reason.ROW_MISMATCH


# B66: no evidence


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_a_few_rows_give_null_with_a_reason(method, rows):  # B66
    frame = pd.DataFrame({"a": np.arange(rows), "b": np.arange(rows)})
    found = correlation_loss(frame, frame, method=method)
    assert (found.percent, found.reliable) == (None, False)
    assert "fewer than 4" in found.reason if rows > 1 else "no pair" in found.reason


@pytest.mark.parametrize("method", METHODS)
def test_unrelated_columns_give_null_with_a_reason(method):  # B66
    source = _source(12)
    frame = pd.DataFrame({name: source.random(100) for name in "abcd"})
    found = correlation_loss(frame, frame[::-1], method=method)
    assert (found.percent, found.reliable) == (None, False)
    assert found.reason.startswith("unreliable: ")
    assert math.isfinite(found.nominal)
    assert {share.percent for share in found.per_column.values()} == {None}


@pytest.mark.parametrize("method", METHODS)
def test_the_bar_of_the_reliability_rule_is_where_the_design_puts_it(method):
    """One pair of columns; rows are added to the diagonal until the coefficient passes 1.96 standard errors."""
    oracle = {
        "pearson": lambda n: 1 / math.sqrt(n - 3),
        "spearman": lambda n: math.sqrt(1.06 / (n - 3)),
        "kendall": lambda n: math.sqrt((4 * n + 10) / (9 * n * (n - 1))),
    }[method]
    seen = set()
    for extra in range(40):
        left = [0, 0, 1, 1] * 10 + [0, 1] * extra
        right = [0, 1, 0, 1] * 10 + [0, 1] * extra
        frame = pd.DataFrame({"a": left, "b": right})
        strength = abs(frame.corr(method=method).iloc[0, 1])
        found = correlation_loss(frame, frame, method=method)
        assert found.reliable == (strength >= 1.96 * oracle(len(left)))
        seen.add(found.reliable)
    assert seen == {True, False}


def test_four_rows_on_a_line_are_a_correlation():
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "b": [2, 3, 4, 5]})
    assert correlation_loss(frame, frame).percent == 0


def test_exactly_uncorrelated_columns():
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    found = correlation_loss(frame, frame)
    assert (found.percent, found.nominal) == (None, None)
    assert "all zero" in found.reason


def test_a_single_feature_and_empty_columns():  # B66
    frame = pd.DataFrame({"a": np.arange(9), "b": [None] * 9, "c": np.arange(9.0)})
    assert correlation_loss(frame, frame, ["a"]).reason == "no pair of columns that vary together"
    assert correlation_loss(frame, frame, []).percent is None
    found = correlation_loss(frame, frame)
    assert (found.percent, found.left_out) == (0.0, ("b",))


def test_columns_without_a_common_row():
    frame = pd.DataFrame({"a": [1, 2, 3, None, None, None], "b": [None, None, None, 1, 2, 3]})
    assert correlation_loss(frame, frame).reason == "no pair of columns that vary together"


# T06 to T09


def test_numbers_against_texts_are_a_plain_error():  # T06
    number = pd.DataFrame({"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]})
    with pytest.raises(InputContractError, match="number in the original and label in the release"):
        correlation_loss(number, number.assign(a=["1", "2", "3", "4"]))


def test_a_column_of_several_types_is_an_error_without_its_values():  # T06
    frame = pd.DataFrame({"a": [1, "canary-7731", 3, 4], "b": [1, 2, 3, 4]})
    with pytest.raises(InputContractError) as caught:
        correlation_loss(frame, frame)
    assert caught.value.reason == Reason.WRONG_TYPE
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("values", [[b"x"] * 4, [[1]] * 4, [2**70] * 4, [{"k": 1}] * 4])
def test_other_types_are_refused(values):
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "b": range(4)})
    with pytest.raises(InputContractError) as caught:
        correlation_loss(frame, frame)
    assert caught.value.reason == Reason.WRONG_TYPE


def test_features_default_to_all_columns_and_others_are_not_read():
    """T07, T08."""
    original, released = _related()
    everything = correlation_loss(original, released)
    assert everything == correlation_loss(original, released, ["a", "b", "c"])
    spoiled = released.assign(extra=[1, "x"] * 300)
    assert correlation_loss(original, spoiled) == everything
    assert correlation_loss(original.assign(text="y"), spoiled, ["a", "b", "c"]) == everything


def test_missing_and_doubled_columns_are_named():
    original, released = _related()
    with pytest.raises(InputContractError, match="one column of that name in the released frame"):
        correlation_loss(original, released[["a", "b"]])
    doubled = pd.concat([released, released[["a"]]], axis=1)
    with pytest.raises(InputContractError) as caught:
        correlation_loss(original, doubled)
    assert caught.value.reason == Reason.DUPLICATE_COLUMN
    for features in ("abc", ["a", "a"]):
        with pytest.raises(ConfigError, match="different column names"):
            correlation_loss(original, released, features)
    with pytest.raises(ConfigError, match="pearson, spearman, kendall"):
        correlation_loss(original, released, method="cosine")


@pytest.mark.parametrize("method", METHODS)
def test_texts_are_coded_alike_whatever_the_row_order(method):
    """T09: three blocks of labels, two of them merged in the release; the reference library gave 13.4 or 73.2."""
    original = pd.DataFrame({"a": np.arange(90), "b": ["low"] * 30 + ["mid"] * 30 + ["top"] * 30})
    released = original.assign(b=original["b"].replace("low", "mid"))
    expected = correlation_loss(original, released, method=method)
    for seed in range(3):
        order = _source(seed).permutation(90)
        assert correlation_loss(original.iloc[order], released.iloc[order], method=method) == expected
    ordered = correlation_loss(original, released, method=method, category_order={"b": ["low", "mid", "top"]})
    assert ordered.percent == expected.percent  # sorted labels are in that order
    assert (list(expected.association), list(ordered.association)) == (["b"], [])
    turned = correlation_loss(original, released, method=method, category_order={"b": ["mid", "top", "low"]})
    assert turned.percent != expected.percent


def test_association_does_not_depend_on_the_labels_codes():
    source = _source(3)
    group = source.integers(0, 3, 400)
    original = pd.DataFrame({"n": group % 2 + source.random(400), "g": np.array(["x", "y", "z"])[group]})
    renamed = original.assign(g=original["g"].replace({"x": "zz", "z": "aa"}))
    released = original.assign(n=source.permutation(original["n"]))
    plain = correlation_loss(original, released).association["g"]
    other = correlation_loss(renamed, renamed.assign(n=released["n"])).association["g"]
    assert plain.percent == pytest.approx(other.percent, abs=1e-9)
    assert plain.percent > 80
    two = original.assign(h=np.where(group > 0, "p", "q"))
    found = correlation_loss(two, two.assign(h=source.permutation(two["h"])), ["g", "h"]).association
    assert found["g"].percent == pytest.approx(found["h"].percent)
    assert found["g"].percent > 80


def test_labels_that_the_order_does_not_list_are_counted():
    frame = pd.DataFrame({"a": range(4), "b": ["x", "y", "x", "canary"]})
    with pytest.raises(InputContractError) as caught:
        correlation_loss(frame, frame, category_order={"b": ["x", "y"]})
    assert caught.value.faults[0].rows == 1
    assert "canary" not in str(caught.value)
    with pytest.raises(InputContractError, match="category order of another type"):
        correlation_loss(frame, frame, category_order={"a": ["x"]})


def test_integer_codes_can_have_a_declared_order():
    frame = pd.DataFrame({"a": [0, 1, 2, 3] * 5, "b": [10, 30, 20, 40] * 5})
    order = {"b": [10, 30, 20, 40]}
    assert correlation_loss(frame, frame.assign(b=[40, 20, 30, 10] * 5), category_order=order).percent == 200


# other types


def test_booleans_dates_categories_and_decimals():
    source = _source(4)
    day = np.sort(source.integers(0, 500, 300))
    original = pd.DataFrame(
        {
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(day, unit="D"),
            "late": day > 250,
            "month": pd.Categorical((day // 100).astype(str)),
            "whole": pd.array(day, dtype="Int64"),
            "small": day.astype(np.float32) / 3,
        }
    )
    order = {"month": list("01234")}
    assert correlation_loss(original, original, category_order=order).percent == 0
    numbers = pd.DataFrame({"day": day, "late": (day > 250) * 1, "month": day // 100, "whole": day, "small": day / 3})
    other = source.permutation(300)
    released = original.assign(whole=pd.array(day[other], dtype="Int64"))
    for method in METHODS:
        found = correlation_loss(original, released, method=method, category_order=order)
        expected = _by_definition(numbers, numbers.assign(whole=day[other]), method)
        assert found.percent == pytest.approx(expected, abs=1e-6)


def test_infinite_numbers_are_counted():
    frame = pd.DataFrame({"a": [1.0, np.inf, -np.inf, 2.0], "b": range(4)})
    with pytest.raises(InputContractError) as caught:
        correlation_loss(frame, frame)
    assert (caught.value.reason, caught.value.faults[0].rows) == (Reason.NON_FINITE, 2)


@pytest.mark.parametrize(
    "column",
    [
        [2**62 + shift for shift in range(0, 2000, 10)],
        [-(2**63) + shift * 2**56 for shift in range(200)],
        [(shift - 100) * 1.7e306 for shift in range(200)],
        [shift * 5e-324 for shift in range(200)],
        [1e15 + shift / 8 for shift in range(200)],
    ],
    ids=["large offset", "wider than int64", "near the largest float", "denormal", "small steps"],
)
def test_extreme_numbers_on_a_line_correlate_exactly(column):
    frame = pd.DataFrame({"a": column, "b": np.arange(200)})
    down = frame.assign(a=column[::-1])
    for method in METHODS:
        assert correlation_loss(frame, frame, method=method).percent == 0
        assert correlation_loss(frame, down, method=method).percent == 200  # from exactly 1 to exactly -1


def test_unsigned_integers():
    frame = pd.DataFrame({"a": np.arange(200, dtype=np.uint64) + np.uint64(2**63), "b": np.arange(200)})
    assert correlation_loss(frame, frame.assign(b=-frame["b"])).percent == 200


def test_negative_zero_is_zero_and_close_floats_stay_apart():
    frame = pd.DataFrame({"a": [0.0, -0.0, 1.0, 2.0, 1.0 + 2**-52], "b": [0, 0, 1, 3, 2]})
    assert correlation_loss(frame, frame.assign(a=[0, 0, 1, 3, 2.0]), method="spearman").percent == 0
    assert correlation_loss(frame, frame.assign(a=[0, 0, 1, 3, 2.0]), method="kendall").percent == 0


def test_many_distinct_floats_agree_with_scipy():
    source = _source(6)
    left = source.standard_normal(50_000)
    frame = pd.DataFrame({"a": left, "b": 0.3 * left + source.standard_normal(50_000)})
    released = pd.DataFrame({"a": source.permutation(left), "b": frame["b"]})
    for method in METHODS:
        found = correlation_loss(frame, released, method=method)
        assert found.percent == pytest.approx(_by_definition(frame, released, method), abs=1e-9)


def test_results_hold_losses_and_nothing_else():
    original, released = _related(50)
    found = correlation_loss(original, released)
    values = list(itertools.chain.from_iterable((share.percent, share.nominal) for share in found.per_column.values()))
    assert all(isinstance(value, float) for value in values)
    assert str(original["a"].iloc[0]) not in repr(found).replace(str(found.percent), "")
