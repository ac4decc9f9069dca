"""Verification of the metadata: they name the columns, codes, files and amounts that the rest of the package holds.

Every file is under the manifest already; what is asked here is that no two of them tell different things. Packages from
before there were metadata list none, and nothing is asked of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from trasgo_lib.budget import Cost
from trasgo_lib.checks import published_labels, published_parts
from trasgo_lib.data import CategoryDomain, domain_from_description
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release import documents
from trasgo_lib.release.answers_file import ANSWERS_CSV, CSV_HEADER
from trasgo_lib.release.stored import is_out_of_reach
from trasgo_lib.release.verification import VerificationResult, failed, judge, passed
from trasgo_lib.reporting.metadata import CSVW, DATA_PACKAGE, DCAT, DDI, DP_STATEMENT, NAMESPACE
from trasgo_lib.storage import ObjectStore

_DATA = "data/"
_LARGEST_XML_BYTES = 1 << 28
"""A codebook of a million codes has 100 MB; a larger file is none of ours."""


@dataclass(frozen=True, slots=True)
class Published:
    """What the rest of a package says, against which its metadata are held.

    Args:
        manifest: the parsed manifest.
        channels: the parsed channel file.
        statement: the parsed statement.
    """

    manifest: dict[str, Any]
    channels: dict[str, Any]
    statement: dict[str, Any]

    @property
    def release(self) -> str:
        """``<dataset>/<version>``."""
        return f"{self.manifest['dataset']}/{self.manifest['version']}"

    @property
    def files(self) -> dict[str, tuple[str, int]]:
        """Digest and length of every listed file."""
        return {entry["path"]: (entry["sha256"], entry["bytes"]) for entry in self.manifest["files"]}

    @property
    def data(self) -> dict[str, tuple[str, int]]:
        """Digest and length of the data files."""
        return {path: found for path, found in self.files.items() if path.startswith(_DATA)}

    @property
    def codes(self) -> dict[str, list[str | int]]:
        """The published codes of every column that has a closed list."""
        found: dict[str, list[str | int]] = {}
        for unit in self.channels["units"]:
            names = [column["name"] for column in unit["columns"]]
            domain = domain_from_description(unit["domain"])
            for part in published_parts(unit["name"], names, domain, nullable=False):
                if isinstance(part.domain, CategoryDomain):
                    found[part.columns[0]] = list(published_labels(part.domain))
        return found


def verify_metadata(store: ObjectStore, prefix: str, published: Published) -> Iterator[VerificationResult]:
    """Hold the metadata files against the package.

    Args:
        store: where the release stands.
        prefix: its prefix; empty when the store's root is the release.
        published: what the rest of the package says.
    """
    yield from _verified(store, prefix, published, _CHECKS)


def verify_answers_metadata(store: ObjectStore, prefix: str, published: Published) -> Iterator[VerificationResult]:
    """Hold the metadata files of a statistics package against it.

    Args:
        store: where the package stands.
        prefix: its prefix; empty when the store's root is the package.
        published: what the rest of the package says; its channels are empty.
    """
    yield from _verified(store, prefix, published, _CHECKS_OF_ANSWERS)


def verify_model_metadata(store: ObjectStore, prefix: str, published: Published) -> Iterator[VerificationResult]:
    """Hold the metadata files of a model against it.

    Args:
        store: where the package stands.
        prefix: its prefix; empty when the store's root is the package.
        published: what the rest of the package says; its channels are empty.
    """
    yield from _verified(store, prefix, published, _CHECKS_OF_MODELS)


def verify_cells_metadata(store: ObjectStore, prefix: str, published: Published) -> Iterator[VerificationResult]:
    """Hold the metadata files of a collection against it.

    Args:
        store: where the package stands.
        prefix: its prefix; empty when the store's root is the package.
        published: what the rest of the package says; its channels are empty.
    """
    yield from _verified(store, prefix, published, _CHECKS_OF_CELLS)


_Checks = Mapping[str, Callable[[bytes, Published], Iterator[VerificationResult]]]


def _verified(store: ObjectStore, prefix: str, published: Published, checks: _Checks) -> Iterator[VerificationResult]:
    for path, check in checks.items():
        if path not in published.files:
            continue
        try:
            yield from check(store.get(f"{prefix}/{path}" if prefix else path), published)
        except TrasgoError as error:
            if is_out_of_reach(error, store):
                raise
            fault = error.faults[0]
            yield failed("schema", path, fault.required, fault.came, fault.reason)
        except (ElementTree.ParseError, KeyError, ValueError, TypeError) as error:
            came = f"{type(error).__name__} while reading it"
            yield failed("schema", path, "metadata of this release", came, Reason.SCHEMA_VIOLATION)


def _data_package(content: bytes, published: Published) -> Iterator[VerificationResult]:
    document = documents.parse(content, "datapackage")
    named = f"{document['name']}/{document['version']}"
    yield judge("same release", DATA_PACKAGE, published.release, named, Reason.SCHEMA_VIOLATION)
    stated = {entry["path"]: (entry["hash"].removeprefix("sha256:"), entry["bytes"]) for entry in document["resources"]}
    listed = {path: published.files.get(path) for path in stated} | published.data
    yield judge("described files", DATA_PACKAGE, listed, stated, Reason.DIGEST_MISMATCH)
    for entry in document["resources"]:
        if entry["path"] in published.data:
            fields = entry["schema"]["fields"]
            names = [field["name"] for field in fields]
            yield judge("columns", DATA_PACKAGE, published.manifest["columns"], names, Reason.SCHEMA_VIOLATION)
            enums = {field["name"]: field.get("constraints", {}).get("enum") for field in fields}
            stated_codes = {name: codes for name, codes in enums.items() if codes is not None}
            yield _same_codes(DATA_PACKAGE, published.codes, stated_codes)


def _csvw(content: bytes, published: Published) -> Iterator[VerificationResult]:
    document = documents.parse(content, "csvw")
    yield judge("same release", CSVW, published.release, document["dc:identifier"], Reason.SCHEMA_VIOLATION)
    table = document["tables"][0]
    found = published.files.get(table["url"], ("no such file", 0))[0]
    yield judge("described files", CSVW, found, table.get("schema:sha256"), Reason.DIGEST_MISMATCH)
    titles = [column["titles"] for column in table["tableSchema"]["columns"]]
    yield judge("columns", CSVW, published.manifest["columns"], titles, Reason.SCHEMA_VIOLATION)


def _dcat(content: bytes, published: Published) -> Iterator[VerificationResult]:
    document = documents.parse(content, "dcat")
    named = (document["dct:identifier"], document["dcat:version"])
    release = (published.release, published.manifest["version"])
    yield judge("same release", DCAT, release, named, Reason.SCHEMA_VIOLATION)
    stated = {
        entry["dcat:accessURL"]["@id"]: (
            entry["spdx:checksum"]["spdx:checksumValue"]["@value"],
            int(entry["dcat:byteSize"]["@value"]),
        )
        for entry in document["dcat:distribution"]
    }
    yield judge("described files", DCAT, published.data, stated, Reason.DIGEST_MISMATCH)


def _ddi(content: bytes, published: Published) -> Iterator[VerificationResult]:
    # no document of ours declares types or entities, and a parser that meets none cannot be made to expand any
    if len(content) > _LARGEST_XML_BYTES or b"<!" in content:
        yield failed("schema", DDI, "XML without declarations", "a declaration or a comment", Reason.SCHEMA_VIOLATION)
        return
    root = ElementTree.fromstring(content)
    names = {"d": NAMESPACE}
    identifier = root.findtext("d:stdyDscr/d:citation/d:titlStmt/d:IDNo", None, names)
    yield judge("same release", DDI, published.release, identifier, Reason.SCHEMA_VIOLATION)
    stated = {
        entry.get("URI"): tuple(entry.findtext(f"d:notes[@type='{kind}']", None, names) for kind in ("sha256", "bytes"))
        for entry in root.findall("d:fileDscr", names)
    }
    listed = {path: (digest, str(size)) for path, (digest, size) in published.data.items()}
    yield judge("described files", DDI, listed, stated, Reason.DIGEST_MISMATCH)
    rows = {entry.text for entry in root.findall("d:fileDscr/d:fileTxt/d:dimensns/d:caseQnty", names)}
    yield judge("rows", DDI, {str(published.manifest["rows"])}, rows, Reason.SCHEMA_VIOLATION)
    variables = root.findall("d:dataDscr/d:var", names)
    found = [entry.get("name") for entry in variables]
    yield judge("columns", DDI, published.manifest["columns"], found, Reason.SCHEMA_VIOLATION)
    codes = {
        entry.get("name"): [value.text or "" for value in entry.findall("d:catgry/d:catValu", names)]
        for entry in variables
        if entry.find("d:catgry", names) is not None
    }
    texts = {name: [str(code) for code in listed_codes] for name, listed_codes in published.codes.items()}
    yield _same_codes(DDI, texts, codes)


def _dp_statement(content: bytes, published: Published) -> Iterator[VerificationResult]:
    document, statement = documents.parse(content, "dp_statement"), published.statement
    named = f"{document['dataset']}/{document['version']}"
    yield judge("same release", DP_STATEMENT, published.release, named, Reason.SCHEMA_VIOLATION)
    stated = document["registry"]["deployment"]["privacy_loss"]["privacy_parameters"]
    claimed = {name: statement.get(f"{name}_guarantee", "0") for name in ("epsilon", "delta")}
    # under loss_from: original the amounts bear another name, and nothing is claimed here
    amounts = {name: float(amount) for name, amount in claimed.items() if float(amount)}
    yield judge("amounts", DP_STATEMENT, amounts, stated, Reason.CLAIM_NOT_CERTIFIED)


def _central_statement(content: bytes, published: Published) -> Iterator[VerificationResult]:
    """As for rows; and composition, neighbours, units, what is not covered and every amount are the statement's."""
    yield from _dp_statement(content, published)
    document = documents.parse(content, "dp_statement")
    deployment = document["registry"]["deployment"]
    rules, uncovered = published.statement["composition"], "; ".join(published.statement["not_covered"])
    told = deployment["implementation"]["composition"].casefold().startswith(f"{rules.casefold()};")
    yield judge("composition", DP_STATEMENT, True, told, Reason.CLAIM_NOT_CERTIFIED)
    stated = deployment["dp_variant"]["unprotected_quantities"]
    yield judge("not covered", DP_STATEMENT, uncovered, stated, Reason.CLAIM_NOT_CERTIFIED)
    loss, is_row = deployment["privacy_loss"], published.statement["unit"] == "row"
    units = published.manifest["rows"] if is_row else None
    yield judge("privacy units", DP_STATEMENT, units, loss["number_of_privacy_units"], Reason.CLAIM_NOT_CERTIFIED)
    neighbours = published.statement["neighbours"]
    compared = (deployment["dp_variant"]["data_domain"], loss["privacy_unit_details"])
    told = all(text.endswith(f" {neighbours}.") for text in compared)
    yield judge("neighbours", DP_STATEMENT, True, told, Reason.CLAIM_NOT_CERTIFIED)
    own = [deployment[part] for part in _WRITTEN_BY_US] + [document["nist_sp_800_226"]]
    others = sorted(set(_amounts_in(own)) - _amounts_of(published.statement))
    yield judge("amounts in words", DP_STATEMENT, [], others, Reason.CLAIM_NOT_CERTIFIED)


