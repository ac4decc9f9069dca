"""``trasgo verify``: check a published release, offline, from its public files alone."""

from __future__ import annotations

import typer

from flows.cli.console import guarded, out, say_json
from trasgo_lib.errors import VerificationError

_PLACE = typer.Argument(help="Folder or URI of one published version (the one that holds manifest.json).")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")


def verify(place: str = _PLACE, as_json: bool = _JSON) -> None:
    """Check hashes, completeness, schemas, certificates and the sums of the statement."""
    with guarded(as_json):
        from trasgo_lib.release import verify_release

        report = verify_release(place)
        if as_json:
            say_json(report.to_json())
        else:
            for result in report.failures:
                out.print(f"FAILED {result.name}: {result.subject}: required {result.required}; came {result.came}")
            verdict = "verified" if report.passed else f"NOT verified, {len(report.failures)} checks failed"
            out.print(f"{verdict}: {len(report.results)} checks of {report.location}", markup=False)
        if not report.passed:
            raise typer.Exit(VerificationError.exit_code)
