"""``trasgo status``: where a version stands, what it waits for, and who did what."""

from __future__ import annotations

from pathlib import Path

import typer

from flows.cli.console import guarded, out, say_json

_WINDOW = typer.Option(None, "--window", help="Of a collection: first day of the window; default: the last one over.")
_CONFIG = typer.Argument(help="The release file (YAML).")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")


def status(config: Path = _CONFIG, window: str | None = _WINDOW, as_json: bool = _JSON) -> None:
    """State of a version, what it awaits, from whom and until when, and its whole life."""
    with guarded(as_json):
        from tasks.review import open_review

        review = open_review(config, window)
        if as_json:
            say_json(review.to_json())
            return
        record, found = review.record, review.publication
        out.print(f"{record.dataset}/{record.version}: {record.state.value}", markup=False)
        if review.awaits is not None:
            fault = review.awaits.faults[0]
            out.print(f"  awaits    {fault.required}; so far: {fault.came}", markup=False)
            out.print(f"            {fault.fix}", markup=False)
        if found.terms.approvals and record.manifest_digest is None:
            barred = ", ".join(sorted(found.runners | set(found.terms.service_accounts)))
            out.print(f"  cannot approve: {barred}", markup=False)
        for event in review.life:
            word = event.state.value if event.kind == "state" else event.kind
            out.print(f"  {event.at}  {word:10} {event.actor}: {event.reason}", markup=False)
