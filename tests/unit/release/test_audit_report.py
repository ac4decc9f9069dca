"""What an audit says: drift is named, codes and files are compared, and the words fit what was done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trasgo_lib.errors import Reason
from trasgo_lib.release import (
    AuditReport,
    Drift,
    SignatureState,
    VerificationResult,
    compare_codes,
    compare_files,
    drift_between,
    publish_package,
)
from trasgo_lib.release.verification import judge
from trasgo_lib.storage import ObjectStore, open_store

SOUND = judge("redrawn codes", "wage", "the same", "the same", Reason.REDRAW_DIFFERS)
BROKEN = judge("redrawn codes", "wage", "the same", "others", Reason.REDRAW_DIFFERS)
WRITER, OTHER = Drift("pyarrow", "26", "27"), Drift("numpy", "2.4.0", "2.4.1")


def report(*results: VerificationResult, drift: tuple[Drift, ...] = (), **more: Any) -> AuditReport:
    parts = {"redrawn": True, "bytes_compared": True, "signature": SignatureState("a" * 64, True), **more}
    return AuditReport("demo/1", results, drift, **parts)


def test_drift_is_what_differs_and_nothing_else() -> None:
    then = {"pyarrow": "26", "numpy": "2.4.0", "something": "else"}
    assert drift_between(then, {"pyarrow": "27", "numpy": "2.4.0"}) == (WRITER,)
    assert str(drift_between({}, {"numpy": "2"})[0]) == "numpy: not recorded then, 2 now"


def test_codes_are_compared_and_their_digests_not_shown() -> None:
    recorded = {"wage": "1" * 64, "region": "2" * 64}
    results = list(compare_codes(recorded, {"wage": "1" * 64, "region": "3" * 64, "new": "4" * 64}))
    assert [(result.subject, result.passed) for result in results] == [("wage", True), ("region", False)]
    text = json.dumps([result.to_json() for result in results])
    assert not [digit for digit in "1234" if digit * 64 in text]


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, made: Any, tmp_path: Path) -> ObjectStore:
    opened = open_store(tmp_path if request.param == "folder" else "memory:")
    publish_package(made.package, opened, "demo/1")
    return opened


def test_files_are_compared_by_rows_and_by_bytes(store: ObjectStore, made: Any) -> None:
    data = made.package.files[:2]
    listed = {file.key: file.sha256 for file in made.package.files}
    results = list(compare_files(store, "demo/1", listed, data, with_bytes=True))
    assert [(result.name, result.subject, result.passed) for result in results] == [
        ("redrawn rows", "data/demo.parquet", True),
        ("redrawn bytes", "data/demo.parquet", True),
        ("redrawn bytes", "data/demo.csv", True),
    ]
    results = list(compare_files(store, "demo/1", {}, data, with_bytes=True))
    assert [result.passed for result in results] == [True, False, False]
    results = list(compare_files(store, "elsewhere/1", listed, data, with_bytes=False))
    assert [(result.name, result.passed, result.reason) for result in results] == [
        ("redrawn rows", False, Reason.MISSING_FILE)
    ]


def test_the_words_fit_what_was_done() -> None:
    sound = report(SOUND)
    assert sound.passed and sound.failures == ()
    assert "the same codes, the same rows" in " ".join(sound.in_words)
    assert "File bytes were compared" in " ".join(sound.in_words)
    broken = report(SOUND, BROKEN, drift=(OTHER,))
    assert not broken.passed and broken.failures == (BROKEN,)
    assert "the same codes" not in " ".join(broken.in_words)
    assert "Drifted besides: numpy: 2.4.0 then, 2.4.1 now." in broken.in_words
    drifted = report(SOUND, drift=(WRITER, OTHER), bytes_compared=False)
    assert "their writer drifted (pyarrow: 26 then, 27 now)" in " ".join(drifted.in_words)
    ended = report(SOUND, redrawn=False, bytes_compared=False)
    assert "redraws of this version have ended" in " ".join(ended.in_words)
    assert "writer" not in " ".join(ended.in_words)
    assert all("Nothing was charged" in one.in_words[-1] for one in (sound, broken, drifted, ended))


def test_an_audit_without_checks_does_not_pass() -> None:
    assert not report().passed


def test_the_report_is_strict_json() -> None:
    document = json.loads(json.dumps(report(SOUND, drift=(OTHER,)).to_json(), allow_nan=False))
    assert document["format"] == 1 and document["passed"] and document["redrawn"]
    assert document["drift"] == [{"name": "numpy", "then": "2.4.0", "now": "2.4.1"}]
    assert document["signature"]["signer_checked"] is True
