"""Data read back with the metadata alone, by the tools of each standard, are the release."""

from __future__ import annotations

import csv
import datetime
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import csvw
import frictionless
import pyarrow.parquet as pq
import pytest
from lxml import etree

PACKAGES = ("made", "awkward")


@pytest.fixture(scope="module", params=PACKAGES)
def package(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def _rows(package: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(package.work / f"data/{package.plan.dataset}.parquet").to_pylist()
    assert len(rows) == 500
    return rows


def _as_csv_tells(row: dict[str, Any], nullable: set[str]) -> dict[str, Any]:
    """What a reader of CSV can know of a row: where nulls may be, an empty text is one."""
    return {name: None if value == "" and name in nullable else value for name, value in row.items()}


def _fields(package: Any) -> list[dict[str, Any]]:
    document = json.loads((package.work / "datapackage.json").read_text(encoding="utf-8"))
    fields: list[dict[str, Any]] = document["resources"][1]["schema"]["fields"]
    return fields


def _nullable(package: Any) -> set[str]:
    return {field["name"] for field in _fields(package) if not field["constraints"].get("required")}


def test_frictionless_finds_nothing_wrong_and_reads_the_rows(package: Any) -> None:
    name = package.plan.dataset
    described = frictionless.Package(str(package.work / "datapackage.json"))
    # the Parquet file needs a reader of its own; its digest and size are checked below
    described.remove_resource(f"{name}-parquet")
    report = described.validate()
    assert report.valid, report.flatten(["rowNumber", "fieldName", "note"])
    assert report.stats["tasks"] == len(described.resources) >= 3
    rows = described.get_resource(f"{name}-csv").read_rows()
    nullable = _nullable(package)
    for found, row in zip(rows, _rows(package), strict=True):
        assert {key: _plain(value) for key, value in found.to_dict().items()} == _as_csv_tells(row, nullable)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: fields["size"]["constraints"].update(enum=[10]),
        lambda fields: fields["day"]["constraints"].update(minimum="2017-01-02"),
        lambda fields: fields["place_latitude"]["constraints"].update(maximum="41.85"),
        lambda fields: fields.pop("note"),
    ],
    ids=["code", "day", "bound", "column"],
)
def test_frictionless_finds_what_is_wrong(awkward: Any, tmp_path: Path, change: Any) -> None:
    """Negative control."""
    document = json.loads((awkward.work / "datapackage.json").read_text(encoding="utf-8"))
    resource = document["resources"][1]
    fields = {field["name"]: field for field in resource["schema"]["fields"]}
    change(fields)
    resource["schema"]["fields"] = list(fields.values())
    (tmp_path / "data").mkdir()
    (tmp_path / resource["path"]).write_bytes((awkward.work / resource["path"]).read_bytes())
    document["resources"] = [resource]
    (tmp_path / "datapackage.json").write_text(json.dumps(document), encoding="utf-8")
    assert not frictionless.Package(str(tmp_path / "datapackage.json")).validate().valid


def test_every_resource_has_the_digest_and_size_of_its_file(package: Any) -> None:
    document = json.loads((package.work / "datapackage.json").read_text(encoding="utf-8"))
    for resource in document["resources"]:
        file = package.package.file(resource["path"])
        assert (resource["hash"], resource["bytes"]) == (f"sha256:{file.sha256}", file.bytes)
    described = {resource["path"] for resource in document["resources"]}
    assert described == {file.key for file in package.package.files if file.key.startswith(("data/", "codelists/"))}


def test_csvw_reads_the_rows_and_ties_codes_to_their_lists(package: Any) -> None:
    group = csvw.TableGroup.from_file(package.work / "csvw.json")
    names = {column.name: column.titles.getfirst() for column in group.tables[0].tableSchema.columns}
    nullable = _nullable(package)
    found = [{names[key]: _date(value) for key, value in row.items()} for row in group.tables[0].iterdicts(strict=True)]
    assert found == [_as_csv_tells(row, nullable) for row in _rows(package)]
    coded = [field["name"] for field in _fields(package) if "enum" in field["constraints"]]
    assert len(group.tables) == 1 + len(coded) == 1 + len(group.tables[0].tableSchema.foreignKeys)
    # not strict: that refuses nulls in a column with codes, which a missing code is published as
    assert group.check_referential_integrity()


