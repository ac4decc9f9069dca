"""Losses from released codes against the true ones: fixed keys, exact binomial tests at 1e-4."""

from __future__ import annotations

import json
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.errors import ConfigError, InputContractError
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import LOSS_NAMES, LossColumn, estimate_losses, measure

ROWS = 6000
PUBLIC = Keystream(bytes(32), "estimates")
AGE = NumberDomain(lower="0", upper="12", step="1")
AGE_CODES = CategoryDomain(codes=[str(age) for age in range(13)], ordered=True)
REGION = CategoryDomain(codes=["n", "e", "s", "w"])
SEX = CategoryDomain(codes=["f", "m"])
COLUMNS = (
    LossColumn("age", "age", "number", 13, 5),
    LossColumn("region", "region", "label", 4),
    LossColumn("sex", "sex", "label", 2),
)


def private():
    place = np.arange(ROWS)
    age = 2 + (place * 7) % 5 + (place * 11) % 4 * (place % 3 > 0)
    region = np.clip(age // 3 + (place * 5) % 2 - 1, 0, 3)
    sex = ((age > 5) ^ (place % 4 == 0)).astype(int)
    return {name: codes.astype(np.int32) for name, codes in (("age", age), ("region", region), ("sex", sex))}


def channels_at(epsilon, **age):
    return {
        "age": build_channel("laplace", AGE, epsilon, **age),
        "region": build_channel("kary_randomized_response", REGION, epsilon),
        "sex": build_channel("randomized_response", SEX, epsilon),
    }


def readers(codes, parts=1):
    return {unit: partial(list, np.array_split(values, parts)) for unit, values in codes.items()}


def draw(channels, codes, key):
    return {
        unit: channels[unit].sample(part, Keystream(bytes(32), unit, *(key if isinstance(key, tuple) else (key,))))
        for unit, part in codes.items()
    }


def estimate(released, channels, columns=COLUMNS, **extra):
    extra = {"method": "pearson", "rows": ROWS, "stream": PUBLIC, **extra}
    return estimate_losses(released, columns, channels, **extra)


@pytest.mark.parametrize("epsilon", ["1", "4", "8"])
def test_intervals_cover_the_loss_of_this_release(epsilon):
    codes, channels, keys = private(), channels_at(epsilon), 40
    hits = {}
    for key in range(keys):
        released = draw(channels, codes, key)
        found = estimate(readers(released), channels)
        true = measure(readers(codes), readers(released), COLUMNS, rows=ROWS).losses
        for column in COLUMNS:
            for loss in LOSS_NAMES:
                value, truth = found.column(column.name).value(loss), true.column(column.name).value(loss).value
                if value.value is not None and truth is not None:
                    hits.setdefault((column.name, loss), []).append(value.covers(truth))
    full = {cell: sum(found) for cell, found in hits.items() if len(found) == keys}
    assert ("region", "tvd") in full and ("sex", "kl") in full
    assert ("age", "correlation_loss") in full or epsilon != "8"
    for cell, covered in full.items():
        assert binomtest(covered, keys, 0.95).pvalue > 1e-4, (cell, covered)


def test_estimates_are_the_same_for_the_same_release_whatever_the_batches():
    channels = channels_at("4")
    released = draw(channels, private(), 0)
    once, again, split = (estimate(readers(released, parts), channels) for parts in (1, 1, 7))
    assert once == again
    for column in COLUMNS:
        for loss in LOSS_NAMES:
            ours, theirs = once.column(column.name).value(loss), split.column(column.name).value(loss)
            assert ours.reason == theirs.reason
            if ours.value is not None:
                assert (ours.value, ours.high) == pytest.approx((theirs.value, theirs.high), rel=1e-9)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_estimates_agree_to_the_last_bit_whatever_the_batches(monkeypatch, method):
    """Else a loss at its ceiling could meet it or not, as the batches are cut, and the loop would draw otherwise."""
    monkeypatch.setattr("trasgo_lib.utility.released_moments._CHUNK_ROWS", 512)
    monkeypatch.setattr("trasgo_lib.utility.released_moments.MOST_KEPT_ROWS", 700)
    monkeypatch.setattr("trasgo_lib.utility.released_ranks.MOST_KEPT_ROWS", 700)
    channels = {**channels_at("8"), "age": build_channel("kary_randomized_response", AGE_CODES, "8")}
    released = draw(channels, private(), 0)
    whole = estimate(readers(released), channels, method=method)
    assert whole.correlation_loss.value is not None
    for parts in (2, 7, 11, 12, 600, ROWS):
        assert estimate(readers(released, parts), channels, method=method) == whole, parts


def test_rows_kept_for_standard_errors_hold_on_to_no_batch():
    """A view of a few rows would keep each batch in memory."""
    channels = channels_at("8")
    released = draw(channels, private(), 0)
    alive = []

    def read(codes):
        for part in np.array_split(codes, 20):
            fresh = part.copy()
            alive.append(weakref.ref(fresh))
            assert sum(held() is not None for held in alive) <= 3 * len(COLUMNS)
            yield fresh

    estimate({unit: partial(read, codes) for unit, codes in released.items()}, channels)


def test_standard_errors_from_some_of_the_rows_are_nearly_those_of_all(monkeypatch):
    channels = channels_at("8")
    released = draw(channels, private(), 6)
    whole = estimate(readers(released), channels).correlation_loss
    monkeypatch.setattr("trasgo_lib.utility.released_moments.MOST_KEPT_ROWS", 2000)
    some, split = (estimate(readers(released, parts), channels).correlation_loss for parts in (1, 7))
    assert some.high == pytest.approx(split.high, rel=1e-9)
    assert some.standard_error == pytest.approx(whole.standard_error, rel=0.15)
    assert some.standard_error != whole.standard_error


def test_nothing_is_claimed_where_the_noise_hides_it():
    channels = channels_at("0.25")
    found = estimate(readers(draw(channels, private(), 1)), channels)
    assert found.correlation_loss.value is None
    assert found.column("age").tvd.reason == "the noise at this level hides the distribution"
    assert found.of_unit("age", "tvd").high is None
    json.dumps(found.to_json(), allow_nan=False)


def test_missing_values_are_a_bin_and_are_left_out_of_correlations():
    codes = private()
    codes["age"][::10] = 13
    channels = channels_at("8", missing=True)
    released = draw(channels, codes, 2)
    found = estimate(readers(released), channels)
    true = measure(readers(codes), readers(released), COLUMNS, rows=ROWS).losses
    assert found.column("age").correlation_loss.value == pytest.approx(true.column("age").correlation_loss, abs=5)
    assert found.column("age").tvd.value == pytest.approx(true.column("age").tvd, abs=0.02)


def test_of_unit_is_the_worst_and_unknown_names_are_refused():
    channels = channels_at("8")
    found = estimate(readers(draw(channels, private(), 3)), channels)
    assert found.of_unit("region", "tvd") == found.column("region").tvd
    for ask in (lambda: found.of_unit("nobody", "tvd"), lambda: found.column("nobody")):
        with pytest.raises(KeyError):
            ask()


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_rank_intervals_cover_the_loss_of_this_release(method):
    codes, keys = private(), 30
    columns = (LossColumn("age", "age", "ordered", 13), *COLUMNS[1:])
    channels = {**channels_at("4"), "age": build_channel("kary_randomized_response", AGE_CODES, "4")}
    hits = dict.fromkeys((column.name for column in columns), 0)
    for key in range(keys):
        released = draw(channels, codes, ("ranks", key))
        found = estimate(readers(released, 3), channels, columns, method=method)
        true = measure(readers(codes), readers(released), columns, method=method, rows=ROWS).losses
        for name in hits:
            value = found.column(name).correlation_loss
            hits[name] += value.covers(true.column(name).correlation_loss)
            assert value.value == pytest.approx(true.column(name).correlation_loss, abs=12)
    for name, covered in hits.items():
        assert binomtest(covered, keys, 0.95).pvalue > 1e-4, (name, covered)


def test_rank_correlations_are_withheld_where_ranks_are_hidden():
    codes = private()
    for channels, words in (
        (channels_at("2"), "hides the ranks"),
        ({**channels_at("2"), "age": build_channel("binned_randomized_response", AGE, "2", bins=4)}, "apart"),
    ):
        found = estimate(readers(draw(channels, codes, 4)), channels, method="kendall")
        assert words in found.correlation_loss.reason
        assert found.column("sex").tvd.value is not None
    with pytest.raises(ConfigError):
        estimate(readers(codes), channels, method="nothing")


def test_correlations_are_withheld_where_bins_hide_them(monkeypatch):
    codes = private()
    channels = {**channels_at("6"), "age": build_channel("binned_randomized_response", AGE, "6", bins=4)}
    released = draw(channels, codes, 7)
    assert "one bin" in estimate(readers(released), channels).correlation_loss.reason
    assert "apart" in estimate(readers(released), channels).column("age").tvd.reason
    # negative control: without that rule the interval is far off
    monkeypatch.setattr("trasgo_lib.utility.released_moments.MOST_WITHIN", np.inf)
    false = estimate(readers(released), channels).column("age").correlation_loss
    true = measure(readers(codes), readers(released), COLUMNS, rows=ROWS).losses.column("age").correlation_loss
    assert false.high < true / 2


def test_a_lone_column_and_an_empty_bin():
    channels = channels_at("8")
    sex = np.zeros(ROWS, dtype=np.int32)
    found = estimate({"sex": partial(list, [sex])}, channels, columns=COLUMNS[2:])
    assert found.correlation_loss.reason == "no pair of columns that vary together"
    assert "released rows" in found.column("sex").kl.reason


def test_no_rows_give_no_estimates():
    found = estimate(dict.fromkeys(private(), list), channels_at("4"), rows=0)
    assert {found.correlation_loss.reason, found.column("age").tvd.reason} == {"no rows"}


def test_other_rows_are_refused():
    channels, codes = channels_at("4"), private()
    with pytest.raises(InputContractError):
        estimate(readers(codes), channels, rows=ROWS - 1)
    uneven = {**readers(codes), "sex": partial(list, [codes["sex"][:10], codes["sex"][10:]])}
    with pytest.raises(InputContractError):
        estimate(uneven, channels)


def test_the_false_certainty_of_a_released_table_as_its_own_original_is_found():
    """Negative control: a plug-in that takes released codes for the original always says zero."""
    channels = channels_at("1")
    found = estimate(readers(draw(channels, private(), 5)), channels)
    assert not found.column("sex").tvd.covers(0.0)


@pytest.mark.long
def test_coverage_on_the_files_of_the_benchmark():
    from importlib.util import module_from_spec, spec_from_file_location

    place = Path(__file__).resolve().parents[2] / "benchmarks" / "interval_coverage.py"
    spec = spec_from_file_location("coverage_benchmark", place)
    bench = module_from_spec(spec)
    spec.loader.exec_module(bench)
    for name, path in bench.FILES.items():
        if not path.exists():
            continue
        for epsilon in ("1", "4"):
            for cell, pairs in bench.cells(name, path, epsilon, 100, "long test").items():
                given, covered, *_ = bench.summary(pairs)
                if given == 100:
                    assert binomtest(covered, given, 0.95).pvalue > 1e-4, (name, epsilon, cell, covered)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "8"])
