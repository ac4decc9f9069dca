"""Real public files beside the checkout; every count was published with them. Skipped where they are absent."""

from __future__ import annotations

import csv

import numpy as np

from trasgo_lib.data import BoxDomain, CategoryDomain, NumberDomain, refused_report
from trasgo_lib.errors import Reason


def _cells(path, delimiter=",", encoding="utf-8-sig"):
    with path.open(encoding=encoding, newline="") as stream:
        rows = [[cell.strip() for cell in row] for row in csv.reader(stream, delimiter=delimiter) if row]
    return rows[0], list(zip(*rows[1:], strict=True))


def test_b10_adult_has_the_published_numbers_of_missing_values(ingest, column, shared_data):
    path = shared_data / "uci_adult_train.csv"
    names, cells = _cells(path)
    numbers = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
    columns = [
        column(name, "number", NumberDomain("0", "2000000", "10" if name == "fnlwgt" else "2000"), outside="clip")
        if name in numbers
        else column(name, "category", CategoryDomain(sorted(set(values) - {"?"})), missing="code", missing_codes=("?",))
        for name, values in zip(names, cells, strict=True)
    ]
    found = ingest(b"", *columns, path=path)
    missing = {counts.name: counts.missing for counts in found.report.columns if counts.missing}
    assert found.table.rows == 32_561
    assert missing == {"workclass": 1836, "occupation": 1843, "native-country": 583}
    sex = CategoryDomain(sorted(set(cells[names.index("sex")])))
    assert sex.decode(found.codes("sex")).to_pylist() == list(cells[names.index("sex")])


def test_b53_chicago_has_the_published_numbers_of_missing_points(ingest, column, shared_data):
    path = shared_data / "chicago_taxi_trips.csv"
    names, cells = _cells(path)
    box = BoxDomain(box=["41.6", "-87.95", "42.1", "-87.5"], crs="EPSG:3435", step_m="500")
    ends = ("pickup", "dropoff")
    points = [
        column(end, "point", box, sources=(f"{end}_latitude", f"{end}_longitude"), missing="code") for end in ends
    ]
    used = {source for point in points for source in point.sources}
    others = [column(name, "text", role="drop") for name in names if name not in used]
    found = ingest(b"", *points, *others, path=path)
    assert found.table.rows == 15_002
    assert {end: found.report.column(end).missing for end in ends} == {"pickup": 2, "dropoff": 483}
    for end in ends:
        codes = found.codes(end)
        here = np.array([cell != "" for cell in cells[names.index(f"{end}_latitude")]])
        assert (codes == box.size).tolist() == (~here).tolist()
        latitude, longitude = box.decode(codes[here])
        for decoded, part in ((latitude, "latitude"), (longitude, "longitude")):
            raw = np.array([float(cell) for cell in cells[names.index(f"{end}_{part}")] if cell])
            assert np.abs(decoded - raw).max() < 0.005


def test_b53_chicago_without_policy_is_refused_with_the_same_counts(ingest, column, shared_data):
    path = shared_data / "chicago_taxi_trips.csv"
    names, _ = _cells(path)
    box = BoxDomain(box=["41.6", "-87.95", "42.1", "-87.5"], crs="EPSG:3435", step_m="500")
    ends = ("pickup", "dropoff")
    points = [column(end, "point", box, sources=(f"{end}_latitude", f"{end}_longitude")) for end in ends]
    used = {source for point in points for source in point.sources}
    others = [column(name, "text", role="drop") for name in names if name not in used]
    report = refused_report(ingest.refused(b"", *points, *others, path=path))
    assert [(fault["reason"], fault["where"], fault["rows"]) for fault in report["faults"]] == [
        ("null_value", "pickup", 2),
        ("null_value", "dropoff", 483),
    ]


def test_b13_nsfg_codes_are_missing_and_never_weights(ingest, column, shared_data):
    path = shared_data / "nsfg2002_pregnancies.csv"
    names, cells = _cells(path)
    coded = {"birthwgt_lb": 59, "birthwgt_oz": 48, "hpagelb": 114, "gestasun_w": 147}
    columns = [
        column(
            name, "number", NumberDomain("0", "50"), outside="clip", missing="code", missing_codes=("97", "98", "99")
        )
        if name in coded
        else column(name, "text", role="public" if name == "caseid" else "drop")
        for name in names
    ]
    found = ingest(b"", *columns, path=path)
    for name, codes in coded.items():
        raw = cells[names.index(name)]
        assert sum(cell in {"97", "98", "99"} for cell in raw) == codes
        assert found.report.column(name).missing == codes + sum(cell == "" for cell in raw)
        expected = [51 if cell in {"", "97", "98", "99"} else min(int(cell), 50) for cell in raw]
        assert found.codes(name).tolist() == expected
    assert found.report.column("birthwgt_lb").clipped == 1, "the pregnancy with a weight of 51 pounds"
    assert found.values("caseid") == list(cells[0])


def test_b01_b03_the_household_survey_has_a_mark_and_european_numbers(ingest, column, public, shared_data):
    path = shared_data / "household_survey_semicolon.csv"
    names, cells = _cells(path, ";")
    income = NumberDomain("0", "100000000", "100")
    roof = CategoryDomain([str(code) for code in range(1, 10)], output="integer")
    special = {
        "income": column("income", "number", income, outside="clip"),
        "roof": column("roof", "category", roof),
        "household_weights": column("household_weights", "number", NumberDomain("0", "100", "0.5"), outside="clip"),
    }
    columns = [special.get(name, public(name)) for name in names]
    found = ingest(b"", *columns, path=path, delimiter=";", decimal=",")
    assert found.table.rows == 4580
    assert found.report.bom_dropped
    raw = [float(cell.replace(",", ".")) for cell in cells[names.index("income")]]
    assert np.abs(income.decode(found.codes("income")) - np.clip(raw, 0, 1e8)).max() <= 50
    assert roof.decode(found.codes("roof")).tolist() == [int(cell) for cell in cells[names.index("roof")]]
    assert found.values("sampling_weight") == list(cells[names.index("sampling_weight")])
    faults = ingest.faults(b"", *columns, path=path, delimiter=";")
    assert faults[Reason.WRONG_TYPE, "income"].rows == 4580


def test_the_current_population_survey_reads_whole(ingest, column, shared_data):
    path = shared_data / "cps1988.csv"
    region = CategoryDomain(["northeast", "midwest", "south", "west"])
    yes = CategoryDomain(["yes", "no"])
    found = ingest(
        b"",
        column("wage", "number", NumberDomain("0", "2000", "10"), outside="clip"),
        column("education", "number", NumberDomain("0", "18")),
        column("experience", "number", NumberDomain("-4", "63")),
        column("ethnicity", "category", CategoryDomain(["cauc", "afam"])),
        column("smsa", "category", yes),
        column("region", "category", region),
        column("parttime", "category", yes),
        path=path,
        row_order="shuffle",
    )
    _, cells = _cells(path)
    assert found.table.rows == 28_155
    assert found.report.column("wage").clipped == sum(float(wage) > 2000 for wage in cells[0])
    counted = np.bincount(found.codes("region"), minlength=4).tolist()
    assert counted == [cells[5].count(label) for label in region.codes]
