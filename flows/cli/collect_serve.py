"""``trasgo collect serve``, ``run``, ``token`` and ``key``: take noised reports, and publish a window of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.console import actor, err, guarded, home, out, progress, say_json
from trasgo_lib.errors import ConfigError, Reason, StoreError

if TYPE_CHECKING:
    from flows.collecting import WindowOutcome
    from tasks.collection_session import CollectionSession

PORT = 8723

_CONFIG = typer.Argument(help="The collection file (YAML).")
_HOST = typer.Option("127.0.0.1", "--host", help="Where to listen; other machines come through a proxy with TLS.")
_PORT = typer.Option(PORT, "--port", min=0, max=65535, help="0: any free one.")
_WINDOW = typer.Option(None, "--window", help="First day of the window; default: the last one that is over.")
_JSON = typer.Option(False, "--json", help="End with one JSON object on standard output.")
_QUIET = typer.Option(False, "--quiet", help="No progress on standard error.")
_GROUP = typer.Argument(help="Name of the client group.")


def serve(config: Path = _CONFIG, host: str = _HOST, port: int = _PORT, quiet: bool = _QUIET) -> None:
    """Take batches of noised reports until it is stopped; every one that is acknowledged is on disk."""
    with guarded(), progress(quiet):
        from flows.collector.app import Limits, make_app
        from flows.collector.desk import Desk
        from flows.collector.serving import listen
        from flows.collector.serving import serve as serving
        from tasks.collection_session import collector_key, open_collection, today, tokens_file
        from trasgo_lib.collection.intake import ClientGroups

        os.umask(0o077)
        _, session = open_collection(config.absolute(), home())
        session.restricted.require_create_once()
        tokens = tokens_file(home())
        groups = ClientGroups.parse(_read(tokens), f"token file {tokens}")
        receiver = session.receiver(collector_key(home()), today)
        declared = session.config.collector
        desk = Desk(receiver, declared.waiting)
        limits = Limits(declared.body_bytes, float(declared.batches_per_second), float(declared.burst))
        alphabets = {one.version: one.to_json() for one in session.plan.alphabets}
        app = make_app(desk, groups, limits, session.plan.to_json(), alphabets=alphabets)
        try:
            at = listen(host, port)
        except OSError as error:
            came = error.strerror or "an error"
            raise StoreError.of(
                Reason.LOCKED, f"{host}:{port}", required="a free port", came=came, fix="Name another: --port."
            ) from None
        serving(app, desk, at, lambda address: err.print(f"{session.dataset}: taking batches at {address}/v1/batches"))
        refused = ", ".join(f"{reason} {count}" for reason, count in sorted(desk.refused.items())) or "none"
        err.print(f"Stopped. Reports taken: {desk.accepted}; refused: {refused}.")


def run(config: Path = _CONFIG, window: str | None = _WINDOW, as_json: bool = _JSON, quiet: bool = _QUIET) -> None:
    """Close a window, count its reports, publish estimates and maps; a published window is left as it is."""
    with guarded(as_json, goes_on=True):
        from flows.environment import prepare_prefect

        prepare_prefect(home())
        from flows.collecting import run_window
        from tasks.collection_closing import last_over
        from tasks.collection_session import open_collection

        digest, session = open_collection(config.absolute(), home())
        name = window or last_over(session.plan)
        outcome = run_window(digest, session, name, actor(), around=progress(quiet or as_json))
        _tell(session, name, outcome, as_json)
        if outcome.waiting is not None:
            raise outcome.waiting


def token(group: str = _GROUP) -> None:
    """Make a token for a client group; it is shown once, and only its digest is kept."""
    with guarded():
        from tasks.collection_session import tokens_file
        from trasgo_lib.collection.intake import ClientGroups

        path = tokens_file(home())
        groups = ClientGroups.parse(_read(path), f"token file {path}") if path.exists() else ClientGroups({})
        groups, secret = groups.with_token(group, os.urandom)
        _replace(path, groups.to_bytes())
        out.print(secret)
        err.print(f"Token of {group}; the service knows it after its next start. Its digest is in {path}.")


def key() -> None:
    """Make the collector's key, once; it opens the secrets of windows and nothing else."""
    with guarded():
        from tasks.collection_session import collector_key_file
        from trasgo_lib.keys import WrappingKey

        path = collector_key_file(home())
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        WrappingKey.generate(os.urandom).write_file(path)
        out.print(f"Made {path}. Without it, devices that reported in an open window are no longer recognised.")


def add_to(app: typer.Typer) -> None:
    """Add these commands to ``trasgo collect``."""
    for name, command in (("serve", serve), ("run", run), ("token", token), ("key", key)):
        app.command(name)(command)


def _tell(session: CollectionSession, window: str, outcome: WindowOutcome, as_json: bool) -> None:
    import json

    from trasgo_lib.release import MANIFEST
    from trasgo_lib.release.collection_file import point_estimates

    prefix = session.prefix(window)
    is_public = session.public.exists(f"{prefix}/{MANIFEST}")
    statement = json.loads(session.public.get(f"{prefix}/statement.json")) if is_public else None
    points = None if statement is None else point_estimates(statement)
    if as_json:
        say_json(
            {
                "release": prefix,
                "state": outcome.state.value,
                "public": session.public.uri(prefix) if is_public else None,
                "already_published": outcome.already,
                "reports": None if statement is None else statement["reports"],
                "shown": None if statement is None else _shown(statement["linkage"]["levels"]),
                "points": None if points is None else points["reports"],
                "points_shown": None if points is None else _shown([points["linkage"]]),
                "manifest_sha256": session.public.digest(f"{prefix}/{MANIFEST}") if is_public else None,
                "awaits": None if outcome.waiting is None else str(outcome.waiting.reason),
            }
        )
        return
    word = outcome.state.value.capitalize() if statement is not None else "Packaged"
    out.print(f"{'Already ' + word.lower() if outcome.already else word}: {prefix}", markup=False)
    if statement is not None:
        out.print(f"  files    {session.public.uri(prefix).removeprefix('file://')}", markup=False)
        if statement["versions"]:
            out.print(f"  reports  {statement['reports']:,}")
        for one in statement["linkage"]["levels"]:
            out.print(f"  shown    {one['shown']:,} cells of resolution {one['resolution']}")
    if points is not None:
        out.print(f"  points   {points['reports']:,}")
        out.print(f"  shown    {points['linkage']['shown']:,} cells of resolution {points['linkage']['resolution']}")
    elif statement is not None and statement.get("point") is not None:
        out.print("  points   too few, not published")
    report_key = f"{prefix}/collection_report.json"
    if session.restricted.exists(report_key):
        refused = json.loads(session.restricted.get(report_key))["refused"]
        out.print("  refused  " + (", ".join(f"{reason} {count:,}" for reason, count in refused.items()) or "none"))


def _shown(levels: list[dict[str, int]]) -> dict[str, int]:
    return {str(one["resolution"]): one["shown"] for one in levels}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError.of(
            Reason.KEY_UNUSABLE,
            f"token file {path}",
            required="a readable file",
            came=error.strerror or "an error",
            fix="Make a token for each client group: trasgo collect token GROUP.",
        ) from None


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)
