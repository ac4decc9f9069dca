"""What a window says in words, against its figures and against what this version of the library says.

Words are those of a version of this library, so those of another version are held by their digests only.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

import trasgo_lib
from trasgo_lib.collection.standards import claim_in_words, period_of
from trasgo_lib.collection.statement import ASSUMPTIONS, POINT, SHUFFLE_SOURCE, WORDS, memoisation_words
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release import STATEMENT, documents
from trasgo_lib.release.crate import CRATE
from trasgo_lib.release.verification import VerificationResult, failed, judge
from trasgo_lib.reporting import metadata

_CLAIM = Reason.CLAIM_NOT_CERTIFIED


def verify_words(
    statement: dict[str, Any], read: Callable[[str], bytes], listed: Container[str]
) -> Iterator[VerificationResult]:
    """The words of the statement, and those of the metadata.

    Args:
        statement: of its schema.
        read: the content of a file of the package.
        listed: the files of the package.
    """
    if statement["library_version"] != trasgo_lib.__version__:
        return
    yield judge("words", STATEMENT, [], list(_other_words(statement)), _CLAIM)
    for path, told in _TOLD.items():
        if path not in listed:
            continue
        try:
            came = told(read(path), statement)
        except (TrasgoError, KeyError, TypeError, UnicodeDecodeError) as error:
            yield failed("words", path, "metadata of this window", f"{type(error).__name__} while reading it", _CLAIM)
        else:
            yield judge("words", path, True, came, _CLAIM)


def _other_words(statement: Mapping[str, Any]) -> Iterator[str]:
    """Keys of a statement that say something else."""
    yield from (key for key, words in WORDS.items() if statement[key] != words)
    cells = statement["device"]["memoised_cells"]
    for one in statement["versions"]:
        if one["memoisation"] != memoisation_words(one["epsilon_permanent"], cells):
            yield "memoisation"
    for one in statement["shuffled"]:
        if (one["assumptions"], one["source"]) != (list(ASSUMPTIONS), SHUFFLE_SOURCE):
            yield "shuffled"
    if statement.get("point", {"words": POINT})["words"] != POINT:
        yield "point"


def _codebook(content: bytes, statement: dict[str, Any]) -> bool:
    text, period = content.decode("utf-8"), _period(statement)
    head = text.removesuffix(metadata.cells_sections(statement, claim_in_words(statement["device"])))
    rows = (f"| reports | {statement['reports']} |", f"| time | {period[0]} to {period[1]} |")
    return head != text and all(row in head.splitlines() for row in rows)


def _dcat(content: bytes, statement: dict[str, Any]) -> bool:
    document = documents.parse(content, "dcat")
    told = document["dct:temporal"]
    days = tuple(told[key]["@value"] for key in ("dcat:startDate", "dcat:endDate"))
    words = document["dct:provenance"]["rdfs:label"]["@value"]
    return (days, words) == (_period(statement), claim_in_words(statement["device"]))


def _crate(content: bytes, statement: dict[str, Any]) -> bool:
    graph = documents.parse(content, "crate")["@graph"]
    came = [one["conditionsOfAccess"] for one in graph if "conditionsOfAccess" in one]
    return bool(came == [claim_in_words(statement["device"])])


def _period(statement: dict[str, Any]) -> tuple[str, str]:
    period = period_of(statement["window"]["first_day"], statement["window"]["days"])
    return str(period.start), str(period.end)


_TOLD: Mapping[str, Callable[[bytes, dict[str, Any]], bool]] = {
    metadata.CODEBOOK: _codebook,
    metadata.DCAT: _dcat,
    CRATE: _crate,
}
