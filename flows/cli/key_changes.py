"""``trasgo key rotate`` and ``trasgo key destroy``: what can happen to a key after it was made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.console import actor, guarded, home, out

if TYPE_CHECKING:
    from tasks.places import VersionPlan
    from trasgo_lib.keys import WrappingKey

_CONFIGS = typer.Argument(help="A release file for each ledger under the key; they must name the same key.")
_TO = typer.Option("", "--to", help="env:NAME or block:NAME that holds the new key, when the key is not in a file.")
_WHY = typer.Option("rotation", "--reason", help="Why, in words; recorded.")
_RELEASE = typer.Argument(help="DATASET/VERSION")
_CONFIG = typer.Option(..., "--config", help="A release file of the ledger that holds it.")
_REASON = typer.Option(..., "--reason", help="Why, in words; recorded.")
_YES = typer.Option(False, "--yes", help="Do not ask.")
_FORCE = typer.Option(False, "--force-unfinished", help="Also end a version that was never published.")


def rotate(configs: list[Path] = _CONFIGS, to: str = _TO, reason: str = _WHY) -> None:
    """Wrap every root, digest key and signing key under a new key; an interrupted call is gone on with."""
    with guarded():
        from tasks.places import open_records, signing_key_file, wrapping_key
        from tasks.products import plan_of
        from tasks.rotation import next_key, rewrap_signing, take_place
        from tasks.rotation import rotate as rewrap

        plans = [plan_of(config) for config in configs]
        path = _one_file(plans)
        if (path is None) == (not to):
            raise _unclear(path)
        old = wrapping_key(plans[0], home())
        new = next_key(path) if path is not None else _named(to)
        for plan in plans:
            done = rewrap(open_records(plan, create=False), old, new, actor(), reason)
            word = "were under it already" if done.done_before else "wrapped under the new key"
            out.print(f"{plan.account}: {done.accounts} digest keys, {done.versions} roots {word}, each read back.")
        signing = rewrap_signing(signing_key_file(home(), plans[0]), old, new)
        out.print(f"Signing keys: {signing}, under the new key.", markup=False)
        if path is None:
            out.print(f"Now use {to} in every release file. Keep the old key while backups need it.", markup=False)
            return
        retired = take_place(path)
        out.print(f"Key: {path} (new). The old one is {retired}: it opens backups made before today.", markup=False)


def destroy(
    release: str = _RELEASE,
    config: Path = _CONFIG,
    reason: str = _REASON,
    yes: bool = _YES,
    force_unfinished: bool = _FORCE,
) -> None:
    """Overwrite the root of a version: nothing of it can be drawn again, by anyone, for good."""
    with guarded():
        from tasks.places import open_records
        from tasks.products import plan_of
        from tasks.version_life import now

        dataset, _, version = release.partition("/")
        plan = plan_of(config)
        records = open_records(plan, create=False)
        records.require_open()
        if not yes:
            typer.confirm(f"Destroy the root of {release}? No audit can redraw it afterwards.", abort=True)
        record = records.destroy_root(dataset, version, actor(), reason, now(), unfinished=force_unfinished)
        out.print(
            f"Destroyed: the root of {release}, now {record.state.value}. What it spent stays spent.", markup=False
        )
        out.print(
            "Backups of the ledger still hold it, wrapped: rotate the key, and destroy the old one.", markup=False
        )


def _one_file(plans: list[VersionPlan]) -> Path | None:
    """The key file that all plans use, or None when none of them uses a file."""
    from tasks.places import key_file
    from trasgo_lib.errors import ConfigError, Reason

    places = {key_file(plan, home()) for plan in plans}
    if len(places) == 1:
        return places.pop()
    raise ConfigError.of(
        Reason.KEY_UNUSABLE, "keys", required="release files of one key", came="of several", fix="Rotate one at a time."
    )


def _named(to: str) -> WrappingKey:
    import os

    from tasks.places import key_of_block
    from trasgo_lib.keys import load_wrapping_key

    kind, _, name = to.partition(":")
    if kind == "block" and name:
        return key_of_block(name)
    if kind == "env" and name:
        return load_wrapping_key(None, os.environ.get(name))
    raise _unclear(None)


def _unclear(path: Path | None) -> Exception:
    from trasgo_lib.errors import ConfigError, Reason

    return ConfigError.of(
        Reason.BAD_PARAMETER,
        "--to",
        required="env:NAME or block:NAME for a key that is not in a file" if path is None else "no --to",
        came="neither" if path is None else f"one, and the key is in {path}",
        fix="A key in a file is rotated in its file; another is put at its new place first.",
    )