_WRITTEN_BY_US = ("dp_variant", "privacy_loss", "deployment_model", "implementation")
"""Parts of the registry's entry without the publisher's title and description, which may name any amount."""

_AMOUNT = re.compile(r"\b(epsilon|delta) (?:is at most )?([0-9]+(?:\.[0-9]+)?)", re.IGNORECASE)


def _amounts_in(document: Any) -> Iterator[str]:
    """Every amount of epsilon or delta that the texts of a document name."""
    if isinstance(document, str):
        yield from (f"{name.lower()} {amount}" for name, amount in _AMOUNT.findall(document))
    elif isinstance(document, Mapping | list):
        for part in document.values() if isinstance(document, Mapping) else document:
            yield from _amounts_in(part)


def _amounts_of(statement: Mapping[str, Any]) -> set[str]:
    """The cap, what was spent and the account to date; and zero."""
    cap = Cost.of(statement["epsilon_guarantee"], statement["delta_guarantee"])
    costs = (cap, *(Cost.from_json(statement[key]) for key in ("spent", "account_to_date")), Cost.zero())
    return {f"epsilon {one.epsilon.text}" for one in costs} | {f"delta {one.delta.text}" for one in costs}


def _same_codes(path: str, required: Mapping[str, Any], came: Mapping[str | None, Any]) -> VerificationResult:
    """Whether code lists are those of the channel file; they can be long, so columns are named and codes are not."""
    columns = required.keys() | came.keys()
    others = sorted(str(name) for name in columns if required.get(str(name)) != came.get(name))
    words = "the codes that the channel file declares"
    if not others:
        return passed("codes", path, words, Reason.SCHEMA_VIOLATION)
    return failed("codes", path, words, f"others in {', '.join(others)}", Reason.SCHEMA_VIOLATION)


