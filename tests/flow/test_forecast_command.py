"""``trasgo forecast``: no data, no orchestrator, exit codes, tables, document and chart."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from office import Office

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("--epsilons", "1,2", "--row-counts", "500", "--rehearsals", "1", "--quiet")
PRIOR = {
    "public": True,
    "source": "A made-up census",
    "rows": 1000,
    "columns": [
        {"name": "age", "mean": "45", "deviation": "15"},
        {"name": "sex", "shares": {"f": "0.4", "m": "0.6"}},
        {"name": "region", "shares": {"north": "0.4", "east": "0.2", "south": "0.2", "west": "0.2"}},
    ],
}


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """An office that has not got its data yet."""
    office = Office(tmp_path)
    (tmp_path / "people.csv").unlink()
    office.release["prior"] = PRIOR
    office.write()
    return office


def test_it_works_before_there_is_a_source_and_writes_nothing(office: Office) -> None:
    before = sorted(office.folder.rglob("*"))
    answer = office.trasgo("forecast", str(office.config), *QUICK)
    assert answer.exit_code == 0, answer.text
    assert sorted(office.folder.rglob("*")) == before
    assert "no data was opened" in answer.out and "A made-up census" in answer.out
    assert "Least epsilon_total for all targets at 1,000 rows" in answer.out
    assert "laplace (declared)" in answer.out and "staircase" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100


def test_the_document_and_the_chart(office: Office) -> None:
    chart = office.folder / "chart.svg"
    command = ("forecast", str(office.config), *QUICK, "--json", "--group", "sex,region", "--chart", str(chart))
    answer = office.trasgo(*command)
    assert answer.exit_code == 0, answer.text
    document = answer.json
    assert document["release"] == "people/1" and document["rows"] == 1000
    assert document["groups"][0]["columns"] == ["sex", "region"]
    written = chart.read_bytes()
    assert office.trasgo(*command).json == document
    assert chart.read_bytes() == written


def test_unknown_columns_are_named(office: Office) -> None:
    office.release["prior"] = {**PRIOR, "columns": PRIOR["columns"][1:]}  # type: ignore[index]
    office.write()
    answer = office.trasgo("forecast", str(office.config), *QUICK)
    assert answer.exit_code == 0, answer.text
    assert "says nothing of them: age" in answer.out
    assert "What age will cost is not in these totals" in answer.out


def test_a_target_that_cannot_be_met_is_named_with_its_reason(office: Office) -> None:
    office.release["loop"] = {"loss_from": "released", "composition": "chain", "start": "1", "ratio": "2"}
    age = office.column("age")
    del age["epsilon"]
    age["target"] = {"correlation_loss": "30"}
    office.write()
    answer = office.trasgo("forecast", str(office.config), *QUICK)
    assert answer.exit_code == 0, answer.text
    said = " ".join(answer.out.split())
    assert "age: corr. loss % <= 30 cannot be met at 1,000 rows" in said
    assert "No epsilon_total meets all targets at this number of rows" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--epsilons", "1,x"), "--epsilons"),
        (("--row-counts", "500,-1"), "--row-counts"),
        (("--group", "sex"), "two or more columns"),
        (("--group", "sex,nobody"), "nobody"),
        (("--group", "sex,age"), "noise_bins"),
        (("--chart", "chart.png"), ".svg"),
        (("--chart", "nowhere/chart.svg"), "Make the folder"),
        (("--rows", "5"), "30 to"),
    ],
)
def test_what_it_refuses(office: Office, arguments: tuple[str, ...], words: str) -> None:
    answer = office.trasgo("forecast", str(office.config), "--quiet", *arguments)
    assert answer.exit_code == 2, answer.text
    assert words in answer.err


def test_without_a_prior_it_says_how_to_get_one(office: Office) -> None:
    del office.release["prior"]
    office.write()
    answer = office.trasgo("forecast", str(office.config))
    assert answer.exit_code == 2
    assert "trasgo prior" in answer.err


def test_it_loads_no_orchestrator_no_frames_and_no_chart_library(office: Office) -> None:
    code = (
        "import sys\n"
        f"sys.argv = ['trasgo', 'forecast', {str(office.config)!r}, *{list(QUICK)!r}]\n"
        "from flows.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'prefect', 'great_expectations', 'pandas', 'sqlalchemy', 'matplotlib'}\n"
        "loaded = heavy & {name.split('.')[0] for name in sys.modules}\n"
        "assert not loaded, loaded\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 0, result.stderr


def test_a_column_without_any_value_gives_strict_figures(office: Office) -> None:
    """The share of a group's column that is missing may be 1: its figures are 0, never NaN."""
    office.column("region")["missing"] = "code"
    office.release["prior"] = {**PRIOR, "columns": [*PRIOR["columns"][:2], {**PRIOR["columns"][2], "missing": "1"}]}
    office.write()
    answer = office.trasgo("forecast", str(office.config), *QUICK, "--json", "--group", "sex,region")
    assert answer.exit_code == 0, answer.text
    assert answer.json["groups"][0]["totals"][0]["added"] == 0


def test_an_interruption_speaks_of_no_run(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trasgo_lib.loop.forecast.forecast", interrupt)
    answer = office.trasgo("forecast", str(office.config), *QUICK)
    assert answer.exit_code == 11
    assert "this command" in answer.text and "it starts anew" in answer.text and "this run" not in answer.text
    assert "draw" not in answer.text and "lost" not in answer.text


def test_a_chart_that_cannot_be_written_is_refused_before_the_work(office: Office) -> None:
    place = office.folder / "charts.svg"
    place.mkdir()
    answer = office.trasgo("forecast", str(office.config), *QUICK, "--chart", str(place))
    assert answer.exit_code == 2 and "a file that may be written" in answer.text


def test_matrix_products_take_one_thread() -> None:
    """Set before numpy is there: later it has no effect."""
    code = (
        "import os, sys\nimport flows.cli as cli\nassert 'numpy' not in sys.modules\n"
        "cli.app = lambda: print(os.environ['OPENBLAS_NUM_THREADS'])\ncli.main()"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "1"
