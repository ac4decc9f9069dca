"""``trasgo key``: the wrapping key under which roots and digest keys are stored, and the key that signs releases."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.console import err, guarded, home, out, say_json

if TYPE_CHECKING:
    from tasks.places import VersionPlan
    from trasgo_lib.keys import SigningKeys, WrappingKey

app = typer.Typer(help="Wrapping keys and signing keys.", no_args_is_help=True)

_FILE = typer.Option(None, "--file", help="Where the key goes; default: wrapping.key in the state folder.")
_IF_ABSENT = typer.Option(False, "--if-absent", help="Make only what does not exist yet.")
_CONFIG = typer.Option(
    None,
    "--config",
    help="A release file whose `keys` say where the wrapping key is, when not at the default.",
)
_ALL = typer.Option(False, "--all", help="Earlier keys, too: what verifies every release ever signed here.")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")


@app.callback()
def _noun() -> None:
    """Wrapping keys: whoever holds one and the ledger holds the raw data. Signing keys: who published."""


@app.command("init")
def init(file: Path | None = _FILE, if_absent: bool = _IF_ABSENT, config: Path | None = _CONFIG) -> None:
    """Make a new wrapping key, readable by you alone, and a signing key wrapped under it."""
    with guarded():
        from tasks.places import KEY_VARIABLE, SIGNING_KEY_FILE, SIGNING_KEY_FILE_VARIABLE, signing_key_file
        from trasgo_lib.keys import load_wrapping_key

        if config is not None:
            _init_of(config, if_absent=if_absent)
            return
        in_variable = os.environ.get(KEY_VARIABLE) if file is None else None
        if in_variable is not None:
            _init_signing(load_wrapping_key(None, in_variable), signing_key_file(home()))
            return
        path = (file or home() / "wrapping.key").absolute()
        key = _init_wrapping(path, if_absent=if_absent)
        named = os.environ.get(SIGNING_KEY_FILE_VARIABLE)
        _init_signing(key, path.with_name(SIGNING_KEY_FILE) if named is None else Path(named).absolute())


def _init_of(config: Path, *, if_absent: bool) -> None:
    """Make what a release file asks for: its key file, unless the key is elsewhere, and a signing key under it."""
    from tasks.places import key_file, signing_key_file, wrapping_key

    plan = _plan(config)
    path = key_file(plan, home())
    key = wrapping_key(plan, home()) if path is None else _init_wrapping(path, if_absent=if_absent)
    _init_signing(key, signing_key_file(home(), plan))


def _plan(config: Path) -> VersionPlan:
    from flows.environment import prepare_prefect
    from tasks.products import plan_of

    plan = plan_of(config)
    if plan.config.keys is not None and plan.config.keys.block is not None:
        prepare_prefect(home())
    return plan


def _init_wrapping(path: Path, *, if_absent: bool) -> WrappingKey:
    from trasgo_lib.keys import WrappingKey

    if if_absent and path.exists():
        key = WrappingKey.from_file(path)
        out.print(f"Key: {path} (kept)", markup=False)
        return key
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = WrappingKey.generate(os.urandom)
    key.write_file(path)
    out.print(f"Key: {path} (new). Keep a copy: without it no version can be resumed.", markup=False)
    return key


def _init_signing(key: WrappingKey, path: Path) -> None:
    """A signing key that exists is never replaced: it is what readers know the office by."""
    from trasgo_lib.errors import ConflictError
    from trasgo_lib.keys import SigningKeys

    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        keys = SigningKeys.generate(key, os.urandom)
        keys.write_file(path)
        out.print(f"Signing key: {path} (new), id {keys.public[-1].key_id}", markup=False)
        return
    keys = SigningKeys.from_file(path)
    try:
        keys.key(key)
    except ConflictError:
        err.print(f"Signing key: {path} is wrapped under another wrapping key; it signs with that one only.")
        return
    out.print(f"Signing key: {path} (kept), id {keys.public[-1].key_id}", markup=False)


@app.command("public")
def public(every: bool = _ALL, as_json: bool = _JSON, config: Path | None = _CONFIG) -> None:
    """Print the public half of the signing key in PEM; hand it to readers by another road than the releases."""
    with guarded(as_json):
        keys = _stored(None if config is None else _plan(config)).public
        chosen = keys if every else keys[-1:]
        if as_json:
            rows = [{"key_id": key.key_id, "public": key.to_pem().decode("ascii")} for key in chosen]
            say_json({"signs_now": keys[-1].key_id, "keys": rows})
            return
        for key in chosen:
            out.print(key.to_pem().decode("ascii").rstrip("\n"), markup=False)
            err.print(f"key id {key.key_id}" + ("" if key == keys[-1] else " (an earlier key)"), markup=False)


@app.command("renew-signing")
def renew_signing(config: Path | None = _CONFIG) -> None:
    """Make a new signing key; earlier ones stay, to verify what they signed and to finish what was begun."""
    with guarded():
        from tasks.places import default_wrapping_key, signing_key_file, wrapping_key

        plan = None if config is None else _plan(config)
        key = default_wrapping_key(home()) if plan is None else wrapping_key(plan, home())
        keys = _stored(plan).renewed(key, os.urandom)
        keys.write_file(signing_key_file(home(), plan), replace=True)
        out.print(f"Signing key: new, id {keys.public[-1].key_id}. Publish it: trasgo key public --all", markup=False)


def _stored(plan: VersionPlan | None) -> SigningKeys:
    from tasks.places import signing_key_file
    from trasgo_lib.keys import SigningKeys

    return SigningKeys.from_file(signing_key_file(home(), plan))
