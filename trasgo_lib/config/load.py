"""From a path to a release file's models, with every fault at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from trasgo_lib.config.collection import CollectionConfig
from trasgo_lib.config.document import Document, KeyPath, read_document
from trasgo_lib.config.faults import faults_of, in_file_order, placed_fault
from trasgo_lib.config.keys import COLLECTION, STATISTICS, TRAINING, Pattern
from trasgo_lib.config.release import ReleaseConfig
from trasgo_lib.config.salvage import sound_part
from trasgo_lib.config.sections import as_release
from trasgo_lib.config.shape import Model
from trasgo_lib.config.statistics import StatisticsConfig
from trasgo_lib.config.training import TrainingConfig
from trasgo_lib.config.undecided import not_undecided, undecided_faults
from trasgo_lib.errors import ConfigError, Fault, Reason

_LARGEST_FILE_BYTES = 8 * 2**20
"""Release files are written by people; the largest code lists stay far below this."""

M = TypeVar("M", bound=Model)

_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Loaded(Generic[M]):
    """A file that has the right shape.

    Args:
        config: its models.
        path: where it was read from.
        text_digest: SHA-256 of its bytes, hex; public.
        document: its values and marks.
    """

    config: M
    path: Path
    text_digest: str
    document: Document

    def resolve(self, text: str) -> Path:
        """A path written in the file; relative ones start at the file's folder."""
        return (self.path.parent / text).resolve()

    def fault(self, reason: Reason, key_path: KeyPath, *, required: str, came: str, fix: str) -> Fault:
        """A fault at a key, with its line, its column and its name (``columns[wage].domain.step``)."""
        return placed_fault(self.document, reason, key_path, required=required, came=came, fix=fix)

    def placed(self, fault: Fault, key_path: KeyPath) -> Fault:
        """A fault found elsewhere, placed at a key."""
        mark = self.document.mark(key_path)
        return replace(fault, where=self.document.name_of(key_path), line=mark.line, column=mark.column)


_KINDS = (
    ("queries", "a statistics file", "plan", "query"),
    ("model", "a training file", "plan", "train"),
    ("area", "a collection file", "collect size", "collect run"),
)
"""The key that tells each sister of a release file, its name in words, what shows it, and what runs it."""

LoadedConfig = Loaded[ReleaseConfig]
"""A release file."""

LoadedCollection = Loaded[CollectionConfig]
"""A collection file."""


@dataclass(frozen=True, slots=True)
class LoadedSister(Generic[M]):
    """A statistics file or a training file that has the right shape.

    Args:
        config: its models.
        loaded: the same file as far as the rules of release files go; marks are the file's own.
    """

    config: M
    loaded: LoadedConfig


LoadedStatistics = LoadedSister[StatisticsConfig]
"""A statistics file."""

LoadedTraining = LoadedSister[TrainingConfig]
"""A training file."""


@dataclass(frozen=True, slots=True)
class SoundPart:
    """A release file in which unsound parts are replaced by stand-ins; only for finding further faults.

    Args:
        loaded: the file with stand-ins; marks and names are those of the real file.
        sections: names of the sections that are the file's own; ``columns`` when every column is.
    """

    loaded: LoadedConfig
    sections: frozenset[str]


def load_config(path: Path) -> LoadedConfig:
    """Read a release file.

    Args:
        path: a YAML 1.2 file in UTF-8; public.

    Raises:
        ConfigError: all faults at once, each with line, column, key, what was required, what came, what to do.
    """
    opened = _open(path)
    try:
        return opened.loaded(_modelled(opened.document, ReleaseConfig, ()))
    except ConfigError:
        other = _other_kind(opened, path)
        if other is None:
            raise
    came, fix = other
    fix = fix[0].upper() + fix[1:]
    raise ConfigError.of(Reason.BAD_SHAPE, str(path), required="a release file", came=came, fix=fix)


def tells_its_kind(path: Path) -> str | None:
    """What a file is that is no release file, in words; None for a release file and for what cannot be read."""
    try:
        other = _other_kind(_open(path), path)
    except ConfigError:
        return None
    return None if other is None else other[0]


def load_sound_part(path: Path) -> SoundPart | None:
    """What can still be judged of a release file whose shape is wrong.

    Faults of meaning in its sound columns can then be reported together with the faults of shape.

    Args:
        path: a release file that ``load_config`` refused.

    Returns:
        None when not even the text can be read as YAML.
    """
    try:
        opened = _open(path)
    except ConfigError:
        return None
    if not isinstance(opened.document.value, dict):
        return None
    config, sound = sound_part(opened.document.value)
    return SoundPart(opened.loaded(config), sound)


def holds_queries(path: Path) -> bool:
    """Whether a file is a statistics file: it has ``queries`` at its top. False for what cannot be read."""
    return _has_at_top(path, "queries")


def holds_model(path: Path) -> bool:
    """Whether a file is a training file: it has ``model`` at its top. False for what cannot be read."""
    return _has_at_top(path, "model")


def holds_area(path: Path) -> bool:
    """Whether a file is a collection file: it has ``area`` at its top. False for what cannot be read."""
    return _has_at_top(path, "area")


def _has_at_top(path: Path, key: str) -> bool:
    try:
        return _open(path).has(key)
    except ConfigError:
        return False


