"""``trasgo withdraw``: take the data of a published version back."""

from __future__ import annotations

from pathlib import Path

import typer

from flows.cli.console import actor, guarded, out

_WINDOW = typer.Option(None, "--window", help="Of a collection: first day of the window; default: the last one over.")
_CONFIG = typer.Argument(help="The release file (YAML) of the version.")
_REASON = typer.Option(..., "--reason", help="Why, in words; recorded and public.")
_YES = typer.Option(False, "--yes", help="Do not ask.")


def withdraw(config: Path = _CONFIG, window: str | None = _WINDOW, reason: str = _REASON, yes: bool = _YES) -> None:
    """Remove the data files of a published version; manifest, statement and what was spent stay."""
    with guarded():
        from tasks.review import open_review
        from tasks.withdrawal import withdraw as take_back

        review = open_review(config, window)
        name = f"{review.record.dataset}/{review.record.version}"
        if not yes:
            typer.confirm(f"Remove the data of {name} from {review.plan.public_root}, for good?", abort=True)
        removed = take_back(review, actor(), reason)
        out.print(f"Withdrawn: {name}; removed: {', '.join(removed) or 'nothing more'}.", markup=False)
        out.print("Copies that others made are out of reach, and what it spent stays spent.", markup=False)
