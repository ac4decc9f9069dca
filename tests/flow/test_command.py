"""The command itself: help, exit codes, what it loads, what it says of a wrong release file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from office import Office

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "configs" / "demo" / "cps1988.yaml"


def _loaded_by(*arguments: str) -> set[str]:
    code = (
        "import sys, json\n"
        f"sys.argv = ['trasgo', *{list(arguments)!r}]\n"
        "from flows.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "sys.stderr.write('LOADED ' + json.dumps(sorted(name.split('.')[0] for name in sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(json.loads(result.stderr.split("LOADED ", 1)[1]))


@pytest.mark.parametrize("arguments", [("--help",), ("plan", str(DEMO)), ("plan", str(DEMO), "--json")])
def test_help_and_plan_load_no_orchestrator_and_no_checker(arguments: tuple[str, ...]) -> None:
    assert not _loaded_by(*arguments) & {"prefect", "great_expectations", "pandas", "scipy"}


def test_verify_loads_no_orchestrator_and_no_checker(published: Office) -> None:
    assert not _loaded_by("verify", str(published.public)) & {"prefect", "great_expectations"}


@pytest.mark.parametrize(
    "noun",
    [
        (),
        ("plan",),
        ("run",),
        ("resume",),
        ("verify",),
        ("audit",),
        ("ledger", "open"),
        ("key", "init"),
        ("key", "public"),
        ("key", "renew-signing"),
    ],
)
def test_every_verb_has_help(office: Office, noun: tuple[str, ...]) -> None:
    answer = office.trasgo(*noun, "--help")
    assert answer.exit_code == 0
    assert "Usage" in answer.out


def test_version(office: Office) -> None:
    import trasgo_lib

    assert office.trasgo("--version").out.strip() == trasgo_lib.__version__


def test_a_key_is_never_overwritten(office: Office) -> None:
    assert office.trasgo("key", "init").exit_code == 0
    text = (office.home / "wrapping.key").read_text()
    assert (office.home / "wrapping.key").stat().st_mode & 0o777 == 0o600
    assert office.trasgo("key", "init").exit_code == 4
    assert office.trasgo("key", "init", "--if-absent").exit_code == 0
    assert (office.home / "wrapping.key").read_text() == text


def test_an_account_opens_once_and_only_on_the_same_terms(office: Office) -> None:
    office.open(epsilon="10")
    again = ("ledger", "open", str(office.config), "--population", "made-up people", "--if-absent", "--epsilon")
    assert office.trasgo(*again, "10").exit_code == 0
    assert office.trasgo(*again, "20").exit_code == 4
    assert office.trasgo("ledger", "show", str(office.config), "--json").json["cap"]["epsilon"] == "10"


@pytest.mark.parametrize("verb", ["plan", "run", "resume"])
def test_faults_of_a_release_file_come_all_at_once_with_line_and_key(office: Office, verb: str) -> None:
    office.column("age")["domain"]["step"] = "7"
    office.column("sex")["domain"]["codes"] = ["f"]
    office.release["privacy"]["epsilon_total"] = 12.5
    office.write()
    answer = office.trasgo(verb, str(office.config))
    assert answer.exit_code == 2
    assert "privacy.epsilon_total" in answer.err and "line " in answer.err and "quote" in answer.err.lower()
    office.release["privacy"]["epsilon_total"] = "12.5"
    office.write()
    answer = office.trasgo(verb, str(office.config))
    assert answer.exit_code == 2
    assert "columns[age].domain" in answer.err and "columns[sex].domain" in answer.err and "line " in answer.err
    assert "Traceback" not in answer.text


def test_a_missing_release_file_is_a_clear_error(office: Office) -> None:
    answer = office.trasgo("plan", str(office.folder / "absent.yaml"))
    assert answer.exit_code == 2 and "absent.yaml" in answer.err


def test_errors_as_json_hold_no_row_counts(office: Office) -> None:
    office.open()
    source = office.folder / "people.csv"
    source.write_text(source.read_text().replace(",f,", ",unheard,", 41))
    answer = office.run("--json")
    assert answer.exit_code == 3
    assert answer.json["faults"][0]["reason"] == "out_of_domain"
    assert "rows" not in answer.json["faults"][0] and "41" not in answer.out


def test_verify_finds_a_changed_byte_and_a_missing_manifest(published: Office, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(published.public, copy)
    data = copy / "data" / "people.csv"
    data.write_bytes(data.read_bytes().replace(b"north", b"south", 1))
    answer = published.trasgo("verify", str(copy))
    assert answer.exit_code == 8 and "data/people.csv" in answer.out
    (copy / "manifest.json").unlink()
    assert published.trasgo("verify", str(copy)).exit_code == 8


def test_two_runs_of_one_version_do_not_interleave(office: Office) -> None:
    from trasgo_lib.records import Records

    office.open()
    records = Records.open(office.folder / "store" / "restricted" / ".trasgo" / "ledger.db")
    holder = "elsewhere 1 2026"
    with records.lease("people", "1", holder):
        answer = office.run("--quiet")
        assert answer.exit_code == 4 and "locked" in answer.text
    assert office.run("--quiet").exit_code == 0
