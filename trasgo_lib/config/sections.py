"""Sections that other files have in common with release files: the same keys, words and rules."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from trasgo_lib.config.release import ReleaseConfig
from trasgo_lib.config.shape import Model

_SHARED = ("release", "source", "privacy", "columns", "publish", "keys", "ledger")
"""What a version, its account and its places need of a file, whatever it makes."""


def same_section(name: str) -> Any:
    """The field of a release file under this name, with its default, words and example.

    Args:
        name: a key at the top of a release file.
    """
    field = ReleaseConfig.model_fields[name]
    return Field(
        default=field.default,
        description=field.description,
        examples=field.examples,
        json_schema_extra=field.json_schema_extra,
    )


def as_release(config: Model) -> ReleaseConfig:
    """A statistics file or a training file as far as the rules of release files go.

    Args:
        config: a file with all shared sections.
    """
    return ReleaseConfig(format=1, **{name: getattr(config, name) for name in _SHARED})
