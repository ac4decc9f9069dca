"""``trasgo verify``: check a published release, offline, from its public files and the publisher's public key."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flows.cli.console import guarded, out, say_json
from trasgo_lib.errors import ConfigError, Reason, VerificationError

if TYPE_CHECKING:
    from trasgo_lib.keys import PublicKey
    from trasgo_lib.release import VerificationReport
    from trasgo_lib.release.verification import VerificationResult
    from trasgo_lib.storage import ObjectStore

PUBLIC_KEY_VARIABLE = "TRASGO_SIGNING_PUBLIC_KEY"
"""Names the file of the publisher's public keys, for readers who verify often."""

_KEY_FILE_LIMIT_BYTES = 1 << 20
_PLACE = typer.Argument(help="Folder or URI of one published version (the one that holds manifest.json).")
_KEY = typer.Option(
    None,
    "--key",
    help=f"PEM file with the publisher's public keys; default: the file that {PUBLIC_KEY_VARIABLE} names.",
)
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")


def verify(place: str = _PLACE, key: Path | None = _KEY, as_json: bool = _JSON) -> None:
    """Check hashes, signature, completeness, schemas, certificates and the sums of the statement."""
    with guarded(as_json):
        from trasgo_lib.release import verify_release

        report = verify_release(place, keys=_keys(key), collections=_counts)
        if as_json:
            say_json(report.to_json())
        else:
            for result in report.failures:
                out.print(f"FAILED {result.name}: {result.subject}: required {result.required}; came {result.came}")
            for note in report.notes:
                out.print(f"NOTE {note.name}: {note.subject}: {note.came}", markup=False)
            out.print(f"{_verdict(report)}: {len(report.checks)} checks of {report.location}", markup=False)
            out.print(report.signature.in_words, markup=False)
        if not report.passed:
            raise typer.Exit(VerificationError.exit_code)


def _counts(store: ObjectStore, prefix: str, manifest: dict[str, Any]) -> Iterator[VerificationResult]:
    # late: only who verifies a collection waits for H3
    from trasgo_lib.collection.verify import verify_counts

    return verify_counts(store, prefix, manifest)


def _verdict(report: VerificationReport) -> str:
    if report.passed:
        return "verified"
    failures = len(report.failures)
    if not report.is_rehearsal:
        return f"NOT verified, {failures} checks failed"
    rest = "every other check holds" if failures == 1 else f"{failures - 1} other checks failed, too"
    return f"A REHEARSAL, not a release; {rest}"


def _keys(file: Path | None) -> tuple[PublicKey, ...]:
    from trasgo_lib.keys import read_public_keys

    named = os.environ.get(PUBLIC_KEY_VARIABLE)
    path = file if file is not None or not named else Path(named)
    if path is None:
        return ()
    where = f"public key file {path}"
    try:
        with path.open("rb") as stream:
            text = stream.read(_KEY_FILE_LIMIT_BYTES)
    except OSError as error:
        came = error.strerror or "an error"
        fix = "Name the file that holds the publisher's public key."
        raise ConfigError.of(Reason.KEY_UNUSABLE, where, required="a readable file", came=came, fix=fix) from None
    return read_public_keys(text, where=where)
