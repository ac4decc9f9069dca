"""What catalogues and tools read of a package of answers or of a model: its identity, its files and its resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trasgo_lib.reporting.metadata.description import PublishedFile, SharedWords

if TYPE_CHECKING:
    from trasgo_lib.config import ReleaseInfo

_MEDIA = {"csv": "text/csv", "json": "application/json"}


@dataclass(frozen=True)
class CentralDescription(SharedWords):
    """A package that a trusted curator drew, as its metadata see it. All public.

    Args:
        info: what the file says of the release.
        dataset: name of the data set.
        version: version.
        created: when it was made, ISO 8601.
        rows: number of rows of the source.
        data: the staged data files.
        privacy_in_words: the paragraph of the privacy statement.
        content_words: what the data files hold, to begin a title with.
        kind_words: what kind of publication it is, for a citation.
        pages: files of the package that people read.
    """

    info: ReleaseInfo
    dataset: str
    version: str
    created: str
    rows: int
    data: Sequence[PublishedFile]
    privacy_in_words: str
    content_words: str
    kind_words: str
    pages: tuple[str, ...]


def resource(description: CentralDescription, file: PublishedFile) -> dict[str, Any]:
    """One data file of ``datapackage.json``, without the columns that a table has.

    Args:
        description: the package.
        file: one of its data files.
    """
    kind = file.key.rpartition(".")[2]
    what = description.content_words
    return {
        "name": f"{what.lower()}-{kind}",
        "path": file.key,
        "title": f"{what}, {kind}",
        "format": kind,
        "mediatype": _MEDIA[kind],
        "encoding": "utf-8",
        "bytes": file.bytes,
        "hash": f"sha256:{file.sha256}",
    }
