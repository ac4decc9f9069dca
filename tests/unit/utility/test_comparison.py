"""Bars, pairs and moved points for the restricted report: the counts of the rows, in few bars, before and after."""

from __future__ import annotations

import numpy as np
import pytest

from trasgo_lib.data import BoxDomain, CellsDomain
from trasgo_lib.utility import comparison_document, measure
from trasgo_lib.utility.comparison import MOST_BARS
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.points import DISTANCE_EDGES_M, Displacement, point_grid

ROWS = 900
BOX = BoxDomain(["41.8", "-87.7", "41.9", "-87.6"], "EPSG:3435", "500")
COLUMNS = (
    LossColumn("wage", "wage", "number", 200, bins=20),
    LossColumn("age", "age", "number", 61, bins=61),
    LossColumn("job", "job", "label", 100),
    LossColumn("sex", "sex", "ordered", 2),
    LossColumn("home", "home", "point", BOX.size, grid=point_grid(BOX)),
)


def _codes(shift: int) -> dict[str, np.ndarray]:
    rows = np.arange(ROWS)
    found = {
        "wage": (rows * rows + shift * 7) % 200,
        "age": (rows + shift) % 61,
        "job": np.minimum((rows % 130) // (1 + rows % 3), 99),
        "sex": (rows * 7 + shift) // 3 % 3,  # code 2 is missing
        "home": (rows * 5 + shift) % BOX.size,
    }
    return {name: codes.astype(np.int32) for name, codes in found.items()}


@pytest.fixture(scope="module")
def document():  # type: ignore[no-untyped-def]
    ours, theirs = _codes(0), _codes(3)

    def readers(codes):  # type: ignore[no-untyped-def]
        return {name: (lambda array=array: iter([array[:500], array[500:]])) for name, array in codes.items()}

    return comparison_document(measure(readers(ours), readers(theirs), COLUMNS, rows=ROWS), COLUMNS)


def test_every_row_is_in_one_bar_or_missing(document) -> None:  # type: ignore[no-untyped-def]
    assert document["rows"] == ROWS and document["method"] == "pearson"
    for column in document["columns"]:
        assert len(column["before"]) == len(column["after"]) == len(column["codes"]) <= MOST_BARS
        for key, missing in zip(("before", "after"), column["missing"], strict=True):
            assert sum(column[key]) + missing == ROWS


def test_numbers_are_cut_into_equal_parts_and_rare_labels_are_put_together(document) -> None:  # type: ignore[no-untyped-def]
    wage, age, job, sex = document["columns"]
    assert wage["codes"] == list(range(0, 200, 10)) and len(age["codes"]) == MOST_BARS
    assert wage["before"] == np.bincount(_codes(0)["wage"] // 10, minlength=20).tolist()
    assert job["codes"][-1] is None and job["codes"][:-1] == sorted(job["codes"][:-1])
    counts = np.bincount(_codes(0)["job"], minlength=100)
    assert job["before"][:-1] == counts[job["codes"][:-1]].tolist()
    assert min(job["before"][:-1]) >= np.delete(counts, job["codes"][:-1]).max()
    assert sex["codes"] == [0, 1] and min(sex["missing"]) > 0


def test_pairs_are_the_coefficients_of_both_sides(document) -> None:  # type: ignore[no-untyped-def]
    pairs = {(pair["left"], pair["right"]): pair for pair in document["pairs"]}
    wanted = np.corrcoef(_codes(3)["wage"], _codes(3)["age"])[0, 1]
    assert pairs["wage", "age"]["after"] == pytest.approx(wanted)
    assert len(pairs) == 6


def test_points_are_counted_by_grid_and_by_distance(document) -> None:  # type: ignore[no-untyped-def]
    (home,) = document["places"]
    assert sum(home["before"]) == sum(home["moved"]) == ROWS
    assert len(home["places"]) == len(home["before"]) - 1 == home["grid_rows"] * home["grid_columns"]
    metres = BOX.displacement_m(_codes(0)["home"], _codes(3)["home"])
    edge = home["edges_m"][len(home["edges_m"]) // 2]
    assert sum(home["moved"][: home["edges_m"].index(edge) + 1]) == int((metres <= edge).sum())
    assert home["mean_m"] == pytest.approx(metres.mean(), rel=1e-5)


def test_distances_of_batches_add_up() -> None:
    ours, theirs = _codes(0)["home"], _codes(3)["home"]
    whole = Displacement.of(BOX, ours, theirs)
    parts = Displacement.of(BOX, ours[:100], theirs[:100]).merge(Displacement.of(BOX, ours[100:], theirs[100:]))
    assert whole == parts and sum(whole.distances) == ROWS
    assert DISTANCE_EDGES_M[0] == 0.0 and list(DISTANCE_EDGES_M) == sorted(DISTANCE_EDGES_M)
    stayed = Displacement.of(BOX, ours, ours)
    assert stayed.distances[0] == ROWS


def test_cells_lie_where_they_are_on_the_map() -> None:
    cells = CellsDomain(["872830828ffffff", "87283082affffff", "872830829ffffff"])
    layout = point_grid(cells).layout
    latitude, longitude = cells.decode(np.arange(cells.size, dtype=np.int32))
    places = point_grid(cells).cells(np.arange(cells.size, dtype=np.int32))
    rows, columns = np.divmod(layout.places[places], layout.columns)
    assert rows[np.argmax(latitude)] == layout.rows - 1 and rows[np.argmin(latitude)] == 0
    assert columns[np.argmax(longitude)] == layout.columns - 1
    assert 0.2 <= layout.aspect <= 5
