"""Where a run finds its ledger, its work folder and its wrapping key."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from trasgo_lib.config import (
    DaskAddress,
    DaskSpec,
    Keys,
    LedgerAddress,
    LedgerSpec,
    Publish,
    ReleaseInfo,
    SqliteFile,
    dask_address,
    dask_of,
    ledger_address,
    parse_embargo,
)
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.keys import WrappingKey, load_wrapping_key
from trasgo_lib.plan import ReleasePlan, require_ledger_for
from trasgo_lib.records import PublicationTerms, Records
from trasgo_lib.storage import local_root

KEY_VARIABLE = "TRASGO_WRAPPING_KEY"
KEY_FILE_VARIABLE = "TRASGO_KEY_FILE"
SIGNING_KEY_FILE_VARIABLE = "TRASGO_SIGNING_KEY_FILE"
SIGNING_KEY_FILE = "signing.key"


class DeclaresKeys(Protocol):
    """A file that may say where its keys are."""

    @property
    def keys(self) -> Keys | None:
        """Where the wrapping key is; None where the file does not say."""


class HoldsKeys(Protocol):
    """A compiled file of any product."""

    @property
    def config(self) -> DeclaresKeys:
        """Its models."""

    @property
    def config_path(self) -> Path:
        """Where it is."""


class DeclaresPublication(DeclaresKeys, Protocol):
    """A file that says what it publishes, where, and who must agree."""

    @property
    def release(self) -> ReleaseInfo:
        """What is said of the release."""

    @property
    def publish(self) -> Publish:
        """Where it goes, and who must agree before."""

    @property
    def ledger(self) -> LedgerSpec | None:
        """Where the records are; None where the file does not say."""


class VersionPlan(Protocol):
    """What a version needs of a compiled file, whatever it makes."""

    @property
    def config(self) -> DeclaresPublication:
        """Its models."""

    @property
    def config_path(self) -> Path:
        """Where it is."""

    @property
    def dataset(self) -> str:
        """The data set."""

    @property
    def version(self) -> str:
        """The version."""

    @property
    def account(self) -> str:
        """The account that the version belongs to."""

    @property
    def digest(self) -> str:
        """Digest of what decides what is published, hex; public."""

    @property
    def public_root(self) -> str:
        """Place of the public root."""

    @property
    def restricted_root(self) -> str:
        """Place of the restricted root."""


def require_release(plan: ReleasePlan) -> None:
    """Stop before anything when a release file is that of a rehearsal.

    Raises:
        ConfigError: it is; nothing of it can be run, approved, published or withdrawn.
    """
    if plan.is_rehearsal:
        raise ConfigError.of(
            Reason.REHEARSAL,
            f"{plan.config_path.name}: rehearsal",
            required="the file of a release",
            came="that of a rehearsal on made-up rows",
            fix="Use the release file that was rehearsed.",
        )


def ledger_place(plan: VersionPlan) -> LedgerAddress:
    """Where the ledger of a plan is: as declared (from the release file's folder), else in the restricted root."""
    if plan.config.ledger is not None:
        return ledger_address(plan.config.ledger.url, plan.config_path.parent)
    folder = local_root(plan.restricted_root)
    return SqliteFile((folder or Path()) / ".trasgo" / "ledger.db")


def open_records(plan: VersionPlan, *, create: bool = True) -> Records:
    """The records a plan is charged in.

    Args:
        plan: the compiled plan.
        create: whether an absent file is made.

    Raises:
        ConfigError: the declared source of the password has none.
        StoreError: the database is out of reach, or not as it must be.
    """
    return Records.open(ledger_place(plan), create=create, password=_declared_password(plan))


def password_from(variable: str) -> Callable[[], str]:
    """Gives the password that an environment variable holds, when it is asked for.

    Args:
        variable: its name; public.
    """

    def read() -> str:
        secret = os.environ.get(variable)
        if not secret:
            # the name is not shown: people write the password itself in its place
            raise _no_password("an environment variable that holds it", "a variable that is not set")
        return secret

    return read


def _declared_password(plan: VersionPlan) -> Callable[[], str] | None:
    declared = plan.config.ledger
    if declared is None:
        return None
    if declared.password_env is not None:
        return password_from(declared.password_env)
    if declared.password_block is not None:
        return _password_of_block(declared.password_block)
    return None


def _password_of_block(name: str) -> Callable[[], str]:
    @cache
    def read() -> str:
        secret = _text_of_block(name)
        if secret is None:
            raise _no_password("a Secret block of the orchestrator that holds it as text", "none that can be read")
        return secret

    return read


def key_file(plan: HoldsKeys, home: Path, environ: Callable[[str], str | None] = os.environ.get) -> Path | None:
    """The file that holds the wrapping key of a plan, or None when it is in a variable or a block."""
    keys = plan.config.keys
    if keys is not None:
        return None if keys.file is None else (plan.config_path.parent / keys.file).resolve()
    if environ(KEY_VARIABLE) is not None:
        return None
    file = environ(KEY_FILE_VARIABLE)
    return home / "wrapping.key" if file is None else Path(file).absolute()


def key_of_block(name: str) -> WrappingKey:
    """The wrapping key that a Secret block of the orchestrator holds; secret.

    Args:
        name: the block's name; public.

    Raises:
        ConfigError: there is no such block, or it holds no key.
    """
    text = _text_of_block(name)
    if text is None:
        raise ConfigError.of(
            Reason.KEY_UNUSABLE,
            f"wrapping key from the Secret block {name}",
            required="a Secret block of the orchestrator that holds it as text",
            came="none that can be read",
            fix="Correct keys.block, or make the block where PREFECT_API_URL points to.",
        )
    return WrappingKey.from_text(text, where=f"wrapping key from the Secret block {name}")


def _text_of_block(name: str) -> str | None:
    """The text that a Secret block holds; None when it cannot be read or holds something else."""
    # late: an office without blocks starts no orchestrator for it
    from prefect.blocks.system import Secret

    try:
        loaded: Any = Secret.load(name)
        secret = loaded.get()
    except Exception:  # noqa: BLE001 whatever the orchestrator raises can quote what it read
        return None
    return secret if isinstance(secret, str) and secret else None


def _no_password(required: str, came: str) -> ConfigError:
    return ConfigError.of(
        Reason.KEY_UNUSABLE,
        "the password of the ledger's role",
        required=required,
        came=came,
        fix="Correct password_env or password_block below `ledger`, or set PGPASSWORD or PGPASSFILE instead.",
    )


def publication_terms(plan: VersionPlan) -> PublicationTerms:
    """What a release file asks for before anything is public."""
    publish = plan.config.publish
    if not publish.approvals and publish.embargo is None:
        return PublicationTerms()
    embargo = None if publish.embargo is None else parse_embargo(publish.embargo)
    return PublicationTerms(
        approvals=publish.approvals,
        embargo=None if embargo is None else embargo.utc,
        embargo_words="" if embargo is None else embargo.words,
        service_accounts=tuple(sorted(set(publish.service_accounts))),
        public=plan.public_root,
    )


def wrapping_key(plan: HoldsKeys, home: Path, environ: Callable[[str], str | None] = os.environ.get) -> WrappingKey:
    """The wrapping key: as the release file says, else from the environment, else ``wrapping.key`` in the state folder.

    Raises:
        ConfigError: there is none, or it is not usable.
    """
    keys = plan.config.keys
    if keys is not None and keys.env is not None:
        return load_wrapping_key(None, environ(keys.env))
    if keys is not None and keys.block is not None:
        return key_of_block(keys.block)
    if keys is not None and keys.file is not None:
        return load_wrapping_key((plan.config_path.parent / keys.file).resolve(), None)
    return default_wrapping_key(home, environ)


def default_wrapping_key(home: Path, environ: Callable[[str], str | None] = os.environ.get) -> WrappingKey:
    """The wrapping key where no release file says: from the environment, else ``wrapping.key`` in the state folder.

    Raises:
        ConfigError: there is none, or it is not usable.
    """
    text, file = environ(KEY_VARIABLE), environ(KEY_FILE_VARIABLE)
    if text is not None or file is not None:
        return load_wrapping_key(None if file is None else Path(file), text)
    return load_wrapping_key(home / "wrapping.key", None)


def signing_key_file(
    home: Path, plan: HoldsKeys | None = None, environ: Callable[[str], str | None] = os.environ.get
) -> Path:
    """Where the signing keys are: as ``TRASGO_SIGNING_KEY_FILE`` says, else beside the wrapping key's file.

    Args:
        home: the state folder, which is the place when the wrapping key comes from a variable.
        plan: a compiled plan, whose release file may name the wrapping key's file.
        environ: looks up an environment variable.
    """
    named = environ(SIGNING_KEY_FILE_VARIABLE)
    if named is not None:
        return Path(named).absolute()
    keys = None if plan is None else plan.config.keys
    if plan is not None and keys is not None:
        beside = home if keys.file is None else (plan.config_path.parent / keys.file).resolve().parent
    else:
        file = environ(KEY_FILE_VARIABLE)
        beside = home if file is None else Path(file).absolute().parent
    return beside / SIGNING_KEY_FILE


def work_folder(plan: VersionPlan, home: Path) -> Path:
    """Where private work files go: beside the ledger in the restricted root, else in the state folder."""
    folder = local_root(plan.restricted_root)
    state = home if folder is None else folder / ".trasgo"
    return state / "work" / plan.dataset / plan.version


def scheduler_address(plan: ReleasePlan, environ: Callable[[str], str | None] = os.environ.get) -> DaskAddress | None:
    """The Dask scheduler that a release file names; None where it names none.

    Raises:
        ConfigError: the environment variable with it is not set or holds no address, or the ledger is a file on this
            machine and the scheduler is on another.
    """
    dask = dask_of(plan.config.runner)
    address = None if dask is None else declared_scheduler(dask, environ)
    if address is not None:
        require_ledger_for(plan.config, address)
    return address


def declared_scheduler(dask: DaskSpec, environ: Callable[[str], str | None] = os.environ.get) -> DaskAddress | None:
    """The Dask scheduler that a file names; None where it asks for workers of this machine.

    Args:
        dask: as the file declares it.
        environ: looks up an environment variable.

    Raises:
        ConfigError: the environment variable with it is not set, or holds no address.
    """
    if dask.is_local:
        return None
    text = dask.address if dask.address_env is None else environ(dask.address_env)
    if not text:
        raise ConfigError.of(
            Reason.BAD_PARAMETER,
            "runner.dask.address_env",
            required="an environment variable that holds the address of a scheduler",
            came="one that is not set",
            fix="Set it, or start workers of this machine with `runner: dask`.",
        )
    return dask_address(text, allow_tcp=dask.allow_tcp)