def _central_package(content: bytes, published: Published) -> Iterator[VerificationResult]:
    return _tables_package(content, published, {ANSWERS_CSV: CSV_HEADER})


def _cells_package(content: bytes, published: Published) -> Iterator[VerificationResult]:
    columns = tuple(published.manifest["columns"])
    tables = {key: columns for key in published.data if key.endswith((".csv", ".parquet"))}
    return _tables_package(content, published, tables)


def _tables_package(
    content: bytes, published: Published, tables: Mapping[str, tuple[str, ...]]
) -> Iterator[VerificationResult]:
    document = documents.parse(content, "datapackage")
    named = f"{document['name']}/{document['version']}"
    yield judge("same release", DATA_PACKAGE, published.release, named, Reason.SCHEMA_VIOLATION)
    stated = {entry["path"]: (entry["hash"].removeprefix("sha256:"), entry["bytes"]) for entry in document["resources"]}
    yield judge("described files", DATA_PACKAGE, published.data, stated, Reason.DIGEST_MISMATCH)
    for entry in document["resources"]:
        if entry["path"] in tables:
            names = tuple(field["name"] for field in entry["schema"]["fields"])
            yield judge("columns", DATA_PACKAGE, tables[entry["path"]], names, Reason.SCHEMA_VIOLATION)


