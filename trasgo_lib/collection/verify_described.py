"""What metadata say of a window, against its statement and files; asked of every version of the library.

Their words are those of a version, and are compared in ``verify_words``; days, numbers, types and amounts are no words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trasgo_lib.collection.standards import period_of
from trasgo_lib.collection.verify_figures import Amounts
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release import documents
from trasgo_lib.release.crate import CRATE
from trasgo_lib.release.verification import VerificationResult, failed, judge
from trasgo_lib.reporting import metadata
from trasgo_lib.reporting.markdown import cell

_CLAIM = Reason.CLAIM_NOT_CERTIFIED
_DESCRIBES = ("title", "description", "dc:description")
"""Keys of words about a file or a column."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file as the manifest lists it.

    Args:
        key: its path.
        sha256: digest of its bytes, hex.
        bytes: its length.
    """

    key: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class DescribedWindow:
    """What metadata are held against.

    Args:
        statement: of its schema.
        manifest: the parsed manifest.
    """

    statement: Mapping[str, Any]
    manifest: Mapping[str, Any]

    @property
    def days(self) -> tuple[str, str]:
        """First and last day."""
        period = period_of(self.statement["window"]["first_day"], self.statement["window"]["days"])
        return str(period.start), str(period.end)

    @property
    def data(self) -> tuple[DataFile, ...]:
        """The data files that the manifest lists."""
        listed = (entry for entry in self.manifest["files"] if entry["path"].startswith("data/"))
        return tuple(DataFile(one["path"], one["sha256"], one["bytes"]) for one in listed)

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The tables as ``csvw.json`` describes them."""
        return metadata.cells_tables(self.data)

    def tells_lifetime(self, text: str) -> bool:
        """As of ``Amounts``."""
        return Amounts(self.statement).tells_lifetime(text)


def verify_described(
    statement: Mapping[str, Any], read: Callable[[str], bytes], manifest: Mapping[str, Any]
) -> Iterator[VerificationResult]:
    """Days, numbers, types and amounts that metadata repeat.

    Args:
        statement: of its schema.
        read: the content of a file of the package.
        manifest: the parsed manifest.
    """
    window, listed = DescribedWindow(statement, manifest), {entry["path"] for entry in manifest["files"]}
    for path, told in _TOLD.items():
        if path not in listed:
            continue
        try:
            came = told(read(path), window)
        except (TrasgoError, ArithmeticError, LookupError, TypeError, ValueError, StopIteration) as error:
            required = "metadata of this window"
            yield failed("figures in words", path, required, f"{type(error).__name__} while reading it", _CLAIM)
        else:
            yield judge("figures in words", path, True, came, _CLAIM)


def _codebook(content: bytes, window: DescribedWindow) -> bool:
    """What every version answered and what a device spends, too; the rows on who publishes may name any amount."""
    lines = content.decode("utf-8").splitlines()
    rows = [tuple(part.strip() for part in line.strip("|").split("|")) for line in lines if line.startswith("|")]
    first, last = window.days
    time = first if first == last else f"{first} to {last}"
    told = all(row in rows for row in (("reports", str(window.manifest["rows"])), ("time", time)))
    keys = ("resolution", "slots", "mechanism", "epsilon_per_report", "reports")
    answered = ({cell(one[key]) for key in keys} for one in window.statement["versions"])
    words = "\n".join(line for line in lines if not line.startswith("|"))
    return told and all(any(one <= set(row) for row in rows) for one in answered) and window.tells_lifetime(words)


def _csvw(content: bytes, window: DescribedWindow) -> bool:
    document = documents.parse(content, "csvw")
    named = (document["dc:title"], _without_words(document["tables"]))
    return named == (window.statement["title"], _without_words(window.tables))


def _data_package(content: bytes, window: DescribedWindow) -> bool:
    document = documents.parse(content, "datapackage")
    columns = window.tables[0]["tableSchema"]["columns"]
    required = [(one["name"], {"double": "number"}.get(one["datatype"], one["datatype"])) for one in columns]
    fields = [one["schema"]["fields"] for one in document["resources"] if "schema" in one]
    came = [[(field["name"], field["type"]) for field in own] for own in fields]
    return document["title"] == window.statement["title"] and bool(came) and all(own == required for own in came)


def _dcat(content: bytes, window: DescribedWindow) -> bool:
    document = documents.parse(content, "dcat")
    told = document["dct:temporal"]
    days = tuple(told[key]["@value"] for key in ("dcat:startDate", "dcat:endDate"))
    named = (document["dct:title"]["@value"], document["dct:created"]["@value"])
    claim = str(document["dct:provenance"]["rdfs:label"]["@value"])
    required = (window.statement["title"], window.statement["created"])
    return (days, named) == (window.days, required) and window.tells_lifetime(claim)


def _crate(content: bytes, window: DescribedWindow) -> bool:
    graph = documents.parse(content, "crate")["@graph"]
    return all(window.tells_lifetime(str(one["conditionsOfAccess"])) for one in graph if "conditionsOfAccess" in one)


def _without_words(part: Any) -> Any:
    """A document without the texts by which a version of this library describes what is in it."""
    if isinstance(part, Mapping):
        return {key: _without_words(one) for key, one in part.items() if key not in _DESCRIBES}
    return [_without_words(one) for one in part] if isinstance(part, list) else part


_TOLD: Mapping[str, Callable[[bytes, DescribedWindow], bool]] = {
    metadata.CODEBOOK: _codebook,
    metadata.CSVW: _csvw,
    metadata.DATA_PACKAGE: _data_package,
    metadata.DCAT: _dcat,
    CRATE: _crate,
}