def test_of_a_few_rows_no_loss_is_more_than_a_loss_can_be(rows, epsilon):
    """Counts of one row have no spread of their own, so intervals are all bootstrap: a TVD of up to 1.5 was stated."""
    channels = channels_at(epsilon)
    codes = {
        name: channel.sample(np.zeros(rows, dtype=np.int32), Keystream(bytes(32), "few", name), 0)
        for name, channel in channels.items()
    }
    found = estimate_losses(readers(codes), COLUMNS, channels, method="pearson", rows=rows, stream=PUBLIC)
    for column in found.columns:
        for loss, most in (("tvd", 1.0), ("js", float(np.log(2))), ("kl", np.inf)):
            estimate = column.value(loss)
            if estimate.value is not None:
                assert 0 <= estimate.low <= estimate.value <= estimate.high <= most


def test_divergences_that_nobody_asks_for_are_left_out_and_change_nothing():
    channels, codes = channels_at("2"), private()
    released = draw(channels, codes, "asked")
    whole = estimate(readers(released), channels)
    part = estimate(readers(released), channels, divergences={"region"})
    assert part.column("region") == whole.column("region")
    assert part.column("age").correlation_loss == whole.column("age").correlation_loss
    assert {part.column("age").value(loss).reason for loss in ("tvd", "js", "kl")} == {"not asked for"}
