"""The loop as it is meant: coupled levels revealed upwards, losses estimated from released codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from office import Office, source_text

import flows.release
import tasks.draw
import tasks.measure
from trasgo_lib.data import PrivateCodes, ReleasedCodes, read_codes
from trasgo_lib.mechanisms import Chain, Streams

ROWS = 12_000


def _chained(folder: Path) -> Office:
    office = Office(folder)
    (folder / "people.csv").write_text(source_text(ROWS), encoding="utf-8")
    office.release["loop"] = {"start": "0.5", "ratio": "1.5"}
    office.column("sex")["target"] = {"tvd": "0.04"}
    office.column("region")["target"] = {"tvd": "0.1"}
    office.open()
    return office


@pytest.fixture(scope="module")
def chained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """An office that has published under ``chain`` and ``released``; read only."""
    office = _chained(tmp_path_factory.mktemp("chained"))
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    yield office


def test_all_that_was_seen_of_a_column_costs_its_highest_level(chained: Office) -> None:
    shown = chained.trasgo("ledger", "show", str(chained.config), "--json").json
    statement = json.loads((chained.public / "statement.json").read_text())
    for unit in statement["units"]:
        entries = [entry for entry in shown["entries"] if entry["unit"] == unit["name"]]
        assert unit["epsilon_charged"] == entries[-1]["level"]
        assert sum(float(entry["cost"]["epsilon"]) for entry in entries) == pytest.approx(float(entries[-1]["level"]))
    assert any(len(unit["draws"]) > 1 for unit in statement["units"])
    assert shown["spent"]["epsilon"] == statement["epsilon_realised"]


def test_the_statement_covers_the_choice_of_levels_and_gives_the_estimates(chained: Office) -> None:
    statement = json.loads((chained.public / "statement.json").read_text())
    assert statement["guarantee_covers_selection"] is True
    assert (statement["composition"], statement["loss_from"]) == ("chain", "released")
    assert "draws_only" not in json.dumps(statement)
    sex = next(unit for unit in statement["units"] if unit["name"] == "sex")
    assert float(sex["loss"]["low"]) <= float(sex["loss"]["value"]) <= float(sex["loss"]["high"]) <= 0.04


def test_the_estimate_is_near_the_truth_and_the_truth_is_restricted(chained: Office) -> None:
    losses = json.loads((chained.restricted / "losses.json").read_text())
    exact = {column["name"]: column["tvd"] for column in losses["losses"]["columns"]}
    for column in losses["estimates"]["columns"]:
        if column["name"] in ("sex", "region"):
            assert column["tvd"]["low"] - 0.01 <= exact[column["name"]] <= column["tvd"]["high"] + 0.01
    public = b"".join(path.read_bytes() for path in chained.public.rglob("*") if path.is_file())
    assert repr(exact["sex"]).encode() not in public


def test_a_chained_release_verifies_and_a_rerun_changes_nothing(chained: Office) -> None:
    answer = chained.trasgo("verify", str(chained.public), "--json")
    assert answer.exit_code == 0, answer.text
    again = chained.run("--json")
    assert again.json["already_published"] is True
    assert again.json["losses"]["sex"]["estimate"] is not None


def test_only_levels_that_were_looked_at_touch_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office = _chained(tmp_path)
    finer: list[bytes] = []
    revealed: list[bytes] = []
    reveal = tasks.draw.reveal_codes

    def watched(
        chain: Chain, level: object, private: PrivateCodes, streams: Streams, directory: Path, key: bytes
    ) -> ReleasedCodes:
        codes = read_codes(private)
        revealed.append(chain.sample(codes, streams, level)[:4096].tobytes())  # type: ignore[arg-type]
        for above in chain.levels[chain.rung(level) + 1 :]:  # type: ignore[arg-type]
            finer.append(chain.sample(codes, streams, above)[:4096].tobytes())
        return reveal(chain, level, private, streams, directory, key)  # type: ignore[arg-type]

    monkeypatch.setattr(tasks.draw, "reveal_codes", watched)

    def crash(*arguments: object, **names: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(flows.release, "next_step", crash)
    office.run("--quiet")
    stored = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "people.csv"]
    assert finer and not [level for level in finer if any(level in body for body in stored)]
    # the search can find what is there: every level that was looked at stands in a file
    assert revealed and all(any(level in body for body in stored) for level in revealed)


def test_a_crash_between_rounds_resumes_with_the_same_bits_and_no_second_charge(
    chained: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = _chained(tmp_path)
    decide = flows.release.next_step
    rounds = iter(range(3))

    def third_time_dies(*arguments: object) -> object:
        if next(rounds) == 2:
            raise KeyboardInterrupt
        return decide(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(flows.release, "next_step", third_time_dies)
        assert office.run("--quiet").exit_code in {1, 11}
    spent = float(office.spent())
    assert spent > 0
    assert office.trasgo("resume", str(office.config), "--quiet").exit_code == 0
    statement = json.loads((office.public / "statement.json").read_text())
    assert float(office.spent()) == float(statement["epsilon_realised"]) >= spent
    assert pq.read_table(office.public / "data/people.parquet").num_rows == ROWS


def test_an_edited_ladder_is_another_chain_and_refused(tmp_path: Path) -> None:
    office = _chained(tmp_path)
    office.column("sex")["target"] = {"tvd": "0.0000001"}
    office.release["privacy"]["epsilon_total"] = "8"
    office.write()
    assert office.run("--quiet").exit_code == 6
    spent = office.spent()
    office.release["loop"]["ratio"] = "1.4"
    office.write()
    answer = office.run()
    assert answer.exit_code == 4 and "plan_changed" in answer.text
    assert office.spent() == spent


def test_a_mechanism_without_a_chain_is_refused_with_what_works(office: Office) -> None:
    office.release["loop"] = {}
    office.column("region")["mechanism"] = "exponential"
    office.write()
    answer = office.trasgo("plan", str(office.config))
    assert answer.exit_code == 2
    assert "columns[region].mechanism" in answer.err and "kary_randomized_response" in answer.err


def test_a_column_that_is_not_drawn_again_keeps_its_estimate(chained: Office) -> None:
    rounds = json.loads((chained.restricted / "losses.json").read_text())["rounds"]
    seen: dict[tuple[str, str], set[float | None]] = {}
    for entry in rounds:
        seen.setdefault((entry["unit"], entry["level"]), set()).add(entry["loss"])
    assert max(entry["round"] for entry in rounds) > 1
    assert all(len(losses) == 1 for losses in seen.values())


@pytest.mark.parametrize("error", [ValueError, MemoryError])
def test_exact_losses_that_fail_do_not_decide_whether_a_release_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """Under ``released`` nothing that reads the raw file may gate: it would tell something that was not charged."""
    office = _chained(tmp_path)

    def fails(*arguments: object, **names: object) -> None:
        raise error("canary 4711")

    monkeypatch.setattr(tasks.measure, "measure", fails)
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    losses = json.loads((office.restricted / "losses.json").read_text())
    assert losses["losses"] == {"columns": [], "not_computed": error.__name__}
    assert error.__name__ in (office.restricted / "report.md").read_text()
    stored = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert "4711" not in answer.text and not any(b"canary 4711" in body for body in stored)
    assert office.trasgo("verify", str(office.public), "--json").exit_code == 0
