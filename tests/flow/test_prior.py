"""Public priors through the command: written, used by ``auto``, published and verified."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from office import Office, source_text
from ruamel.yaml import YAML

AUTO = {"mechanism": "auto"}
PRIOR = {
    "public": True,
    "source": "Tables of made-up people, 2025",
    "rows": 1200,
    "columns": [
        {"name": "age", "quantiles": {"0.5": "47"}},
        {"name": "region", "shares": {"north": "0.3", "east": "0.3", "south": "0.2", "west": "0.2"}},
    ],
}


def _office(folder: Path) -> Office:
    """The office's release with auto columns, levels coupled, losses from released codes."""
    office = Office(folder)
    for name in ("age", "sex", "region"):
        office.column(name).update(AUTO)
    office.column("age").pop("epsilon")
    office.column("age").update({"target": {"tvd": "0.2"}, "bins": 4, "start": "2"})
    office.column("sex").pop("target")
    office.column("sex")["epsilon"] = "2"
    office.column("region").update({"target": {"tvd": "0.3"}, "start": "2"})
    office.release["loop"] |= {"loss_from": "released", "composition": "chain"}
    office.release["privacy"]["epsilon_total"] = "20"
    office.release["prior"] = PRIOR
    return office


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Office:
    """An office that has published a release with ``auto``; read only."""
    office = _office(tmp_path_factory.mktemp("prior"))
    office.open()
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    return office


def test_auto_is_resolved_published_and_verified(published: Office) -> None:
    units = {unit["name"]: unit for unit in json.loads((published.public / "channel.json").read_text())["units"]}
    assert {name: unit["mechanism"] for name, unit in units.items()} == {
        "age": "binned_randomized_response",
        "sex": "randomized_response",
        "region": "kary_randomized_response",
    }
    assert units["age"]["parameters"]["bins"] == 4
    statement = json.loads((published.public / "statement.json").read_text())
    chosen = {unit["name"]: unit["mechanism_selection"] for unit in statement["units"]}
    assert chosen["age"]["from"] == "public prior"
    assert chosen["age"]["source"] == PRIOR["source"]
    assert chosen["age"]["candidates"][0] == "binned_randomized_response bins 4"
    assert chosen["sex"] == chosen["sex"] | {"from": "only candidate", "source": None, "prior_sha256": None}
    assert "decided from public knowledge" in (published.public / "report.md").read_text()
    assert published.trasgo("verify", str(published.public)).exit_code == 0


def test_plan_tells_what_was_chosen_and_why(published: Office) -> None:
    answer = published.trasgo("plan", str(published.config))
    assert answer.exit_code == 0, answer.text
    words = " ".join(answer.out.split())
    assert "auto: binned_randomized_response bins 4, decided from public knowledge (Tables of made-up people" in words
    assert "laplace, staircase width 3/5/7/10/15/20, gaussian (its noise hides the loss from an estimate" in words
    assert "auto: randomized_response, the only candidate" in words


def test_a_corrected_prior_that_decides_nothing_changes_nothing(published: Office) -> None:
    before = (published.public / "manifest.json").read_bytes()
    published.release["prior"] = PRIOR | {"source": "Tables of made-up people, 2025, corrected"}
    published.write()
    answer = published.run("--quiet")
    published.release["prior"] = PRIOR
    published.write()
    assert answer.exit_code == 0, answer.text
    assert (published.public / "manifest.json").read_bytes() == before


def test_a_prior_from_an_earlier_release_serves_the_next_one(published: Office, tmp_path: Path) -> None:
    answer = published.trasgo("prior", str(published.config), "--from-release", str(published.public))
    assert answer.exit_code == 0, answer.text
    written = YAML(typ="safe").load(answer.out)
    assert written["public"] is True
    assert "manifest.json SHA-256" in written["source"]
    columns = {column["name"]: column for column in written["columns"]}
    assert len(columns["age"]["shares"]) == 4
    assert sum(float(share) for share in columns["region"]["shares"].values()) == pytest.approx(1, abs=1e-5)
    assert "Look at it" in answer.err
    later = _office(tmp_path)
    later.release["prior"] = {"file": "earlier.yaml"}
    later.write()
    (tmp_path / "earlier.yaml").write_text(answer.out, encoding="utf-8")
    plan = later.trasgo("plan", str(later.config), "--json")
    assert plan.exit_code == 0, plan.text
    assert "Release people version 1" in plan.json["units"][0]["selection"]


