"""``trasgo audit``: with restricted access and the wrapping key, redraw a published version and compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.console import actor, guarded, home, out, say_json
from trasgo_lib.errors import ConflictError, VerificationError

if TYPE_CHECKING:
    from tasks.session import Session
    from trasgo_lib.release import AuditReport

_CONFIG = typer.Argument(help="The release file of the version.")
_SOURCE = typer.Option(None, "--source", help="The sealed source, when it is no longer where the release file says.")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")


def audit(config: Path = _CONFIG, source: Path | None = _SOURCE, as_json: bool = _JSON) -> None:
    """Verify files, records and source, redraw every published level, compare; charges and publishes nothing."""
    with guarded(as_json):
        from flows.audit import audit as run_audit

        report = run_audit(_session(config, source))
        if as_json:
            say_json(report.to_json())
        else:
            for result in report.failures:
                out.print(f"FAILED {result.name}: {result.subject}: required {result.required}; came {result.came}")
            out.print(f"Audit of {report.release}: {_verdict(report)}", markup=False)
            for sentence in report.in_words:
                out.print(f"  {sentence}", markup=False)
        if not report.passed:
            raise typer.Exit(VerificationError.exit_code)
        if not report.redrawn:
            raise typer.Exit(ConflictError.exit_code)


def _verdict(report: AuditReport) -> str:
    if not report.passed:
        return "DOES NOT HOLD"
    return "holds" if report.redrawn else "holds as far as it can still be checked"


def _session(config: Path, source: Path | None) -> Session:
    from dataclasses import replace

    from tasks.session import RunRef, open_session
    from trasgo_lib.plan import read_plan

    loaded, _ = read_plan(config)
    ref = RunRef(config=str(config.absolute()), config_digest=loaded.text_digest, home=str(home()), actor=actor())
    session = open_session(ref)
    if source is None:
        return session
    return replace(session, plan=replace(session.plan, source_path=source.absolute()))
