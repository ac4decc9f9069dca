"""``trasgo prior``: write public knowledge of the values, from an earlier published release or a public file."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.console import err, guarded

if TYPE_CHECKING:
    from trasgo_lib.analysis.prior_document import PriorDraft

_CONFIG = typer.Argument(help="The release file (YAML) that the prior is for; it may lack one.")
_RELEASE = typer.Option(None, "--from-release", help="Folder or URI of an earlier published version; verified first.")
_FILE = typer.Option(None, "--from-file", help="A public file with the same columns, in the format of the source.")
_SOURCE = typer.Option(None, "--source", help="Where everyone can find that file, in words.")

_PUBLIC_KEY = bytes(32)
"""The file is public: its digests hide nothing, and nothing is drawn with it."""

_ROWS_PER_BATCH = 2**18


def prior(
    config: Path = _CONFIG,
    from_release: str | None = _RELEASE,
    from_file: Path | None = _FILE,
    source: str | None = _SOURCE,
) -> None:
    """Write a prior (YAML) on standard output; what to look at goes to standard error."""
    with guarded():
        from trasgo_lib.plan.declared import declared_columns

        _require_one(from_release, from_file, source)
        loaded, columns = declared_columns(config)
        if from_release is not None:
            from trasgo_lib.analysis.prior import prior_of_release

            draft = prior_of_release(from_release, columns)
        else:
            from trasgo_lib.analysis.prior_counts import prior_of_file
            from trasgo_lib.data import read_source
            from trasgo_lib.noise import Keystream
            from trasgo_lib.plan.declared import public_reading

            reading = public_reading(loaded, columns, (from_file or Path()).resolve())
            with tempfile.TemporaryDirectory(prefix="trasgo-prior-") as work:
                table, _ = read_source(
                    reading,
                    digest_key=_PUBLIC_KEY,
                    permutation=lambda digest: Keystream(_PUBLIC_KEY, digest),
                    work=Path(work),
                    rows_per_batch=_ROWS_PER_BATCH,
                )
                draft = prior_of_file(table, columns, source or "")
        sys.stdout.write(draft.text())
        sys.stdout.flush()
        _say(draft)


def _require_one(from_release: str | None, from_file: Path | None, source: str | None) -> None:
    from trasgo_lib.errors import ConfigError, Reason

    if (from_release is None) == (from_file is None):
        came = "neither" if from_release is None else "both"
        required, fix = "one of --from-release and --from-file", "Name one of them."
        raise ConfigError.of(Reason.BAD_PARAMETER, "trasgo prior", required=required, came=came, fix=fix)
    if (from_file is None) != (not (source or "").strip()):
        required = "--source beside --from-file, and only there: where everyone can find that file"
        came, fix = (
            "no words" if from_file is not None else "words",
            'Write it as in --source "CPS microdata, March 1987".',
        )
        raise ConfigError.of(Reason.BAD_PARAMETER, "--source", required=required, came=came, fix=fix)


def _say(draft: PriorDraft) -> None:
    err.print(f"{len(draft.columns)} columns and {len(draft.correlations)} correlations, from: {draft.source}")
    for words in draft.hidden:
        err.print(f"  not in it, or uncertain: {words}")
    err.print(
        "Look at it before you use it: is its source public for everyone, and about people like those of this release?"
    )
