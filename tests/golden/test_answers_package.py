"""A small package of answers, file for file: noisy numbers set by hand, fixed key, fixed time, the real writers.

What was published stays readable by ``verify``, and the same numbers give the same bytes. A difference here is a break
of a stored format: while none has been released, write the package anew with
``.venv/bin/python tests/golden/test_answers_package.py``; after that, raise the format instead.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from trasgo_lib.keys import SigningKey
from trasgo_lib.release import Anchors, PublishedBefore, Signing, verify_release
from trasgo_lib.statistics import StatisticsPlan, read_statistics
from trasgo_lib.statistics.answering import Drawn
from trasgo_lib.statistics.answers import answers_of
from trasgo_lib.statistics.package import StatisticsFacts, stage_statistics

GOLDEN = Path(__file__).with_name("answers")
STATISTICS_FILE = Path(__file__).with_name("answers.yaml")
SIGNING_KEY = SigningKey(bytes(range(64, 96)))
ROWS = 1000
NOISY: dict[str, dict[str, tuple[int, ...]]] = {
    "region_by_sex": {"rows": (150, 130, 9, 210, 190, 40, 120, 141, -3)},
    "by_region": {"rows": (291, 447, 255)},
    "ages": {"rows": (203, 187, 214, 190, 199)},
    "southerners": {"rows": (438,)},
    "total_balance": {"sum": (310, 502, 275)},
    "mean_age": {"mean": (4462,)},
    "spread": {"mean": (-41,), "squares": (23804,), "rows": (712,)},
    "quarter": {"choice": (2,)},
    "middle": {"choice": (4,)},
    "youngest": {"choice": (0,)},
    "oldest": {"choice": (9,)},
    "commonest": {"choice": (1, 0)},
    "split": {"choice": (0,)},
    "large": {"answers": (0, 1)},
}


def stage(work: Path) -> dict[str, Path]:
    """Stage the package."""
    _, plan = read_statistics(STATISTICS_FILE)
    answers = answers_of(plan, {query.name: _drawn(plan, query.name) for query in plan.queries})
    facts = StatisticsFacts(plan, ROWS, plan.cost, "2030-01-31T12:00:00+00:00", "0.1.0", "0123abc")
    anchors = Anchors(plan.base.digest, plan.base.account, 9, "ab" * 32, PublishedBefore("1", "cd" * 32))
    package = stage_statistics(facts, answers, work, Signing(SIGNING_KEY, anchors))
    return {file.key: file.path for file in package.files}


def _drawn(plan: StatisticsPlan, name: str) -> Drawn:
    return Drawn(name, plan.query(name).digest, ROWS, tuple(NOISY[name].items()))


def test_the_stored_package_verifies() -> None:
    report = verify_release(GOLDEN, keys=(SIGNING_KEY.public,))
    assert report.passed, report.failures
    assert len(report.results) > 200 and report.signature.signer_checked


def test_the_same_numbers_give_the_same_bytes(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    stored = {str(path.relative_to(GOLDEN)): path for path in GOLDEN.rglob("*") if path.is_file()}
    assert staged.keys() == stored.keys()
    differ = [key for key in staged if staged[key].read_bytes() != stored[key].read_bytes()]
    assert differ == []


def test_another_number_gives_other_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setitem(NOISY, "southerners", {"rows": (439,)})
    staged = stage(tmp_path)
    differ = {key for key in staged if staged[key].read_bytes() != (GOLDEN / key).read_bytes()}
    assert {"data/answers.json", "data/answers.csv", "report.html", "manifest.json"} <= differ
    assert "statement.json" not in differ


def test_the_how_to_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Two cells of the table hold 280 noisy rows together, give or take 2.1 standard deviations of two draws."""
    text = (GOLDEN / "HOWTO_USE.md").read_text(encoding="utf-8")
    script = text.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(GOLDEN)
    exec(compile(script, "HOWTO_USE.md", "exec"), {})  # noqa: S102 the script of our own golden file
    said = capsys.readouterr().out
    assert "280, 95 %: 263 to 297" in said and "withheld" not in said.split("southerners")[1].split("\n")[0]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed")
def test_the_how_to_in_r_says_the_same() -> None:
    text = (GOLDEN / "HOWTO_USE.md").read_text(encoding="utf-8")
    script = text.split("```r\n")[1].split("```")[0]
    command = ["Rscript", "--vanilla", "-e", script]
    done = subprocess.run(command, cwd=GOLDEN, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].split()[1:] == ["280.0000", "263.2437", "296.7563"]
    assert "southerners" in done.stdout


def main() -> None:
    """Write the stored package anew."""
    with tempfile.TemporaryDirectory() as work:
        staged = stage(Path(work))
        shutil.rmtree(GOLDEN, ignore_errors=True)
        for key, path in staged.items():
            (GOLDEN / key).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, GOLDEN / key)


if __name__ == "__main__":
    main()