def load_statistics(path: Path) -> LoadedStatistics:
    """Read a statistics file.

    Args:
        path: a YAML 1.2 file in UTF-8; public.

    Raises:
        ConfigError: all faults at once, each with line, column, key, what was required, what came, what to do.
    """
    opened = _open(path)
    if opened.lacks("queries"):
        came, fix = _other_kind(opened, path) or (
            "none, as in a release file",
            f"run it as a release: trasgo run {path}",
        )
        raise ConfigError.of(
            Reason.BAD_SHAPE,
            str(path),
            required="a statistics file, with `queries`",
            came=came,
            fix=f"Add `queries`; or {fix}",
        )
    return _sister(opened, StatisticsConfig, STATISTICS)


def load_training(path: Path) -> LoadedTraining:
    """Read a training file.

    Args:
        path: a YAML 1.2 file in UTF-8; public.

    Raises:
        ConfigError: all faults at once, each with line, column, key, what was required, what came, what to do.
    """
    opened = _open(path)
    if opened.lacks("model"):
        came, fix = _other_kind(opened, path) or (
            "none, as in a release file",
            f"run it as a release: trasgo run {path}",
        )
        raise ConfigError.of(
            Reason.BAD_SHAPE,
            str(path),
            required="a training file, with `model`",
            came=came,
            fix=f"Add `model`; or {fix}",
        )
    return _sister(opened, TrainingConfig, TRAINING)


def load_collection(path: Path) -> LoadedCollection:
    """Read a collection file.

    Args:
        path: a YAML 1.2 file in UTF-8; public.

    Raises:
        ConfigError: all faults at once, each with line, column, key, what was required, what came, what to do.
    """
    opened = _open(path)
    other = None if opened.has("area") else _other_kind(opened, path)
    if other is not None:
        raise ConfigError.of(
            Reason.BAD_SHAPE,
            str(path),
            required="a collection file, with `area`",
            came=other[0],
            fix=f"Add `area`; or {other[1]}",
        )
    return opened.loaded(_modelled(opened.document, CollectionConfig, COLLECTION))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of release files, for editors; stored as ``release.schema.json`` beside this module."""
    schema = ReleaseConfig.model_json_schema()
    return {"$schema": _SCHEMA_DIALECT, **schema, "title": "Trasgo release file"}


def json_schema_text() -> str:
    """The schema as it is stored."""
    return json.dumps(json_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read_text(path: Path) -> str:
    """The text of a file that people write.

    Raises:
        ConfigError: not readable, too large, or not UTF-8.
    """
    return _decoded(_read(path), path)


@dataclass(frozen=True, slots=True)
class _Opened:
    """The values of a file before its shape is judged, and what is kept of the file with them."""

    document: Document
    path: Path
    text_digest: str

    def has(self, key: str) -> bool:
        """Whether a key stands at its top."""
        return isinstance(self.document.value, Mapping) and key in self.document.value

    def lacks(self, key: str) -> bool:
        """Whether it has keys at its top, and this one is not among them."""
        return isinstance(self.document.value, Mapping) and key not in self.document.value

    def loaded(self, config: M) -> Loaded[M]:
        """The file with its models."""
        return Loaded(config, self.path, self.text_digest, self.document)


def _open(path: Path) -> _Opened:
    raw = _read(path)
    return _Opened(read_document(_decoded(raw, path)), path.resolve(), hashlib.sha256(raw).hexdigest())


def _other_kind(opened: _Opened, path: Path) -> tuple[str, str] | None:
    """What a file is instead of a release file, and what to do with it; None for a release file."""
    for key, kind, look, verb in _KINDS:
        if opened.has(key):
            return (
                f"{kind}: it has `{key}`",
                f"look at it with: trasgo {look} {path}; run it with: trasgo {verb} {path}",
            )
    return None


def _sister(opened: _Opened, model: type[M], root: Pattern) -> LoadedSister[M]:
    config = _modelled(opened.document, model, root)
    return LoadedSister(config, opened.loaded(as_release(config)))


def _read(path: Path) -> bytes:
    try:
        raw = path.read_bytes() if path.stat().st_size <= _LARGEST_FILE_BYTES else None
    except OSError as error:
        came = error.strerror or "an error of the operating system"
        raise ConfigError.of(
            Reason.FILE_UNREADABLE, str(path), required="a readable file", came=came, fix="Correct the path."
        ) from None
    if raw is None:
        raise ConfigError.of(
            Reason.FILE_UNREADABLE,
            str(path),
            required=f"at most {_LARGEST_FILE_BYTES} bytes",
            came="a larger file",
            fix="Name the release file, not the data.",
        )
    return raw


def _decoded(raw: bytes, path: Path) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        fault = Fault(
            Reason.BAD_ENCODING,
            str(path),
            "UTF-8 text",
            f"a byte that is not UTF-8, at offset {error.start}",
            "Save the release file as UTF-8.",
            line=line,
            column=column,
        )
        raise ConfigError(fault) from None


def _modelled(document: Document, model: type[M], root: Pattern) -> M:
    if not isinstance(document.value, Mapping):
        fault = placed_fault(
            document,
            Reason.BAD_SHAPE,
            (),
            required="a mapping that begins with `format: 1`",
            came="an empty file" if document.value is None else "something else",
            fix="Start from a draft: trasgo init DATA.",
        )
        raise ConfigError(fault)
    refused = (*document.faults, *undecided_faults(document))
    try:
        config = model.model_validate(document.value)
    except ValidationError as error:
        told = {(fault.line, fault.column) for fault in document.faults}
        # what stands for a refused alias or tag is not refused a second time
        more = (fault for fault in faults_of(error, document, root) if (fault.line, fault.column) not in told)
        raise ConfigError(*in_file_order((*refused, *not_undecided(more, refused)))) from None
    if refused:
        raise ConfigError(*in_file_order(refused))
    return config
