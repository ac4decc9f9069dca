"""``trasgo collect size``, ``simulate`` and ``alphabet``: what a person and a program see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from collecting import BOX, plan, write
from pointed import POINT
from typer.testing import CliRunner

from flows.cli import app
from trasgo_lib.collection import Alphabet

RUN = CliRunner()
ROOT = Path(__file__).resolve().parents[3]


def _json(*arguments: str) -> dict[str, object]:
    done = RUN.invoke(app, ["collect", *arguments])
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.output)
    return found


def test_sizes_are_told_in_words_and_to_programs() -> None:
    demo = str(ROOT / "configs" / "demo" / "city-heatmap.yaml")
    done = RUN.invoke(app, ["collect", "size", demo, "--share", "0.05"])
    assert done.exit_code == 0
    for words in ("284 cells", "memoised_unary_encoding, epsilon 1 a report", "chosen because", "nine times in ten"):
        assert words in " ".join(done.output.split())
    found = _json("size", demo, "--share", "0.05", "--reports", "1000,50000", "--json")
    (level,) = found["levels"]  # type: ignore[misc]
    assert [entry["reports"] for entry in level["sizes"]] == [1000, 50_000]  # type: ignore[index]
    assert level["sizes"][0]["floor"] > level["sizes"][1]["floor"]  # type: ignore[index]
    assert 1000 < level["reports_needed"] < 10**6  # type: ignore[index]


def test_a_simulation_holds_estimates_against_the_truth_and_is_the_same_for_a_key(tmp_path: Path) -> None:
    path = str(write(tmp_path, resolutions=[5, 6]))
    arguments = ("simulate", path, "--devices", "20000", "--windows", "1", "--json")
    found = _json(*arguments)
    windows = found["windows"]
    assert [row["resolution"] for row in windows] == [5, 6]  # type: ignore[attr-defined,index]
    assert all(row["healthy"] and 0.5 < row["mean_error"] / row["expected_error"] < 2 for row in windows)  # type: ignore[attr-defined,index]
    assert _json(*arguments) == found
    assert _json(*arguments, "--key", "another") != found
    done = RUN.invoke(app, ["collect", "simulate", path, "--devices", "5000"])
    assert done.exit_code == 0 and "interval holds the truth" in " ".join(done.output.split())


def test_an_alphabet_is_written_and_refined_by_published_cells(tmp_path: Path) -> None:
    path = write(tmp_path)
    first = tmp_path / "a.json"
    assert RUN.invoke(app, ["collect", "alphabet", str(path), "--out", str(first)]).exit_code == 0
    alphabet = Alphabet.from_json(json.loads(first.read_text(encoding="utf-8")))
    assert Alphabet.from_json(json.loads(RUN.invoke(app, ["collect", "alphabet", str(path)]).output)) == alphabet
    names, coarse = alphabet.names(), alphabet.coarser(5).names()[0]
    (tmp_path / "shown.csv").write_text(
        f"resolution,cell,share,shown\n5,{coarse},0.4,true\n6,{names[0]},0.2,true\n6,{names[1]},0.0,false\n"
        "6,other,0.1,true\n",
        encoding="utf-8",
    )
    second = tmp_path / "b.json"
    arguments = ["--refine", str(first), "--cells", str(tmp_path / "shown.csv"), "--resolution", "7"]
    done = RUN.invoke(app, ["collect", "alphabet", str(path), *arguments, "--out", str(second)])
    assert done.exit_code == 0, done.output
    fine = plan(tmp_path, area={"alphabet": "b.json"}, resolutions=[7]).finest
    assert (len(fine.cells), fine.parent) == (7, alphabet.version)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            ["8,88266450fffffff,0.4,true"],
            "--cells: required cells of resolution 6, that of --refine; came 'resolution 8'",
        ),
        (["6,86266450fffffff,0.4,false", "6,other,0.1,true"], "published cells of resolution 6; came none"),
        (["6,Chicago,0.4,true"], "column `cell`"),
    ],
)
def test_cells_that_refine_nothing_are_refused_with_the_reason(tmp_path: Path, rows: list[str], words: str) -> None:
    path, first, shown = write(tmp_path), tmp_path / "a.json", tmp_path / "shown.csv"
    assert RUN.invoke(app, ["collect", "alphabet", str(path), "--out", str(first)]).exit_code == 0
    shown.write_text("\n".join(["resolution,cell,share,shown", *rows]), encoding="utf-8")
    arguments = ["--refine", str(first), "--cells", str(shown), "--resolution", "9"]
    done = RUN.invoke(app, ["collect", "alphabet", str(path), *arguments])
    assert done.exit_code == 2 and words in " ".join((done.output + (done.stderr or "")).split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["size", "{path}", "--reports", "many"], "--reports"),
        (["size", "{path}", "--share", "2"], "--share"),
        (["alphabet", "{path}", "--refine", "a.json"], "--cells"),
        (["alphabet", "{path}", "--cells", "c.csv", "--resolution", "8"], "--refine"),
        (["alphabet", "{path}", "--refine", "none.json", "--cells", "c.csv", "--resolution", "8"], "--refine"),
        (["size", "{folder}/none.yaml"], "readable file"),
    ],
)
def test_what_cannot_be_meant_ends_with_exit_2(tmp_path: Path, arguments: list[str], words: str) -> None:
    path = str(write(tmp_path))
    done = RUN.invoke(app, ["collect", *(part.format(path=path, folder=tmp_path) for part in arguments)])
    assert done.exit_code == 2
    assert words in done.output + (done.stderr or "")


def test_points_are_sized_and_simulated(tmp_path: Path) -> None:
    demo = str(ROOT / "configs" / "demo" / "city-points.yaml")
    done = " ".join(RUN.invoke(app, ["collect", "size", demo]).output.split())
    for words in ("a lattice of 229 x 260 cells", "a map of 284 cells", "times that of counting", "72.087288 ever"):
        assert words in done
    assert "bits vary" not in done and "left out" not in done
    found = _json("size", demo, "--reports", "10000,1000000", "--json")
    assert found["levels"] == [] and [one["is_told"] for one in found["points"]] == [False, True]  # type: ignore[attr-defined]
    narrow = {**POINT, "box": BOX}
    path = str(write(tmp_path, point=narrow))
    assert "cells of the area are left out" in " ".join(RUN.invoke(app, ["collect", "size", path]).output.split())
    both = _json("simulate", path, "--devices", "20000", "--windows", "1", "--json")
    assert len(both["windows"]) == len(both["points"]) == 1  # type: ignore[arg-type]
    (row,) = both["points"]  # type: ignore[misc]
    assert row["reports"] == 20_000 and row["healthy"] and row["covered"] > 0.6
    shown = RUN.invoke(app, ["collect", "simulate", path, "--devices", "5000", "--windows", "1"]).output
    assert "Points:" in shown
