"""Which version of a window another one takes the place of: the chain that collection files declare, window by window.

A file corrects another one as a whole, and need not have been run for every window. So of a window the newest version
is corrected that was published there, along the chain from file to file; no link is assumed that nobody declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trasgo_lib.errors import ConflictError, Reason

FIRST = ""
"""What a file corrects that declares to correct none."""


@dataclass(frozen=True, slots=True)
class WindowHistory:
    """What the records say of one window, by versions of the collection file.

    Args:
        published: versions that were published in this window, whatever became of them since.
        standing: those of them that are public still: no other one has taken their place, and none was withdrawn.
        corrects: by version, which versions its file was declared to correct, over all windows; ``FIRST`` for none.
    """

    published: frozenset[str]
    standing: frozenset[str]
    corrects: Mapping[str, frozenset[str]]


def corrected_version(declared: str, history: WindowHistory, where: str) -> str | None:
    """The version of a window that one takes the place of.

    Args:
        declared: the version of the collection file that its own file corrects.
        history: of the window; its own version is not in it.
        where: its name, for the error.

    Returns:
        The newest one that was published in this window; None when the chain ends before there is one, or when there is
        none at all to be corrected.

    Raises:
        ConflictError: something stands in the window, and the records do not tell whether it is to be corrected.
    """
    version, seen = declared, {declared}
    while version not in history.published:
        links = history.corrects.get(version, frozenset())
        if links == {FIRST}:
            return None
        if len(links) != 1 or links <= seen:
            if not history.standing:
                return None
            raise _unknown(version, links, history, where)
        (version,) = links
        seen.add(version)
    return version


def corrected_files(version: str, corrects: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Every version of the collection file that one corrects, directly or through others.

    Args:
        version: of the file.
        corrects: as in ``WindowHistory``.
    """
    found: set[str] = set()
    ahead = [version]
    while ahead:
        fresh = corrects.get(ahead.pop(), frozenset()) - found - {FIRST}
        found |= fresh
        ahead += fresh
    return frozenset(found)


def _unknown(version: str, links: frozenset[str], history: WindowHistory, where: str) -> ConflictError:
    stands = ", ".join(sorted(history.standing))
    said = f"it corrects {' or '.join(sorted(link or 'none' for link in links))}" if links else "nothing"
    return ConflictError.of(
        Reason.STATE_CONFLICT,
        where,
        required=f"records of what version {version} of the file corrects, which never published this window",
        came=f"a window in which version {stands} stands, and records that say of version {version}: {said}",
        fix=f"Run this window with the file of version {version} first, or name in release.supersedes the version that"
        " stands in it.",
    )
