"""Measuring codes round after round: exact, independent of batches and order, and nothing read twice without need."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, NumberDomain
from trasgo_lib.errors import ConfigError, InputContractError, Reason
from trasgo_lib.utility import LossColumn, correlation_loss, divergence, measure
from trasgo_lib.utility.points import CellsGrid, Displacement, point_grid

METHODS = ["pearson", "spearman", "kendall"]
ROWS = 2000
BOX = BoxDomain(["41.6", "-87.9", "42.1", "-87.5"], "EPSG:3435", "500")
COLUMNS = (
    LossColumn("wage", "wage", "number", 201, bins=20),
    LossColumn("age", "age", "number", 60, bins=20),
    LossColumn("grade", "grade", "ordered", 5),
    LossColumn("region", "region", "label", 4),
    LossColumn("smsa", "smsa", "label", 2),
    LossColumn("pickup", "pickup", "point", BOX.size, grid=point_grid(BOX)),
)


def _source(seed):
    return np.random.Generator(np.random.PCG64(seed))


def _table(seed=1, missing=0.0):
    """Dependent codes; the highest code of a column means missing."""
    source = _source(seed)
    base = source.random(ROWS)
    table = {}
    for column in COLUMNS:
        codes = np.clip((0.7 * base + 0.3 * source.random(ROWS)) * column.size, 0, column.size - 1)
        codes = np.where(source.random(ROWS) < missing, column.size, codes)
        table[column.unit] = codes.astype(np.int32)
    return table


def _noised(table, seed=2, share=0.5):
    source = _source(seed)
    return {
        column.unit: np.where(
            source.random(ROWS) < share, source.integers(0, column.size, ROWS), table[column.unit]
        ).astype(np.int32)
        for column in COLUMNS
    }


class Reader:
    """Batches of a table that remember which units were read."""

    def __init__(self, table, rows=700):
        self.table, self.rows, self.read = table, rows, []

    def codes(self):
        return {unit: self._open(unit) for unit in self.table}

    def _open(self, unit):
        def batches():
            self.read.append(unit)
            for start in range(0, len(self.table[unit]), self.rows):
                yield self.table[unit][start : start + self.rows]

        return batches


def _measure(original, released, rows=700, **options):
    return measure(Reader(original, rows).codes(), Reader(released, rows).codes(), COLUMNS, rows=ROWS, **options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_agrees_with_the_public_functions(method, missing):
    original, released = _table(missing=missing), _noised(_table(missing=missing))
    losses = _measure(original, released, method=method).losses
    frames = [
        pd.DataFrame(
            {
                column.name: pd.Series(table[column.unit], dtype="Int64").where(table[column.unit] < column.size)
                for column in COLUMNS[:-1]
            }
        )
        for table in (original, released)
    ]
    expected = correlation_loss(*frames, method=method)
    assert losses.correlation_loss == pytest.approx(expected.percent, abs=1e-9)
    for column in COLUMNS[:-1]:
        found = losses.column(column.name)
        assert found.correlation_loss == pytest.approx(expected.per_column[column.name].percent, abs=1e-9)
        if column.kind == "number":
            domain = NumberDomain("0", str(column.size - 1))
            spread = divergence(*(frame[column.name] for frame in frames), domain, bins=20)
        else:
            spread = divergence(*(frame[column.name] for frame in frames))
        assert (found.tvd, found.js, found.kl) == pytest.approx((spread.tvd, spread.js, spread.kl), abs=1e-12)


def test_labels_are_also_measured_by_association():
    original, released = _table(), _noised(_table())
    losses = _measure(original, released).losses
    labels = {"region", "smsa"}
    assert {column.name for column in losses.columns if column.association_loss is not None} == labels
    turned = {"region": np.array([2, 0, 3, 1, 4], dtype=np.int32)}
    renamed = [{**table, "region": turned["region"][table["region"]]} for table in (original, released)]
    again = _measure(*renamed).losses
    assert again.column("region").association_loss == pytest.approx(losses.column("region").association_loss)
    assert again.column("region").correlation_loss != pytest.approx(losses.column("region").correlation_loss)


@pytest.mark.parametrize("method", METHODS)
def test_batches_and_row_order_change_nothing_to_the_last_bit(method):
    original, released = _table(missing=0.05), _noised(_table(missing=0.05))
    expected = _measure(original, released, method=method).losses
    order = _source(3).permutation(ROWS)
    shuffled = [{unit: codes[order] for unit, codes in table.items()} for table in (original, released)]
    for rows in (61, 999, ROWS):
        assert _measure(original, released, rows, method=method).losses == expected
    assert _measure(*shuffled, 137, method=method).losses == expected


@pytest.mark.parametrize("method", METHODS)
def test_a_round_counts_again_only_what_was_redrawn(method):
    original = _table()
    first, second = _noised(original, 2), _noised(original, 3, share=0.1)
    attempts = dict.fromkeys(original, 1)
    before = _measure(original, first, method=method, attempts=attempts)
    mixed = {**first, "wage": second["wage"]}
    source, reader = Reader(original), Reader(mixed)
    after = measure(
        source.codes(),
        reader.codes(),
        COLUMNS,
        method=method,
        rows=ROWS,
        attempts={**attempts, "wage": 2},
        before=before,
    )
    assert after.losses == _measure(original, mixed, method=method).losses
    assert source.read == []
    assert sorted(reader.read) == sorted(set(original) - {"pickup"})  # each once; the points were not redrawn
    assert after.original is before.original
    for name in ("age", "region", "pickup"):
        assert after.released.histograms[name] is before.released.histograms[name]
    assert after.released.pairs["age", "grade"] is before.released.pairs["age", "grade"]
    assert after.losses.column("wage").tvd < before.losses.column("wage").tvd


def test_a_redrawn_point_is_read_alone_with_its_original():
    original = _table()
    first, second = _noised(original, 2), _noised(original, 3, share=0.1)
    before = _measure(original, first, attempts=dict.fromkeys(original, 1))
    mixed = {**first, "pickup": second["pickup"]}
    source, reader = Reader(original), Reader(mixed)
    after = measure(
        source.codes(),
        reader.codes(),
        COLUMNS,
        rows=ROWS,
        attempts={**dict.fromkeys(original, 1), "pickup": 2},
        before=before,
    )
    assert (source.read, reader.read) == (["pickup"], ["pickup"])
    assert after.losses == _measure(original, mixed).losses
    assert after.losses.column("pickup").displacement_m < before.losses.column("pickup").displacement_m


def test_a_round_without_a_new_draw_reads_nothing():
    original, released = _table(), _noised(_table())
    before = _measure(original, released, attempts=dict.fromkeys(original, 1))
    reader = Reader(released)
    after = measure(
        reader.codes(), reader.codes(), COLUMNS, rows=ROWS, attempts=dict.fromkeys(original, 1), before=before
    )
    assert reader.read == []
    assert after.losses == before.losses


def test_points_have_a_grid_and_a_displacement_but_no_correlation():
    original, released = _table(missing=0.1), _noised(_table(missing=0.1))
    losses = _measure(original, released).losses
    point = losses.column("pickup")
    assert (point.correlation_loss, point.reliable, point.reason) == (None, False, "points are not correlated")
    both = (original["pickup"] < BOX.size) & (released["pickup"] < BOX.size)
    metres = BOX.displacement_m(original["pickup"][both], released["pickup"][both])
    assert point.displacement_m == pytest.approx(metres.mean(), abs=0.001)
    blocks = point_grid(BOX)
    assert blocks.size <= 400
    counts = [np.bincount(blocks.cells(table["pickup"]), minlength=blocks.size + 1) for table in (original, released)]
    assert point.tvd == pytest.approx(np.abs(counts[0] - counts[1]).sum() / ROWS / 2, abs=1e-12)
    assert losses.column("wage").displacement_m is None


def test_the_grid_of_a_box_cuts_it_into_equal_blocks():
    grid = point_grid(BOX)
    cells = grid.cells(np.arange(BOX.size + 1, dtype=np.int32))
    assert cells[-1] == grid.size == 400
    table = cells[:-1].reshape(BOX.rows, BOX.columns)
    assert (np.diff(table, axis=1) >= 0).all()
    assert np.unique(np.bincount(cells[:-1])).max() <= math.ceil(BOX.rows / 20) * math.ceil(BOX.columns / 20)
    small = BoxDomain(["41.60", "-87.62", "41.61", "-87.60"], "EPSG:3435", "500")
    assert point_grid(small).cells(np.arange(small.size, dtype=np.int32)).tolist() == list(range(small.size))


def test_the_grid_of_declared_cells():
    cells = ["872664c12ffffff", "872664c16ffffff", "872664d86ffffff", "872664d9affffff"]
    domain = CellsDomain(cells)
    grid = point_grid(domain)
    assert isinstance(grid, CellsGrid)
    assert 1 <= grid.size <= 4
    places = grid.cells(np.arange(5, dtype=np.int32))
    assert places[-1] == grid.size
    assert set(places[:-1].tolist()) == set(range(grid.size))
    codes = np.array([0, 1, 4], dtype=np.int32)
    moved = Displacement.of(domain, codes, np.array([0, 2, 1], dtype=np.int32))
    assert moved.rows == 2
    assert moved.mean_m == pytest.approx(domain.distance_m[1, 2] / 2, abs=0.01)
    assert Displacement().mean_m is None


def test_a_grid_needs_points():
    with pytest.raises(ConfigError, match="a box or cells"):
        point_grid(CategoryDomain(["a", "b"]))


def test_constant_columns_and_lost_support():
    original, released = _table(), _noised(_table())
    original["age"][:] = 3
    released["grade"][:] = 2
    losses = _measure(original, released).losses
    assert losses.left_out == ("age",)
    assert losses.column("grade").correlation_loss == 100.0
    assert losses.column("grade").kl is None
    assert losses.column("grade").lost > 0
    assert losses.of_unit("grade", "kl").is_mendable
    unknown = losses.of_unit("age", "correlation_loss")
    assert (unknown.value, unknown.is_mendable) == (None, False)
    assert "left out: age" in unknown.reason
    known = losses.of_unit("wage", "correlation_loss")
    assert known.value == losses.column("wage").correlation_loss
    assert known.is_mendable
    assert losses.of_unit("wage", "tvd").value == losses.column("wage").tvd
    assert losses.of_unit("wage", "js").reason is None


def test_a_unit_of_several_columns_is_as_bad_as_its_worst():
    original, released = _table(), _noised(_table())
    columns = (COLUMNS[0], LossColumn("wage2", "wage", "number", 201, bins=2), COLUMNS[1])
    losses = measure(Reader(original).codes(), Reader(released).codes(), columns, rows=ROWS).losses
    assert losses.of_unit("wage", "tvd").value == max(losses.column(name).tvd for name in ("wage", "wage2"))


def test_unknown_names_are_key_errors():
    losses = _measure(_table(), _noised(_table())).losses
    for call in (
        lambda: losses.column("nobody"),
        lambda: losses.of_unit("nobody", "tvd"),
        lambda: losses.of_unit("wage", "mse"),
    ):
        with pytest.raises(KeyError):
            call()


def test_no_rows_and_one_row():
    for rows in (0, 1):
        table = {unit: codes[:rows] for unit, codes in _table().items()}
        for method in METHODS:
            losses = measure(Reader(table).codes(), Reader(table).codes(), COLUMNS, rows=rows, method=method).losses
            assert losses.correlation_loss is None
            assert losses.reason
            assert losses.column("wage").tvd == (0.0 if rows else None)
            assert losses.of_unit("wage", "tvd").is_mendable == bool(rows)


def test_versions_of_other_lengths_are_refused():
    original, released = _table(), _noised(_table())
    cases = [
        {unit: codes[:500] for unit, codes in released.items()},
        {**released, "age": released["age"][:-1]},
        {**released, "age": released["age"][:700]},
    ]
    for table in cases:
        with pytest.raises(InputContractError) as caught:
            _measure(original, table)
        assert caught.value.reason == Reason.ROW_MISMATCH


def test_a_table_of_other_rows_than_declared_is_refused():
    with pytest.raises(InputContractError, match="required 1999 rows; came 2000"):
        measure(Reader(_table()).codes(), Reader(_table()).codes(), COLUMNS, rows=ROWS - 1)


@pytest.mark.parametrize("unit", ["wage", "pickup"])
@pytest.mark.parametrize("shift", [-1, 1])
def test_codes_outside_their_domain_are_counted(unit, shift):
    released = _noised(_table())
    size = next(column.size for column in COLUMNS if column.unit == unit)
    released[unit][:3] = -1 if shift < 0 else size + 1
    with pytest.raises(InputContractError) as caught:
        _measure(_table(), released)
    assert (caught.value.reason, caught.value.faults[0].rows) == (Reason.OUT_OF_DOMAIN, 3)


def test_large_domains_take_sparse_tables():
    source = _source(5)
    columns = (LossColumn("a", "a", "number", 2**20, bins=20), LossColumn("b", "b", "number", 2**20, bins=20))
    left = source.integers(0, 2**20, 3000).astype(np.int32)
    table = {"a": left, "b": np.clip(left + source.integers(-(2**18), 2**18, 3000), 0, 2**20 - 1).astype(np.int32)}
    released = {**table, "b": source.permutation(table["b"])}
    for method in METHODS:
        found = measure(Reader(table).codes(), Reader(released).codes(), columns, rows=3000, method=method).losses
        frames = [pd.DataFrame(side) for side in (table, released)]
        expected = correlation_loss(*frames, method=method).percent
        assert found.correlation_loss == pytest.approx(expected, abs=1e-9)


def test_losses_are_strict_json_and_statistics_show_nothing():
    measurement = _measure(_table(), _noised(_table()))
    text = json.dumps(measurement.losses.to_json(), allow_nan=False)
    back = json.loads(text)
    assert back["method"] == "pearson"
    assert [column["name"] for column in back["columns"]] == [column.name for column in COLUMNS]
    assert "histograms" not in repr(measurement)
    assert "counts" not in repr(measurement.released)
    assert set(back) == {
        "method",
        "columns",
        "correlation_loss",
        "reliable",
        "reason",
        "left_out",
        "nominal",
        "on_parts",
    }


def test_an_unknown_method():
    with pytest.raises(ConfigError, match="pearson, spearman, kendall"):
        _measure(_table(), _table(), method="cosine")