def _answers_csvw(content: bytes, published: Published) -> Iterator[VerificationResult]:
    return _table_csvw(content, published, [ANSWERS_CSV], CSV_HEADER)


def _cells_csvw(content: bytes, published: Published) -> Iterator[VerificationResult]:
    columns = tuple(published.manifest["columns"])
    return _table_csvw(content, published, [key for key in published.data if key.endswith(".csv")], columns)


def _table_csvw(
    content: bytes, published: Published, keys: Sequence[str], header: tuple[str, ...]
) -> Iterator[VerificationResult]:
    document = documents.parse(content, "csvw")
    yield judge("same release", CSVW, published.release, document["dc:identifier"], Reason.SCHEMA_VIOLATION)
    stated = {table["url"]: table.get("schema:sha256") for table in document["tables"]}
    listed = {key: published.data[key][0] for key in keys}
    yield judge("described files", CSVW, listed, stated, Reason.DIGEST_MISMATCH)
    for table in document["tables"]:
        titles = tuple(column["titles"] for column in table["tableSchema"]["columns"])
        yield judge("columns", CSVW, header, titles, Reason.SCHEMA_VIOLATION)


_CHECKS: _Checks = {
    DATA_PACKAGE: _data_package,
    CSVW: _csvw,
    DCAT: _dcat,
    DDI: _ddi,
    DP_STATEMENT: _dp_statement,
}

_CHECKS_OF_MODELS: _Checks = {DATA_PACKAGE: _central_package, DCAT: _dcat, DP_STATEMENT: _central_statement}
_CHECKS_OF_ANSWERS: _Checks = {**_CHECKS_OF_MODELS, CSVW: _answers_csvw}
_CHECKS_OF_CELLS: _Checks = {DATA_PACKAGE: _cells_package, CSVW: _cells_csvw, DCAT: _dcat}
