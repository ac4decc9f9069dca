"""Reported faults of sources that a declaration can deal with, through the command, up to the published files.

What reaches the mechanisms and what leaves them is watched at the one place where noise is drawn, so these tests need
no statistics: codes before the draw are exact, and published cells are compared with codes after it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from desk import Desk, category, date, drop, number, point, public
from office import Answer

import tasks.draw
from trasgo_lib.budget import Cost, cost
from trasgo_lib.data import PrivateCodes, ReleasedCodes, read_codes
from trasgo_lib.mechanisms import draw_codes

ROUNDS = 12
"""How often the few written rows are repeated, so that output checks have rows to judge."""


@dataclass
class Watch:
    """What passed through the one place of noise: codes by unit, and the loss events of real draws."""

    private: dict[str, list[int]] = field(default_factory=dict)
    released: dict[str, list[int]] = field(default_factory=dict)
    events: list[tuple[str, Any]] = field(default_factory=list)

    def draw(self, channel: Any, private: PrivateCodes, stream: Any, directory: Path, key: bytes) -> ReleasedCodes:
        """As ``draw_codes``."""
        released = draw_codes(channel, private, stream, directory, key)
        if directory.parent.name == "draw":
            self.private[private.unit] = read_codes(private, key).tolist()
            self.released[private.unit] = read_codes(released, key).tolist()
            self.events.append((private.unit, channel.event))
        return released


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(tmp_path_factory.mktemp("published"))
    desk.release["checks"] = {"max_share_at_bounds": "1"}
    desk.open_account(geo_per_km="100", delta="0.01")
    yield desk
    shutil.rmtree(desk.folder, ignore_errors=True)


def _run(desk: Desk, *arguments: str) -> tuple[Answer, Watch]:
    watch = Watch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks.draw, "draw_codes", watch.draw)
        return desk.run("--json", *arguments), watch


def _json(path: Path) -> Any:
    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is not strict JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


@dataclass(frozen=True)
class Made:
    """One published release with what was watched while it was made."""

    answer: Answer
    watch: Watch
    public: Path
    evidence: Path

    @property
    def table(self) -> pa.Table:
        """The published Parquet file."""
        return pq.read_table(next(self.public.glob("data/*.parquet")))


def _publish(desk: Desk, dataset: str, version: str = "1") -> Made:
    answer, watch = _run(desk)
    assert answer.exit_code == 0, answer.text
    verified = desk.trasgo("verify", str(desk.published(dataset, version)))
    assert verified.exit_code == 0, verified.text
    return Made(answer, watch, desk.published(dataset, version), desk.evidence(dataset, version))


ODD = [" 007 ", "", "1e5", "Réunion", '"quoted"']
LINES = [
    # zip; muni; x; day; work; income; roof; n; empty
    ("01001", " Réunion", "1,5", "12/01/2017", " Private", "10", "5"),
    ("00060", "Paris ", "1.234,50", "01/02/2017", " ?", "20", "1"),
    ("1001", "Paris", "2.000", "31/12/2017", "State-gov ", "30", "3"),
    ("01001", "Réunion", "0,25", "01/01/2017", "Private", "9999", "2"),
    ("00060", "Paris", "10", "02/01/2017", "?", "9.999,0", "4"),
]


@pytest.fixture(scope="module")
def messy(desk: Desk) -> Made:
    """A byte-order mark before latin-1, blanks, decimal commas, leading zeros, sentinels, an empty column."""
    rows = [(*line, odd, "") for line, odd in zip(LINES, ODD, strict=True)] * ROUNDS
    quoted = [";".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    text = '"zip"; muni ;x;day; work;income;roof;n;empty\n' + "\n".join(quoted) + "\n"
    desk.declare(
        "messy",
        [
            category("zip", ["00060", "01001", "1001"]),
            category("muni", ["Paris", "Réunion"], mechanism="randomized_response"),
            public("n"),
            number("x", "0", "2000", "0.25"),
            date("day"),
            category("work", ["Private", "State-gov"], missing="code", missing_codes=["?"]),
            number("income", "0", "60", outside="clip", missing="code", missing_codes=["9999"]),
            category("roof", ["1", "2", "3", "4", "5"], output="integer"),
            drop("empty"),
        ],
        encoding="latin-1",
        delimiter=";",
        decimal=",",
        thousands=".",
    )
    desk.bring(b"\xef\xbb\xbf" + text.encode("latin-1"))
    return _publish(desk, "messy")


def test_b01_b02_b03_b04_b10_b11_b13_b87_exact_codes_reach_the_mechanisms(messy: Made) -> None:
    first = {name: codes[: len(LINES)] for name, codes in messy.watch.private.items()}
    assert first == {
        "zip": [1, 0, 2, 1, 0],
        "muni": [1, 0, 0, 1, 0],
        "x": [6, 4938, 8000, 1, 40],
        "day": [11, 31, 364, 0, 1],
        "work": [0, 2, 1, 0, 2],
        "income": [10, 20, 30, 61, 61],
        "roof": [4, 0, 2, 1, 3],
    }
    assert all(codes == codes[: len(LINES)] * ROUNDS for codes in messy.watch.private.values())


def test_b01_b13_b14_the_evidence_counts_what_was_found(messy: Made) -> None:
    found = _json(messy.evidence / "input_report.json")["input"]
    assert found["bom_dropped"] is True
    missing = {entry["name"]: (entry["missing"], entry["clipped"]) for entry in found["columns"]}
    assert missing["work"] == missing["income"] == (2 * ROUNDS, 0)


def test_b14_a_dropped_empty_column_is_recorded_and_costs_nothing(messy: Made) -> None:
    assert "Not published: empty." in (messy.public / "report.md").read_text(encoding="utf-8")
    assert "empty" not in messy.answer.json["spent"]["units"]
    assert "empty" not in messy.table.column_names


def test_b04_b45_b46_b87_columns_keep_order_type_and_public_bytes(messy: Made) -> None:
    table = messy.table
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("zip", "string"),
        ("muni", "string"),
        ("n", "string"),
        ("x", "double"),
        ("day", "date32[day]"),
        ("work", "string"),
        ("income", "int64"),
        ("roof", "int64"),
    ]
    assert table["n"].to_pylist() == ODD * ROUNDS
    assert set(table["zip"].to_pylist()) == {"00060", "01001", "1001"}
    assert set(table["roof"].to_pylist()) <= {1, 2, 3, 4, 5}
    assert all(0 <= value <= 60 for value in table["income"].drop_null().to_pylist()), "9999 is never a number"


def test_b27_b45_row_i_of_the_source_is_row_i_of_the_release(messy: Made) -> None:
    codes, table = messy.watch.released, messy.table
    assert table["zip"].to_pylist() == [["00060", "01001", "1001"][code] for code in codes["zip"]]
    assert table["roof"].to_pylist() == [code + 1 for code in codes["roof"]]
    assert table["income"].to_pylist() == [None if code == 61 else code for code in codes["income"]]
    assert table["x"].to_pylist() == [code / 4 for code in codes["x"]]
    assert table["work"].null_count == codes["work"].count(2)


def test_b43_numbers_are_released_on_the_declared_grid(messy: Made) -> None:
    assert all((value * 4).is_integer() and 0 <= value <= 2000 for value in messy.table["x"].to_pylist())
    grid = _json(messy.public / "channel.json")["units"][2]["domain"]
    assert (grid["lower"], grid["upper"], grid["step"]) == ("0", "2000", "0.25")


def test_b67_the_statement_has_each_column_and_their_sum(messy: Made) -> None:
    statement = _json(messy.public / "statement.json")
    assert [unit["epsilon_charged_draws_only"] for unit in statement["units"]] == ["1"] * 7
    assert statement["epsilon_realised_draws_only"] == messy.answer.json["spent"]["total"] == "7"


def test_b64_every_stored_json_is_strict(messy: Made) -> None:
    files = [path for folder in (messy.public, messy.evidence) for path in folder.glob("*.json")]
    assert len(files) >= 9
    # these follow formats of others, which number themselves
    foreign = {"manifest.dsse.json", "ro-crate-metadata.json", "csvw.json", "datapackage.json"}
    own = [path for path in files if path.name not in foreign]
    assert len(own) == len(files) - len(foreign)
    assert all(_json(path)["format"] == 1 for path in own)
    assert all(_json(path) for path in files)


@pytest.fixture(scope="module")
def typed(desk: Desk) -> Made:
    """A Parquet file as pandas writes it: nullable integers, an unused category, string type, a shuffled index."""
    rows = 5 * ROUNDS
    frame = pd.DataFrame(
        {
            "n": pd.array([1, 2, None, 4, 3] * ROUNDS, dtype="Int64"),
            "c": pd.Categorical(["a", "b", "a", "a", "b"] * ROUNDS, categories=["a", "b", "c"]),
            "s": pd.array(["y", "n", "z", "y", "n"] * ROUNDS, dtype="string"),
            "f": [1.0, float("nan"), 3.0, 2.0, 4.0] * ROUNDS,
            "d": pd.to_datetime(["2017-01-01", "2017-12-31", "2017-02-01", "2017-01-02", "2017-01-12"] * ROUNDS),
            "code": np.tile(np.array([5, 1, 3, 2, 4], dtype=np.int16), ROUNDS),
            "same": ["k"] * rows,
        }
    )
    frame.index = pd.Index(np.arange(rows)[::-1] * 7)
    desk.declare(
        "typed",
        [
            number("n", "1", "4", missing="code"),
            category("c", ["a", "b", "c"]),
            category("s", ["n", "y", "z"]),
            number("f", "0", "4", missing={"replace": "2"}),
            date("d"),
            category("code", ["1", "2", "3", "4", "5"], output="integer", mechanism="exponential", utility="zero_one"),
            category("same", ["k", "l"]),
        ],
    )
    desk.bring(pa.Table.from_pandas(frame, preserve_index=False))
    return _publish(desk, "typed")


def test_b15_b16_b17_b24_b27_b29_b86_types_of_pandas_reach_the_mechanisms_as_codes(typed: Made) -> None:
    assert {name: codes[:5] for name, codes in typed.watch.private.items()} == {
        "n": [0, 1, 4, 3, 2],
        "c": [0, 1, 0, 0, 1],
        "s": [1, 0, 2, 1, 0],
        "f": [1, 2, 3, 2, 4],
        "d": [0, 364, 31, 1, 11],
        "code": [4, 0, 2, 1, 3],
        "same": [0] * 5,
    }
    assert all(codes == codes[:5] * ROUNDS for codes in typed.watch.private.values())


def test_b15_b16_b46_b87_outputs_have_the_declared_types(typed: Made) -> None:
    types = {field.name: str(field.type) for field in typed.table.schema}
    assert types == {
        "n": "int64",
        "c": "string",
        "s": "string",
        "f": "int64",
        "d": "date32[day]",
        "code": "int64",
        "same": "string",
    }
    assert set(typed.table["n"].drop_null().to_pylist()) <= {1, 2, 3, 4}
    assert typed.table["f"].null_count == 0


def test_b16_b37_b41_outputs_come_from_the_declared_domain(typed: Made) -> None:
    """60 rows at epsilon 1: the level that no row has stays away with chance 0.79^60 < 1e-6, ``l`` with 0.73^60."""
    assert set(typed.table["c"].to_pylist()) == {"a", "b", "c"}
    assert set(typed.table["same"].to_pylist()) == {"k", "l"}, "one value in the file, two in the domain"


def test_b86_the_documented_policies_are_those_of_the_channel_file(typed: Made) -> None:
    policies = {unit["name"]: unit["missing"] for unit in _json(typed.public / "channel.json")["units"]}
    assert policies["n"] == {"policy": "code", "code": 4, "fill_code": None} | {"fill_code": policies["n"]["fill_code"]}
    assert policies["f"] == {"policy": "replace", "code": None, "fill_code": 2}
    assert policies["d"]["policy"] == "error"
    words = (Path(__file__).parents[2] / "configs" / "README.md").read_text(encoding="utf-8")
    assert "Rows are never dropped because of a value" in words
    assert "error (a missing value stops the run), code (one more code) or {replace: value}" in words


@pytest.fixture(scope="module")
def places(desk: Desk) -> Made:
    """Points with gaps, beside columns named as a careless geo step would name its own."""
    pairs = ["40.7,-74.0", ",-73.9", "40.75,", "40.65,-73.95"] * ROUNDS
    text = "lat,lon,lat_dp,radius_m\n" + "".join(f"{pair},p{row},{row}\n" for row, pair in enumerate(pairs))
    desk.declare("places", [point("home", missing={"replace": "40.7, -73.95"}), public("lat_dp"), public("radius_m")])
    desk.bring(text)
    return _publish(desk, "places")


def test_t02_t03_only_the_declared_columns_are_published_and_public_ones_untouched(places: Made) -> None:
    assert places.table.column_names == ["home_latitude", "home_longitude", "lat_dp", "radius_m"]
    assert places.table["lat_dp"].to_pylist() == [f"p{row}" for row in range(4 * ROUNDS)]
    assert places.table["radius_m"].to_pylist() == [str(row) for row in range(4 * ROUNDS)]


def test_b50_b53_gaps_follow_the_policy_of_the_pair_and_places_stay_on_the_globe(places: Made) -> None:
    codes = places.watch.private["home"]
    assert codes[1] == codes[2] and codes[1] not in (codes[0], codes[3])
    assert places.table["home_latitude"].null_count == places.table["home_longitude"].null_count == 0
    assert all(40 < value < 42 for value in places.table["home_latitude"].to_pylist())
    assert all(-75 < value < -73 for value in places.table["home_longitude"].to_pylist())
    counted = {
        entry["name"]: entry["missing"] for entry in _json(places.evidence / "input_report.json")["input"]["columns"]
    }
    assert counted["home"] == 2 * ROUNDS


def test_b52_the_unit_of_geo_epsilon_is_in_the_statement(places: Made) -> None:
    statement = _json(places.public / "statement.json")
    assert statement["geo_per_km_realised_draws_only"] == "10"
    assert statement["epsilon_realised_draws_only"] == "0"


def test_b42_b75_b77_versions_draw_anew_and_are_charged_until_the_cap(desk: Desk) -> None:
    """The same rows three times at epsilon 1 under a cap of 3: other noise each time, and no fourth time."""
    columns = [category("sex", ["f", "m"], mechanism="randomized_response")]
    desk.bring("sex\n" + "f\nm\nm\n" * 200)
    released = []
    for version in ("1", "2", "3", "4"):
        desk.declare("again", columns, version)
        desk.release["privacy"] |= {"account": "small", "epsilon_total": "1"}
        if version == "1":
            desk.open("3")
        desk.write()
        answer, watch = _run(desk)
        assert answer.exit_code == (5 if version == "4" else 0), answer.text
        assert desk.spent() == str(min(int(version), 3))
        released += watch.released.values()
    assert len(released) == 3 and released[0] != released[1] != released[2] != released[0]
    assert not desk.published("again", "4").exists()
    assert "over_cap" in answer.text
    desk.declare("again", columns, "3")
    desk.release["privacy"] |= {"account": "small", "epsilon_total": "1"}
    desk.write()
    answer, watch = _run(desk)
    assert answer.json["already_published"] is True and not watch.events, "the same version again draws nothing"
    assert desk.spent() == "3"


def test_b35_b57_b69_the_ledger_is_the_sum_of_what_the_mechanisms_were_given(desk: Desk) -> None:
    """Several rounds over a Gaussian that passes epsilon 1, with a constant column beside it."""
    target = {"start": "0.9", "target": {"tvd": "0.25"}}
    pay = number("a", "0", "49", mechanism="gaussian", bins=2, **target)
    del pay["epsilon"]
    desk.declare("rounds", [pay, number("b", "0", "98", "2"), number("c", "0", "2")])
    desk.release["loop"] |= {"on_unmet": "publish", "ratio": "2"}
    desk.release["privacy"]["epsilon_total"] = "9"
    desk.write()
    desk.bring("a,b,c\n" + "".join(f"{row},{2 * row},1\n" for row in [0, 1, 2, 3, 4] * 100))
    before = float(desk.spent())
    made = _publish(desk, "rounds")
    given = Cost.zero()
    for _, event in made.watch.events:
        given = given + cost(event, 1)
    levels = [str(event.epsilon) for unit, event in made.watch.events if unit == "a"]
    assert len(levels) >= 2 and levels[:2] == ["0.9", "1.8"], levels
    assert made.answer.json["spent"]["total"] == given.epsilon.text
    assert float(desk.spent()) - before == pytest.approx(float(given.epsilon.text), abs=1e-9)
    statement = _json(made.public / "statement.json")
    assert statement["epsilon_realised_draws_only"] == given.epsilon.text
    assert [draw["epsilon_draws_only"] for draw in statement["units"][0]["draws"]] == levels
    losses = (made.evidence / "losses.json").read_text(encoding="utf-8")
    assert "constant in the original, left out: c" in losses


def test_b41_b66_one_row_and_no_trend_are_no_evidence_and_no_crash(desk: Desk) -> None:
    pair = [number("a", "0", "9", target={"correlation_loss": "10"}), number("b", "0", "9")]
    del pair[0]["epsilon"]
    desk.declare("one", pair)
    desk.bring("a,b\n1,2\n")
    answer, watch = _run(desk)
    assert answer.exit_code == 6, answer.text
    assert len(watch.events) == 2, "null is no evidence: nothing is drawn again"
    assert not desk.published("one").exists()
    losses = _json(desk.evidence("one") / "losses.json")
    mine = [entry for entry in losses["rounds"] if entry["unit"] == "a"]
    assert mine[-1]["loss"] is None and mine[-1]["met"] is False
    assert "no evidence" in (desk.evidence("one") / "report.md").read_text(encoding="utf-8")


def test_b36_a_delta_of_one_in_so_many_rows_is_flagged(desk: Desk) -> None:
    desk.declare("delta", [number("a", "0", "9", mechanism="gaussian", delta="0.001")])
    desk.release["privacy"]["delta_total"] = "0.001"
    desk.write()
    desk.bring("a\n" + "1\n2\n3\n4\n" * 250)
    made = _publish(desk, "delta")
    statement = _json(made.public / "statement.json")
    assert statement["delta_realised_draws_only"] == "0.001"
    assert "among 1000 rows, up to 1 such row may be expected" in statement["in_words"], statement["in_words"]
    assert "1 such row" in (made.public / "report.md").read_text(encoding="utf-8")
