"""Where a store is: a folder, ``file:`` or ``memory:``, told apart from schemes that are not built yet."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from trasgo_lib.errors import ConfigError, Reason

_LATER_SCHEMES = frozenset({"s3", "gs", "az", "http", "https"})
_KEY_LIMIT_CHARACTERS = 900
"""S3 allows 1024 bytes; the rest is left for a prefix."""


def local_root(location: str | Path) -> Path | None:
    """The folder a location names, absolute; None for ``memory:``.

    Args:
        location: a folder, ``file:///absolute/folder`` or ``memory:``; public.

    Raises:
        ConfigError: for an object-store scheme (not built yet), an unknown scheme, or a ``file:`` URI that is not
            absolute.
    """
    if isinstance(location, Path):
        return location.absolute()
    scheme, colon, rest = location.partition(":")
    if not colon or "/" in scheme:
        if not location.strip():
            raise _refused(Reason.BAD_SHAPE, location, "Name a folder.")
        return Path(location).absolute()
    if scheme == "memory":
        return None
    if scheme == "file":
        parts = urlsplit(location)
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            raise _refused(Reason.BAD_SHAPE, location, "Write it as file:///absolute/folder.")
        return Path(unquote(parts.path))
    if scheme in _LATER_SCHEMES and rest.startswith("//"):
        raise _refused(Reason.NOT_BUILT_YET, location, "Publish to a folder; object stores come with a later version.")
    raise _refused(Reason.UNKNOWN_NAME, location, "For a folder with a colon in its name write ./ before it.")


def check_key(key: str) -> str:
    """The key itself, when it is a plain relative path.

    Args:
        key: segments joined by ``/``; public.

    Raises:
        ConfigError: for an empty key or segment, ``.``, ``..``, a leading ``/``, a backslash, a control character, a
            ``#`` (the local store's staging files are named ``name#1``), or more than 900 characters.
    """
    segments = key.split("/")
    plain = all(segment not in ("", ".", "..") and segment == segment.strip() for segment in segments)
    if plain and key.isprintable() and not set(key) & {"\\", "#"} and len(key) <= _KEY_LIMIT_CHARACTERS:
        return key
    raise ConfigError.of(
        Reason.BAD_SHAPE,
        "object key",
        required="a relative path without empty, . or .. segments, backslash, # or control characters",
        came=repr(key[:100]),
        fix="Correct the data set name, the version or the file name.",
    )


def _refused(reason: Reason, location: str, fix: str) -> ConfigError:
    # Only the scheme is shown: a store URI can carry a user name and a password.
    scheme = location.partition(":")[0] if ":" in location else location
    return ConfigError.of(
        reason, "store", required="a folder, file:///folder or memory:", came=repr(scheme[:100]), fix=fix
    )