def test_a_changed_release_gives_no_prior(published: Office, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in published.public.rglob("*"):
        if path.is_file():
            target = copy / path.relative_to(published.public)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes().replace(b"north", b"south"))
    answer = published.trasgo("prior", str(published.config), "--from-release", str(copy))
    assert answer.exit_code == 8, answer.text
    assert answer.out == ""


def test_a_prior_from_a_public_file(published: Office, tmp_path: Path) -> None:
    office = _office(tmp_path)
    office.release.pop("prior")
    office.write()
    public = tmp_path / "public.csv"
    public.write_text(source_text(600), encoding="utf-8")
    answer = office.trasgo(
        "prior", str(office.config), "--from-file", str(public), "--source", "Made-up microdata of 2020"
    )
    assert answer.exit_code == 0, answer.text
    written = YAML(typ="safe").load(answer.out)
    assert (written["rows"], written["source"]) == (600, "Made-up microdata of 2020")
    columns = {column["name"]: column for column in written["columns"]}
    rows = source_text(600).splitlines()[1:]
    share = sum(row.split(",")[1] == "f" for row in rows) / 600
    assert float(columns["sex"]["shares"]["f"]) == pytest.approx(share, abs=1e-6)
    assert len(columns["age"]["shares"]) == 61
    assert [pair["columns"] for pair in written["correlations"]] == [["age", "sex"]]
    assert written["format"] == 1


@pytest.mark.parametrize("name", ["people.csv", "copy.csv", "store/restricted/rows.csv"])
def test_the_rows_themselves_give_no_prior(tmp_path: Path, name: str) -> None:
    office = _office(tmp_path)
    office.write()
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source_text() if name != "store/restricted/rows.csv" else source_text(7), encoding="utf-8")
    answer = office.trasgo("prior", str(office.config), "--from-file", str(path), "--source", "somewhere")
    assert answer.exit_code == 2
    assert "everyone may read" in answer.err
    assert answer.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--from-file", "x.csv"),
        ("--from-release", "x", "--source", "y"),
        ("--from-file", "x", "--from-release", "y"),
    ],
)
def test_prior_says_what_it_needs(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    office = _office(tmp_path)
    office.write()
    assert office.trasgo("prior", str(office.config), *arguments).exit_code == 2


@pytest.mark.long
def test_the_demonstration_release_gives_a_prior_for_its_next_version(tmp_path: Path) -> None:
    folder = tmp_path / "configs" / "demo"
    shutil.copytree(Path(__file__).resolve().parents[2] / "configs" / "demo", folder)
    office = Office(tmp_path)
    office.config = folder / "cps1988.yaml"
    assert office.trasgo("key", "init", "--if-absent").exit_code == 0
    assert (
        office.trasgo(
            "ledger", "open", str(office.config), "--epsilon", "40", "--population", "men of the March 1988 CPS"
        ).exit_code
        == 0
    )
    assert office.run("--quiet").exit_code == 0
    release = tmp_path / "releases" / "public" / "cps1988" / "1"
    answer = office.trasgo("prior", str(office.config), "--from-release", str(release))
    assert answer.exit_code == 0, answer.text
    written = YAML(typ="safe").load(answer.out)
    assert len(written["columns"]) == 7
    assert written["rows"] == 28155
    (folder / "earlier.yaml").write_text(answer.out, encoding="utf-8")
    text = office.config.read_text(encoding="utf-8").replace('version: "1"', 'version: "2"')
    text = text.replace("mechanism: binned_randomized_response\n    noise_bins: 4", "mechanism: auto\n    bins: 4")
    own = text.index("\nprior:\n") + 1  # the last section: what it knew of itself before
    office.config.write_text(text[:own] + "prior: {file: earlier.yaml}\n", encoding="utf-8")
    plan = office.trasgo("plan", str(office.config), "--json")
    assert plan.exit_code == 0, plan.text
    chosen = {unit["name"]: unit["selection"] for unit in plan.json["units"] if unit["selection"]}
    assert set(chosen) == {"wage", "experience"}
    assert all("Release cps1988 version 1" in words for words in chosen.values())
