"""What a window says in words, against its figures and against what this version of the library says.

Words are those of a version of this library, so those of another version are held by their digests only, and that is
noted; the figures in them are asked of every version (``verify_figures``, ``verify_described``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import trasgo_lib
from trasgo_lib.collection.standards import claim_in_words
from trasgo_lib.collection.verify_described import DescribedWindow
from trasgo_lib.collection.verify_figures import held_by_digest
from trasgo_lib.collection.words import (
    ASSUMPTIONS,
    POINT,
    POINT_LEFT_OUT,
    SHUFFLE_SOURCE,
    memoisation_words,
    words_of,
)
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release import STATEMENT, documents
from trasgo_lib.release.crate import CRATE
from trasgo_lib.release.verification import VerificationResult, failed, judge
from trasgo_lib.reporting import metadata

_CLAIM = Reason.CLAIM_NOT_CERTIFIED


def verify_words(
    statement: dict[str, Any], read: Callable[[str], bytes], manifest: Mapping[str, Any]
) -> Iterator[VerificationResult]:
    """The words of the statement, and those of the metadata.

    Args:
        statement: of its schema.
        read: the content of a file of the package.
        manifest: the parsed manifest.
    """
    if statement["library_version"] != trasgo_lib.__version__:
        yield held_by_digest(statement, f"{STATEMENT} and metadata")
        return
    yield judge("words", STATEMENT, [], list(_other_words(statement)), _CLAIM)
    window, listed = DescribedWindow(statement, manifest), {entry["path"] for entry in manifest["files"]}
    for path, told in _TOLD.items():
        if path not in listed:
            continue
        try:
            came = told(read(path), window)
        except (TrasgoError, KeyError, TypeError, ValueError, StopIteration) as error:
            yield failed("words", path, "metadata of this window", f"{type(error).__name__} while reading it", _CLAIM)
        else:
            yield judge("words", path, True, came, _CLAIM)


def _other_words(statement: Mapping[str, Any]) -> Iterator[str]:
    """Keys of a statement that say something else."""
    device, point = statement["device"], statement.get("point")
    words_alike = words_of(has_cells=device is not None, has_points=point is not None)
    yield from (key for key, words in words_alike.items() if statement[key] != words)
    cells = 0 if device is None else device["memoised_cells"]
    for one in statement["versions"]:
        if one["memoisation"] != memoisation_words(one["epsilon_permanent"], cells):
            yield "memoisation"
    for one in statement["shuffled"]:
        if (one["assumptions"], one["source"]) != (list(ASSUMPTIONS), SHUFFLE_SOURCE):
            yield "shuffled"
    if point is not None and point["words"] != (POINT_LEFT_OUT if point["estimates"] is None else POINT):
        yield "point"


def _codebook(content: bytes, window: DescribedWindow) -> bool:
    text = content.decode("utf-8")
    head = text.removesuffix(metadata.cells_sections(dict(window.statement), claim_in_words(window.statement)))
    first, last = window.days
    time = first if first == last else f"{first} to {last}"
    rows = (f"| reports | {window.manifest['rows']} |", f"| time | {time} |")
    return head != text and all(row in head.splitlines() for row in rows)


def _csvw(content: bytes, window: DescribedWindow) -> bool:
    document = documents.parse(content, "csvw")
    named = (document["dc:title"], document["tables"])
    return bool(named == (window.statement["title"], window.tables))


def _data_package(content: bytes, window: DescribedWindow) -> bool:
    document = documents.parse(content, "datapackage")
    came = {one["path"]: one for one in document["resources"]}
    required = {one["path"]: one for one in metadata.cells_resources(window.data, window.statement["dataset"])}
    return (document["title"], came) == (window.statement["title"], required)


def _dcat(content: bytes, window: DescribedWindow) -> bool:
    document = documents.parse(content, "dcat")
    told = document["dct:temporal"]
    days = tuple(told[key]["@value"] for key in ("dcat:startDate", "dcat:endDate"))
    words = document["dct:provenance"]["rdfs:label"]["@value"]
    named = (document["dct:title"]["@value"], document["dct:created"]["@value"])
    required = (window.statement["title"], window.statement["created"])
    return (days, words, named) == (window.days, claim_in_words(window.statement), required)


def _crate(content: bytes, window: DescribedWindow) -> bool:
    graph = documents.parse(content, "crate")["@graph"]
    came = [one["conditionsOfAccess"] for one in graph if "conditionsOfAccess" in one]
    return bool(came == [claim_in_words(window.statement)])


_TOLD: Mapping[str, Callable[[bytes, DescribedWindow], bool]] = {
    metadata.CODEBOOK: _codebook,
    metadata.CSVW: _csvw,
    metadata.DATA_PACKAGE: _data_package,
    metadata.DCAT: _dcat,
    CRATE: _crate,
}
