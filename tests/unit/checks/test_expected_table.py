"""Published types follow from the declaration, and grids hold exactly what a domain can publish."""

from __future__ import annotations

from datetime import date, datetime
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.checks import domain_types, expected_table, expected_unit, grid_of, published_labels
from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, DateDomain, Domain, NumberDomain

BOX = BoxDomain(["41.6", "-87.9", "42.1", "-87.5"], "EPSG:3435", "5000")


@pytest.mark.parametrize(
    ("domain", "types"),
    [
        (NumberDomain("0", "10"), [pa.int64()]),
        (NumberDomain("-1", "1", "0.5"), [pa.float64()]),
        (NumberDomain("0.5", "4.5"), [pa.float64()]),
        (DateDomain("2020-01-01", "2020-12-31"), [pa.date32()]),
        (CategoryDomain(["a", "b"]), [pa.string()]),
        (CategoryDomain(["1", "2"], output="integer"), [pa.int64()]),
        (BOX, [pa.float64(), pa.float64()]),
    ],
)
def test_types_agree_with_what_decoding_gives(domain: Domain, types: list[pa.DataType]) -> None:
    assert list(domain_types(domain)) == types
    decoded = domain.decode(np.zeros(1, dtype=np.int32))
    parts = decoded if isinstance(decoded, tuple) else (decoded,)
    assert [part.type if isinstance(part, pa.Array) else pa.array(part).type for part in parts] == types


def test_an_unknown_domain_has_no_type() -> None:
    with pytest.raises(TypeError, match="SimpleNamespace"):
        domain_types(SimpleNamespace())  # type: ignore[arg-type]


def test_as_many_names_as_decoded_columns() -> None:
    with pytest.raises(ValueError, match="zip"):
        expected_unit("p", ["latitude"], BOX, nullable=False)


def test_a_table_follows_the_plan() -> None:
    unit = SimpleNamespace(name="n", columns=("n",), domain=NumberDomain("0", "100"), missing="code")
    plan = SimpleNamespace(
        columns=(
            SimpleNamespace(name="note", role="public", unit=None, released=("note",)),
            SimpleNamespace(name="person", role="unit", unit=None, released=()),
            SimpleNamespace(name="n", role="noised", unit="n", released=("n",)),
            SimpleNamespace(name="gone", role="drop", unit=None, released=()),
        ),
        units=(unit,),
        config=SimpleNamespace(checks=SimpleNamespace(max_share_at_bounds="0.7")),
    )
    table = expected_table(plan, 5, {"note": pa.float64()})  # type: ignore[arg-type]
    assert table.schema == pa.schema([pa.field("note", pa.float64()), pa.field("n", pa.int64())])
    assert table.rows == 5
    assert table.column("n").max_share_at_bounds == "0.7"


@given(st.integers(-50, 50), st.integers(1, 40), st.sampled_from(["1", "0.1", "0.25", "3"]))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_every_decoded_value_is_on_the_grid_and_neighbours_are_not(lower: int, steps: int, step: str) -> None:
    from decimal import Decimal

    domain = NumberDomain(str(lower), str(Decimal(lower) + steps * Decimal(step)), step)
    grid = grid_of(domain)
    assert grid is not None
    values = domain.values
    assert grid.off_grid((pa.array(values),)) == 0
    between = values.astype(np.float64) + float(step) / 3
    assert grid.off_grid((pa.array(between),)) == len(values)


def test_a_grid_of_points_compares_pairs() -> None:
    grid = grid_of(BOX)
    assert grid is not None
    latitudes, longitudes = BOX.decode(np.arange(BOX.size, dtype=np.int32))
    sound = (pa.array(latitudes), pa.array(longitudes))
    assert grid.off_grid(sound) == 0
    assert grid.off_grid((sound[1], sound[0])) == BOX.size
    assert grid.off_grid((pa.array(np.nextafter(latitudes, 90)), sound[1])) == BOX.size
    half_null = (pa.array([None, *latitudes[1:]]), sound[1])
    assert grid.off_grid(half_null) == 0
    assert grid.bounds(0) == (latitudes.min(), latitudes.max())
    assert grid.bounds(1) == (longitudes.min(), longitudes.max())


def test_cells_have_a_grid() -> None:
    h3 = pytest.importorskip("h3")
    centre = h3.latlng_to_cell(41.8, -87.6, 7)
    domain = CellsDomain(sorted(h3.grid_disk(centre, 1)))
    grid = grid_of(domain)
    assert grid is not None
    latitudes, longitudes = domain.decode(np.arange(domain.size, dtype=np.int32))
    assert grid.off_grid((pa.array(latitudes), pa.array(longitudes))) == 0


def test_no_rows_are_on_every_grid() -> None:
    grid = grid_of(NumberDomain("0", "10"))
    assert grid is not None
    assert grid.off_grid((pa.array([], pa.int64()),)) == 0
    assert grid.at_bounds(pa.array([None, 0, 10, 5], pa.int64())) == (2, 3)


def test_bounds_of_dates_are_moments() -> None:
    grid = grid_of(DateDomain("2020-02-01", "2020-02-29"))
    assert grid is not None
    assert grid.bounds(0) == (datetime(2020, 2, 1), datetime(2020, 2, 29))
    assert grid.off_grid((pa.array([date(2020, 2, 29), date(2020, 3, 1)]),)) == 1


def test_labels_have_no_grid() -> None:
    domain = CategoryDomain(["1", "2"], output="integer")
    assert grid_of(domain) is None
    assert published_labels(domain) == (1, 2)
    assert published_labels(CategoryDomain(["01", "2"])) == ("01", "2")
