"""What a collection is run with: plan, stores and keys, opened from a reference of public facts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path

from tasks.stores import open_root
from trasgo_lib.collection import CollectionPlan, read_collection
from trasgo_lib.collection.intake import Journal, Receiver
from trasgo_lib.collection.statement import plan_digest, release_version
from trasgo_lib.config import CollectionConfig
from trasgo_lib.errors import ConfigError, ConflictError, Reason
from trasgo_lib.keys import WrappingKey, load_wrapping_key
from trasgo_lib.release import release_prefix
from trasgo_lib.storage import ObjectStore, local_root

KEY_VARIABLE = "TRASGO_COLLECTOR_KEY"
KEY_FILE_VARIABLE = "TRASGO_COLLECTOR_KEY_FILE"
KEY_FILE = "collector.key"
TOKENS_VARIABLE = "TRASGO_COLLECTOR_TOKENS"
TOKENS_FILE = "collector-tokens.json"


@dataclass(frozen=True, slots=True)
class CollectionRef:
    """The public facts from which every task opens a window.

    Args:
        config: absolute path of the collection file.
        config_digest: SHA-256 of its text, hex; another text under the same path is refused.
        home: the state folder.
        window: first day of the window.
        actor: who runs it, for the records.
    """

    config: str
    config_digest: str
    home: str
    window: str
    actor: str


@dataclass(frozen=True, slots=True)
class CollectionSession:
    """A collection, opened in this process.

    Args:
        plan: the compiled collection.
        config_path: where its file is.
        home: the state folder.
        public: the public root.
        restricted: the restricted root.
    """

    plan: CollectionPlan
    config_path: Path
    home: Path
    public: ObjectStore
    restricted: ObjectStore

    @property
    def config(self) -> CollectionConfig:
        """The file's models."""
        return self.plan.config

    @property
    def dataset(self) -> str:
        """Name of the collection."""
        return self.config.release.dataset

    @property
    def digest(self) -> str:
        """Digest of what decides what is published, hex; public."""
        return plan_digest(self.plan)

    def prefix(self, window: str) -> str:
        """Where a window stands below either root."""
        return release_prefix(self.dataset, release_version(self.plan, window))

    def work(self, window: str) -> Path:
        """Folder for the work files of a window, private."""
        folder = local_root(root_of(self.config_path, self.config, is_public=False))
        state = self.home if folder is None else folder / ".trasgo"
        return state / "work" / self.dataset / release_version(self.plan, window)

    def journal(self, key: WrappingKey | None = None) -> Journal:
        """The records of its windows.

        Args:
            key: the collector's; without it records can be read and closed, and not added to.
        """
        return Journal(self.restricted, self.dataset, key, os.urandom, self.plan.windows.days)

    def receiver(self, key: WrappingKey, today: Callable[[], date]) -> Receiver:
        """Takes batches.

        Args:
            key: the collector's; secret.
            today: the day, UTC.
        """
        return Receiver(self.journal(key), self.plan.shapes, self.plan.windows, today)


def today() -> date:
    """The day, UTC."""
    return datetime.now(UTC).date()


def collector_key(home: Path, environ: Callable[[str], str | None] = os.environ.get) -> WrappingKey:
    """The collector's own key: it opens the secrets of windows, and nothing else of the office.

    Args:
        home: the state folder.
        environ: looks up an environment variable.

    Raises:
        ConfigError: there is none, or it is not usable.
    """
    text = environ(KEY_VARIABLE)
    if text is not None:
        return WrappingKey.from_text(text, where="collector key from the environment")
    path = collector_key_file(home, environ)
    if not path.exists():
        raise ConfigError.of(
            Reason.KEY_UNUSABLE,
            f"collector key file {path}",
            required="the key of the collector",
            came="no file",
            fix="Make it, once: trasgo collect key",
        )
    return load_wrapping_key(path, None)


def collector_key_file(home: Path, environ: Callable[[str], str | None] = os.environ.get) -> Path:
    """Where the collector's key is, unless a variable holds it."""
    named = environ(KEY_FILE_VARIABLE)
    return home / KEY_FILE if named is None else Path(named).absolute()


def tokens_file(home: Path, environ: Callable[[str], str | None] = os.environ.get) -> Path:
    """Where the digests of the client groups' tokens are."""
    named = environ(TOKENS_VARIABLE)
    return home / TOKENS_FILE if named is None else Path(named).absolute()


def open_collection(config: Path, home: Path) -> tuple[str, CollectionSession]:
    """Open a collection from its file.

    Args:
        config: the collection file.
        home: the state folder.

    Returns:
        The digest of the file's text, and the session.

    Raises:
        ConfigError: the file or credentials are wrong.
        StoreError: a root cannot be opened.
    """
    loaded, plan = read_collection(config)
    publish = plan.config.publish
    session = CollectionSession(
        plan=plan,
        config_path=loaded.path,
        home=home,
        public=open_root(root_of(loaded.path, plan.config, is_public=True), publish.public_s3),
        restricted=open_root(root_of(loaded.path, plan.config, is_public=False), publish.restricted_s3, private=True),
    )
    return loaded.text_digest, session


@lru_cache(maxsize=4)
def collection_of(ref: CollectionRef) -> CollectionSession:
    """Open a window's collection from a reference; kept for the life of the process.

    Raises:
        ConflictError: the file is no longer the one the run began with.
    """
    digest, session = open_collection(Path(ref.config), Path(ref.home))
    if digest != ref.config_digest:
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            "collection file",
            required="the text this run began with",
            came="another text",
            fix="Start the run again.",
        )
    return session


def resolve(config_path: Path, text: str) -> str:
    """A folder or URI as the file writes it; folders start at the file's folder."""
    return text.rstrip("/") if "://" in text else (config_path.parent / text).resolve().as_posix()


def root_of(config_path: Path, config: CollectionConfig, *, is_public: bool) -> str:
    """Folder or URI of the public or the restricted root; folders are absolute."""
    publish, kind = config.publish, "public" if is_public else "restricted"
    named = publish.public if is_public else publish.restricted
    return resolve(config_path, named) if named else f"{resolve(config_path, publish.store or '')}/{kind}"
