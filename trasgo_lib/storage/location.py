"""Where a store is: a folder, ``file:``, ``s3://bucket/prefix`` or ``memory:``; other schemes are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from trasgo_lib.errors import ConfigError, Reason

_LATER_SCHEMES = frozenset({"gs", "az", "http", "https"})
_KEY_LIMIT_CHARACTERS = 900
"""S3 allows 1024 bytes; the rest is left for a prefix."""

_PREFIX_LIMIT_CHARACTERS = 100
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A place in an S3 store.

    Args:
        name: the bucket.
        prefix: segments joined by ``/``, without one at either end; empty for the whole bucket.
    """

    name: str
    prefix: str

    @property
    def uri(self) -> str:
        """``s3://bucket/prefix``."""
        return f"s3://{self.name}/{self.prefix}".rstrip("/")

    def holds(self, other: Bucket) -> bool:
        """Whether everything of the other place lies in this one."""
        inside = not self.prefix or f"{other.prefix}/".startswith(f"{self.prefix}/")
        return self.name == other.name and inside


def place_of(location: str | Path) -> Path | Bucket | None:
    """What a location names: an absolute folder, a place in a bucket, or None for ``memory:``.

    Args:
        location: a folder, ``file:///absolute/folder``, ``s3://bucket/prefix`` or ``memory:``; public.

    Raises:
        ConfigError: for a scheme that is not served, a ``file:`` URI that is not absolute, or an ``s3:`` URI that is
            more than a bucket and a plain prefix.
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
    if scheme == "s3":
        return _bucket(location, rest)
    if scheme in _LATER_SCHEMES and rest.startswith("//"):
        raise _refused(Reason.NOT_BUILT_YET, location, "Publish to a folder or to s3://bucket/prefix.")
    raise _refused(Reason.UNKNOWN_NAME, location, "For a folder with a colon in its name write ./ before it.")


def local_root(location: str | Path) -> Path | None:
    """The folder a location names, absolute; None for a bucket and for ``memory:``.

    Args:
        location: as for :func:`place_of`; public.

    Raises:
        ConfigError: as for :func:`place_of`.
    """
    place = place_of(location)
    return place if isinstance(place, Path) else None


def check_key(key: str) -> str:
    """The key itself, when it is a plain relative path.

    Args:
        key: segments joined by ``/``; public.

    Raises:
        ConfigError: for an empty key or segment, ``.``, ``..``, a leading ``/``, a backslash, a control character, a
            ``#`` (a folder's staging files are named ``name#1``), or more than 900 characters.
    """
    if _is_plain(key):
        return key
    raise ConfigError.of(
        Reason.BAD_SHAPE,
        "object key",
        required="a relative path without empty, . or .. segments, backslash, # or control characters",
        came=repr(key[:100]),
        fix="Correct the data set name, the version or the file name.",
    )


def _is_plain(key: str) -> bool:
    named = all(segment not in ("", ".", "..") and segment == segment.strip() for segment in key.split("/"))
    return named and key.isprintable() and not set(key) & {"\\", "#"} and len(key) <= _KEY_LIMIT_CHARACTERS


def _bucket(location: str, rest: str) -> Bucket:
    """The place that ``//bucket/prefix`` names; the text is not shown, since it could hold a password."""
    name, _, prefix = rest.removeprefix("//").partition("/")
    fix = "Write it as s3://bucket/prefix; endpoint and credentials stand in keys of their own."
    if not rest.startswith("//") or not _BUCKET.fullmatch(name):
        raise _refused(Reason.BAD_SHAPE, location, fix)
    prefix = prefix.rstrip("/")
    if (prefix and not _is_plain(prefix)) or set(prefix) & {"?", "%"} or len(prefix) > _PREFIX_LIMIT_CHARACTERS:
        raise _refused(Reason.BAD_SHAPE, location, fix)
    return Bucket(name, prefix)


def _refused(reason: Reason, location: str, fix: str) -> ConfigError:
    # Only the scheme is shown: a store URI can carry a user name and a password.
    scheme = location.partition(":")[0] if ":" in location else location
    required = "a folder, file:///folder, s3://bucket/prefix or memory:"
    return ConfigError.of(reason, "store", required=required, came=repr(scheme[:100]), fix=fix)