def _date(value: Any) -> Any:
    return value.date() if isinstance(value, datetime.datetime) else value


def test_csvw_refuses_a_value_outside_its_bounds(awkward: Any, tmp_path: Path) -> None:
    """Negative control."""
    document = json.loads((awkward.work / "csvw.json").read_text(encoding="utf-8"))
    table = document["tables"][0]
    bounded = next(entry for entry in table["tableSchema"]["columns"] if entry["titles"] == "place_latitude")
    bounded["datatype"]["maximum"] = "41.85"
    (tmp_path / "data").mkdir()
    (tmp_path / table["url"]).write_bytes((awkward.work / table["url"]).read_bytes())
    (tmp_path / "csvw.json").write_text(json.dumps({**document, "tables": [table]}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"41\.85"):
        list(csvw.TableGroup.from_file(tmp_path / "csvw.json").tables[0].iterdicts(strict=True))


def test_ddi_alone_tells_types_ranges_and_codes(package: Any) -> None:
    root = etree.parse(str(package.work / "ddi.xml")).getroot()
    space = {"d": "ddi:codebook:2_5"}
    variables = root.findall("d:dataDscr/d:var", space)
    files = {entry.get("ID"): entry.get("URI") for entry in root.findall("d:fileDscr", space)}
    assert {files[identifier] for variable in variables for identifier in variable.get("files").split()} == set(
        files.values()
    )
    with (package.work / files["F2"]).open(encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [variable.get("name") for variable in variables] == list(table[0])
    for variable in variables:
        values = {row[variable.get("name")] for row in table} - {""}
        codes = [code.text or "" for code in variable.findall("d:catgry/d:catValu", space)]
        limits = variable.find("d:valrng/d:range", space)
        assert not codes or values <= set(codes)
        if limits is not None:
            read = str if variable.get("representationType") == "datetime" else float
            assert read(limits.get("min")) <= min(map(read, values))
            assert max(map(read, values)) <= read(limits.get("max"))
    assert any(variable.findall("d:catgry", space) for variable in variables)


def _lists(package: Any) -> Iterator[tuple[str, list[list[str]]]]:
    for file in package.package.files:
        if file.key.startswith("codelists/"):
            with file.path.open(encoding="utf-8", newline="") as stream:
                yield file.key, list(csv.reader(stream))


def test_code_lists_hold_codes_labels_and_places(awkward: Any) -> None:
    lists = dict(_lists(awkward))
    # the position tells which column it is, where a name is no plain file name
    assert set(lists) == {f"codelists/{name}.csv" for name in ("column-3", "occupation", "state", "size", "smsa")}
    assert lists["codelists/state.csv"] == [["code", "label", "position"], ["north", "Norden", "0"], ["south", "", "1"]]
    assert lists["codelists/column-3.csv"][1:3] == [["a", "nothing", "0"], [" b ", "", "1"]]
    assert len(lists["codelists/occupation.csv"]) == 1001
    assert lists["codelists/occupation.csv"][8] == ["0007", "Seventh \u05e2", "7"]
    channels = json.loads((awkward.work / "channel.json").read_text(encoding="utf-8"))["units"]
    sizes = next(unit for unit in channels if unit["name"] == "size")
    assert [row[0] for row in lists["codelists/size.csv"][1:]] == sizes["domain"]["codes"]


def test_bounds_hold_for_values_that_are_no_short_decimals(kit: Any, tmp_path: Path) -> None:
    """A bound that no float hits is written as the float that is published, which may lie below or above it."""
    lower, step = "0.30000000000000001665", "0.1"
    text = kit.release_file.replace(
        'lower: "0", upper: "1", step: "0.1"', f'lower: "{lower}", upper: "{lower[:-3]}665", step: "{step}"'
    )
    text = text.replace(f'upper: "{lower[:-3]}665"', 'upper: "1.30000000000000001665"')
    made = kit.make(tmp_path, text)
    field = next(field for field in _fields(made) if field["name"] == "rate")
    values = [row["rate"] for row in _rows(made) if row["rate"] is not None]
    assert float(field["constraints"]["minimum"]) == min(values) and not math.isnan(min(values))
    assert Decimal(field["constraints"]["minimum"]) <= Decimal(repr(min(values)))
    assert Decimal(repr(max(values))) <= Decimal(field["constraints"]["maximum"])
