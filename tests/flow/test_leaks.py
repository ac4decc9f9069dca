"""No private value anywhere but in the source: not in logs, errors, Prefect's database, results or stored files."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from office import Answer, Office, source_text

import tasks.draw
import tasks.ingest
from trasgo_lib.data import PrivateCodes, ReleasedCodes

CANARY = "7391846275"
TEXT_CANARY = "CANARYxq7391846275"


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _places_with(needle: str, office: Office, answer: Answer, caplog: pytest.LogCaptureFixture) -> list[str]:
    prefect_home = Path(os.environ["PREFECT_HOME"])
    files = [path for path in _files(office.folder) + _files(prefect_home) if path.name != "people.csv"]
    found = [str(path) for path in files if needle.encode() in path.read_bytes()]
    found += ["terminal"] if needle in answer.text else []
    found += [f"log {record.name}" for record in caplog.records if needle in record.getMessage()]
    found += [f"traceback {record.name}" for record in caplog.records if needle in (record.exc_text or "")]
    return found


def _age(text: str) -> str:
    return text.replace("\n18,", f"\n{CANARY},", 1)


FAILING: dict[str, Callable[[str], str]] = {
    "number outside a rejecting domain": _age,
    "text in a number": lambda text: text.replace("\n18,", f"\n{TEXT_CANARY},", 1),
    "category outside the domain": lambda text: text.replace(",f,", f",{TEXT_CANARY},", 1),
    "ragged row": lambda text: text + f"{CANARY},f,north,2026-1,n,{TEXT_CANARY}\n",
    "undeclared column": lambda text: text.replace("note", "remark", 1).replace(",n0\n", f",{TEXT_CANARY}\n", 1),
    "headerless": lambda text: f"{CANARY},f,{TEXT_CANARY},2026-1,x\n" + text.split("\n", 1)[1],
}


@pytest.mark.parametrize("kind", FAILING)
def test_a_canary_in_a_refused_input_appears_nowhere(
    kind: str, office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    """B20, B21, B81."""
    caplog.set_level(logging.DEBUG)
    office.column("age")["outside"] = "reject"
    office.open()
    (office.folder / "people.csv").write_text(FAILING[kind](source_text()))
    answer = office.run()
    assert answer.exit_code == 3, answer.text
    assert office.spent() == "0"
    for needle in (CANARY, TEXT_CANARY):
        assert not _places_with(needle, office, answer, caplog)


def test_the_runner_sees_counts_and_the_orchestrator_does_not(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    office.open()
    (office.folder / "people.csv").write_text(source_text().replace(",f,", ",unheard,", 173))
    answer = office.run()
    assert answer.exit_code == 3
    assert "(173 rows)" in answer.err
    database = Path(os.environ["PREFECT_HOME"])
    assert not [path for path in _files(database) if b"(173 rows)" in path.read_bytes()]
    assert "173" not in office.run("--json").out


def test_an_unexpected_error_near_raw_data_keeps_its_text_to_itself(
    office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    office.open()

    def explode(*arguments: object, **names: object) -> None:
        raise ValueError(f"bad cell {TEXT_CANARY}")

    monkeypatch.setattr(tasks.ingest, "read_source", explode)
    answer = office.run()
    assert answer.exit_code == 1
    assert "ValueError" in answer.err and "resume" in answer.err
    assert not _places_with(TEXT_CANARY, office, answer, caplog)


def test_the_search_itself_finds_a_planted_canary(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    """Negative control."""
    (office.folder / "leak.txt").write_text(TEXT_CANARY)
    assert _places_with(TEXT_CANARY, office, Answer(0, "", ""), caplog)


def test_keys_are_in_no_file_but_their_own(published: Office) -> None:
    key = (published.home / "wrapping.key").read_text().strip()
    prefect_home = Path(os.environ["PREFECT_HOME"])
    for path in _files(published.folder) + _files(prefect_home):
        if path.name != "wrapping.key":
            assert key.encode() not in path.read_bytes(), path


def test_noise_switched_off_fails_the_probe_and_publishes_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.open()

    def no_noise(channel: object, private: PrivateCodes, *rest: object) -> ReleasedCodes:
        return ReleasedCodes(private.unit, private.batches, private.digest)

    monkeypatch.setattr(tasks.draw, "draw_codes", no_noise)
    answer = office.run("--quiet")
    assert answer.exit_code == 7, answer.text
    assert "probe" in answer.err
    assert not office.public.exists()


def test_too_many_values_at_the_bounds_stop_the_release(office: Office) -> None:
    """T10."""
    office.column("age")["epsilon"] = "0.5"
    office.release["checks"] = {"max_share_at_bounds": "0.3"}
    office.open()
    answer = office.run("--quiet")
    assert answer.exit_code == 7, answer.text
    assert "share_at_bounds" in answer.err and "age" in answer.err
    assert not office.public.exists()
