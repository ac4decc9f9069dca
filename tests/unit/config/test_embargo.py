"""Embargoes: exact instants from local times, and named faults where a local time is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from trasgo_lib.config import load_config
from trasgo_lib.config.embargo import EmbargoError, parse_embargo
from trasgo_lib.errors import ConfigError

GOOD = """\
format: 1
release: {dataset: cps, version: "1", title: CPS}
source: {path: cps.csv, format: csv}
privacy: {epsilon_total: "8", account: cps}
columns:
  - {name: wage, type: number, domain: {lower: "0", upper: "2000", step: "10"}, mechanism: laplace, epsilon: "1"}
publish: {store: out}
"""


@pytest.mark.parametrize(
    ("text", "utc", "words"),
    [
        ("2026-12-15T09:30:00 Europe/Madrid", "2026-12-15T08:30:00+00:00", "2026-12-15T09:30:00+01:00 Europe/Madrid"),
        ("2026-07-15T09:30 Europe/Madrid", "2026-07-15T07:30:00+00:00", "2026-07-15T09:30+02:00 Europe/Madrid"),
        ("2026-12-15T09:30:00+01:00 Europe/Madrid", "2026-12-15T08:30:00+00:00", None),
        ("2026-12-15T09:30:00+00:00 Atlantic/Canary", "2026-12-15T09:30:00+00:00", None),
        ("2026-12-15T09:30Z UTC", "2026-12-15T09:30:00+00:00", None),
        ("2026-12-15T09:30 Asia/Kathmandu", "2026-12-15T03:45:00+00:00", None),
        # the hour that exists twice, told apart by its offset
        ("2026-10-25T02:30+02:00 Europe/Madrid", "2026-10-25T00:30:00+00:00", None),
        ("2026-10-25T02:30+01:00 Europe/Madrid", "2026-10-25T01:30:00+00:00", None),
    ],
)
def test_a_local_time_is_one_instant(text: str, utc: str, words: str | None) -> None:
    found = parse_embargo(text)
    assert found.utc == utc
    assert words is None or found.words == words


@pytest.mark.parametrize(
    ("text", "required", "came"),
    [
        ("2026-10-25T02:30 Europe/Madrid", "exists once", "has twice"),
        ("2026-03-29T02:30 Europe/Madrid", "that exists", "skip"),
        ("2026-03-29T02:30+01:00 Europe/Madrid", "that exists", "skip"),
        ("2026-12-15T09:30+02:00 Europe/Madrid", "own offset", "does not have then"),
        ("2026-12-15T09:30 Europe/Nowhere", "IANA list", "Nowhere"),
        ("2026-12-15T09:30 Europe", "IANA list", "Europe"),
        ("2026-12-15T09:30+01:00", "its zone", "2026"),
        ("2026-12-15T09:30", "its zone", "2026"),
        ("2026-12-15 Europe/Madrid", "its zone", "2026"),
        ("2026-02-30T09:30 Europe/Madrid", "its zone", "2026-02-30"),
        ("0001-01-01T00:30 Asia/Tokyo", "its zone", "0001"),
        ("2026-12-15T09:30 ../etc/passwd", "its zone", "passwd"),
        ("", "its zone", "''"),
    ],
)
def test_what_is_no_instant_is_named(text: str, required: str, came: str) -> None:
    with pytest.raises(EmbargoError) as caught:
        parse_embargo(text)
    assert required in caught.value.required and came in caught.value.came and caught.value.fix


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ("store: out", "store: out, approvals: 3", "publish.approvals", "2"),
        ("store: out", "store: out, approvals: -1", "publish.approvals", "0"),
        ("store: out", 'store: out, approvals: "2"', "publish.approvals", "number"),
        ("store: out", "store: out, approvals: true", "publish.approvals", "Boolean"),
        ("store: out", 'store: out, embargo: "2026-03-29T02:30 Europe/Madrid"', "publish.embargo", "skip"),
        ("store: out", 'store: out, embargo: "2026-03-29"', "publish.embargo", "its zone"),
        ("store: out", "store: out, embargo: 2026-03-29T09:30:00Z", "publish.embargo", "zone"),
        (
            "title: CPS",
            'title: CPS, supersedes: {version: "1", reason: error, note: n}',
            "supersedes.version",
            "this one",
        ),
        ("title: CPS", 'title: CPS, supersedes: {version: "0", reason: typo, note: n}', "supersedes.reason", "error"),
        ("title: CPS", 'title: CPS, supersedes: {version: "0", reason: error, note: ""}', "supersedes.note", "text"),
        (
            "title: CPS",
            'title: CPS, supersedes: {version: "../0", reason: error, note: n}',
            "supersedes.version",
            "../0",
        ),
        ("publish:", "keys: {file: a, block: b}\npublish:", "keys", "exactly one of file, env, block"),
        ("publish:", "keys: {}\npublish:", "keys", "exactly one of file, env, block"),
    ],
)
def test_what_a_release_file_cannot_ask_for(tmp_path: Path, old: str, new: str, where: str, words: str) -> None:
    assert GOOD.count(old) == 1
    path = tmp_path / "release.yaml"
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    (fault,) = caught.value.faults
    assert where in fault.where and words in str(fault) and fault.line is not None


def test_what_it_can_ask_for(tmp_path: Path) -> None:
    more = 'store: out, approvals: 2, embargo: "2026-12-15T09:30 Europe/Madrid", service_accounts: [robot]'
    path = tmp_path / "release.yaml"
    path.write_text(GOOD.replace("store: out", more) + "keys: {block: b}\n", encoding="utf-8")
    publish = load_config(path).config.publish
    assert (publish.approvals, publish.service_accounts) == (2, ("robot",))
