"""The evidence of a run decides on nothing: a report that cannot be rendered, a resumed run, an embargo that ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from office import Office

import tasks.publish
import trasgo_lib.reporting.pictures
import trasgo_lib.reporting.restricted
import trasgo_lib.reporting.restricted_page

CELL = "age 44"


@pytest.fixture
def released(tmp_path: Path) -> Office:
    """An office whose loop never looks at raw data."""
    office = Office(tmp_path)
    for name in ("sex", "region"):
        office.column(name)["target"] = {"tvd": "0.4"}
    office.release["loop"] |= {"loss_from": "released", "composition": "chain", "start": "2"}
    return office


def _fails(*_: Any) -> Any:
    raise ValueError(CELL)


def _files(office: Office) -> dict[str, bytes]:
    folder = office.restricted
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("what", ["pictures", "losses"])
def test_a_report_that_cannot_be_rendered_stops_nothing(
    released: Office, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It holds what raw data made, so a release that hung on it would tell something of them that nobody paid for."""
    if what == "pictures":
        monkeypatch.setattr(trasgo_lib.reporting.pictures, "step_histograms", _fails)
    else:
        render = trasgo_lib.reporting.restricted_page._exact
        page = lambda facts: _fails() if facts.losses else render(facts)  # noqa: E731
        monkeypatch.setattr(trasgo_lib.reporting.restricted_page, "_exact", page)
    released.open()
    answer = released.run("--json")
    assert answer.exit_code == 0, answer.text
    assert answer.json["state"] == "published" and CELL not in answer.text
    found = _files(released)
    for name in ("report.md", "report.html"):
        text = found[name].decode()
        assert "could not be shown (ValueError)" in text and CELL not in text
    assert b'"tvd"' in found["losses.json"], "what was computed is kept"
    assert released.trasgo("verify", str(released.public)).exit_code == 0


def _stopped(office: Office, patch: pytest.MonkeyPatch, where: str) -> dict[str, bytes]:
    """A run that ends after its evidence was put; gives the evidence."""

    def stops(*_: Any) -> None:
        raise RuntimeError("stopped")

    put = tasks.publish.publish_package

    def stops_before_the_public_root(staged: Any, store: Any, prefix: str) -> None:
        put(staged, store, prefix) if store.private else stops()

    patch.setattr(tasks.publish, where, stops_before_the_public_root if where == "publish_package" else stops)
    assert office.run("--quiet").exit_code not in {0, 9}
    found = _files(office)
    assert {"report.md", "report.html", "checks.html", "losses.json"} <= found.keys() and "waiting.json" not in found
    return found


def test_a_resumed_run_comes_to_the_same_evidence(released: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    released.open()
    with monkeypatch.context() as patch:
        before = _stopped(released, patch, "publish_package")
    own = released.restricted / "provenance.json"
    commitment = json.loads(before["provenance.json"])["provenance"]["root_commitment"].encode()
    own.chmod(0o600)
    own.write_bytes(before["provenance.json"].replace(commitment, b"0" * 64))
    other = released.run("--quiet")
    assert other.exit_code == 4 and "already_exists" in other.err, "evidence of other draws is not taken for one's own"
    own.write_bytes(before["provenance.json"])
    answer = released.run("--quiet")
    assert answer.exit_code == 0, answer.text
    assert _files(released) == before


@pytest.mark.parametrize("first", ["waits", "publishes"])
def test_an_embargo_that_is_lifted_or_set_while_a_run_is_down_does_not_block_it(
    released: Office, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """The evidence says how the version stood when it was first put; whether it waits is told by the record."""
    embargo = {"embargo": "2099-01-01T00:00:00 Europe/Madrid"}
    if first == "waits":
        released.release["publish"] |= embargo
    released.open()
    with monkeypatch.context() as patch:
        before = _stopped(released, patch, "put_waiting" if first == "waits" else "publish_package")
    if first == "waits":
        del released.release["publish"]["embargo"]
    else:
        released.release["publish"] |= embargo
    released.write()
    answer = released.run("--quiet")
    assert answer.exit_code == (0 if first == "waits" else 9), answer.text
    after = _files(released)
    assert {name: after[name] for name in before} == before
