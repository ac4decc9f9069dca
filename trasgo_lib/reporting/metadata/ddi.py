"""``ddi.xml``: the codebook for archives.

Source: DDI-Codebook 2.5 (DDI Alliance, 2012): study, files, variables; children stand in the order of its schema. Noise
is told where that standard puts processing: ``dataProcessing`` for each noise unit, ``security`` and ``notes`` for each
variable. There are no category statistics: they would be those of noised values, and be read as the truth. ``embargo``
is left out, since a package does not know when it will be published. The document is in English, which is what it says
of itself; an office's own words carry the language of the release where that is another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from trasgo_lib.reporting import wording
from trasgo_lib.reporting.metadata.description import (
    CHANNEL,
    CSV_NULLS,
    ERRATA,
    HOWTO,
    REPORT,
    STATEMENT,
    Description,
    PublishedFile,
    noise_in_words,
)
from trasgo_lib.reporting.metadata.variables import Variable

if TYPE_CHECKING:
    from trasgo_lib.plan import UnitPlan

DDI = "ddi.xml"
_ENGLISH = "en"
NAMESPACE = "ddi:codebook:2_5"

_FORMATS = {"csv": "comma-separated values, RFC 4180", "parquet": "Apache Parquet"}
_REPRESENTATIONS = {"integer": "numeric", "number": "numeric", "text": "text", "date": "datetime", "boolean": "text"}

Parent = ElementTree.Element


def ddi_document(description: Description) -> bytes:
    """The codebook as XML in UTF-8.

    Args:
        description: the release.
    """
    attributes = {"xmlns": NAMESPACE, "version": "2.5", "xml:lang": _ENGLISH}
    root = ElementTree.Element("codeBook", attributes)
    _study(root, description)
    for position, file in enumerate(description.data, 1):
        _file(root, description, file, f"F{position}")
    _variables(root, description)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _study(root: Parent, description: Description) -> None:
    study = _add(root, "stdyDscr")
    _citation(study, description)
    _scope(study, description)
    _method(study, description)
    access, info = _add(study, "dataAccs"), description.info
    use = _add(access, "useStmt")
    _contact(use, description)
    _add(use, "citReq", f"Cite as: {description.citation}")
    if info.licence:
        address = description.licence_address
        more = "" if address is None or address == info.licence else f" ({address})"
        _add(use, "conditions", f"Licence: {info.licence}{more}")
    uncovered = "; ".join(wording.not_covered(description.facts.plan))
    _add(use, "disclaimer", f"The privacy guarantee does not cover: {uncovered}.")
    other = _add(study, "othrStdyMat")
    for name, words in (
        (CHANNEL, "The law of every noised variable, and the decoder that undoes its bias"),
        (STATEMENT, "The privacy statement"),
        (REPORT, "The report for people"),
        (HOWTO, "How to analyse the rows: which question each variable answers, with examples"),
        (ERRATA, "Corrections of this data set are announced here"),
    ):
        _add(other, "relMat", f"{words}: {name}")
    if info.supersedes is not None:
        _add(other, "relStdy", f"{description.supersedes_in_words} See {description.erratum}.")


def _citation(study: Parent, description: Description) -> None:
    info, facts = description.info, description.facts
    citation = _add(study, "citation")
    title = _add(citation, "titlStmt")
    _own(title, "titl", info.title, info.language)
    _add(title, "IDNo", f"{description.dataset}/{description.version}")
    production = _add(citation, "prodStmt")
    if info.publisher is not None:
        _add(production, "producer", info.publisher.name)
    _add(production, "prodDate", facts.created, date=facts.created)
    _add(production, "software", "trasgo", version=facts.library_version)
    if info.publisher is not None or info.contact is not None:
        distribution = _add(citation, "distStmt")
        if info.publisher is not None:
            _add(distribution, "distrbtr", info.publisher.name, URI=info.publisher.url or None)
        _contact(distribution, description)
    if info.series:
        _own(_add(citation, "serStmt"), "serName", info.series, info.language)
    version = _add(citation, "verStmt")
    _add(version, "version", description.version, date=facts.created)
    if description.supersedes_in_words is not None:
        _add(version, "notes", description.supersedes_in_words)
    _add(citation, "biblCit", description.citation)


def _contact(parent: Parent, description: Description) -> None:
    contact = description.info.contact
    if contact is not None:
        _add(parent, "contact", contact.name, email=contact.email or None, URI=contact.url or None)


def _scope(study: Parent, description: Description) -> None:
    info = description.info
    scope = _add(study, "stdyInfo")
    if info.keywords:
        subject = _add(scope, "subject")
        for word in info.keywords:
            _own(subject, "keyword", word, info.language)
    _own(scope, "abstract", description.summary, info.language)
    summary = _add(scope, "sumDscr")
    if info.temporal is not None:
        for event, day in (("start", info.temporal.start), ("end", info.temporal.end)):
            _add(summary, "timePrd", day, event=event, date=day)
    if info.spatial:
        _own(summary, "geogCover", info.spatial, info.language)
    _add(summary, "anlyUnit", _unit_of_analysis(description))
    if info.universe:
        _own(summary, "universe", info.universe, info.language)
    _add(summary, "dataKind", "microdata, noised row by row")
    if info.source_note:
        _own(scope, "notes", info.source_note, info.language, type="source")


def _unit_of_analysis(description: Description) -> str:
    plan = description.facts.plan
    return "row" if plan.privacy_unit == "row" else f"row; the privacy unit is {plan.privacy_unit}"


def _method(study: Parent, description: Description) -> None:
    facts = description.facts
    method = _add(study, "method")
    _add(method, "notes", wording.row_order(facts.plan), type="row order")
    _add(method, "dataProcessing", description.privacy_in_words, type="statistical disclosure control")
    for position, unit in enumerate(facts.plan.units, 1):
        _add(method, "dataProcessing", _processing(description, unit), type="noise", ID=f"N{position}")


def _processing(description: Description, unit: UnitPlan) -> str:
    facts = description.facts
    charged = facts.charged(unit.name)
    what = "" if wording.covers_selection(facts.plan) else " (draws only)"
    amounts = [f"epsilon{what} {charged.epsilon.text}"] if charged.epsilon.units else []
    amounts += [f"delta{what} {charged.delta.text}"] if charged.delta.units else []
    amounts += [f"geo epsilon per km{what} {charged.geo.text}"] if charged.geo.units else []
    names = ", ".join(unit.columns)
    return f"{names}: noised by {facts.published_channel(unit.name).name}; charged {', '.join(amounts)}."


def _file(root: Parent, description: Description, file: PublishedFile, identifier: str) -> None:
    kind = file.key.rpartition(".")[2]
    described = _add(root, "fileDscr", ID=identifier, URI=file.key)
    text = _add(described, "fileTxt")
    _add(text, "fileName", file.key)
    size = _add(text, "dimensns")
    _add(size, "caseQnty", str(description.facts.rows))
    _add(size, "varQnty", str(len(description.variables)))
    _add(text, "fileType", _FORMATS[kind], charset="UTF-8" if kind == "csv" else None)
    _add(described, "notes", file.sha256, type="sha256")
    _add(described, "notes", str(file.bytes), type="bytes")
    if kind == "csv":
        _add(described, "notes", CSV_NULLS, type="missing values")


def _variables(root: Parent, description: Description) -> None:
    data = _add(root, "dataDscr")
    places = {variable.name: f"V{variable.position}" for variable in description.variables}
    processes = {unit.name: f"N{position}" for position, unit in enumerate(description.facts.plan.units, 1)}
    for unit in description.facts.plan.units:
        if len(unit.columns) > 1:
            members = " ".join(places[name] for name in unit.columns)
            group = _add(data, "varGrp", type="other", otherType="noised-together", var=members, name=unit.name)
            _add(group, "labl", f"Noised together: {', '.join(unit.columns)}")
    files = " ".join(f"F{position}" for position in range(1, len(description.data) + 1))
    for variable in description.variables:
        _variable(data, variable, files, processes, description.info.language)


def _variable(data: Parent, variable: Variable, files: str, processes: dict[str, str], language: str) -> None:
    attributes = dict(_attributes(variable))
    if variable.noise is not None:
        attributes["methrefs"] = processes[variable.noise.unit]
    found = _add(data, "var", ID=f"V{variable.position}", name=variable.name, files=files, **attributes)
    _own(found, "labl", variable.label, language)
    if variable.noise is not None:
        _add(found, "security", "Published values are random replacements of the values in the source.")
    if variable.question:
        _own(_add(found, "qstn"), "qstnLit", variable.question, language)
    if variable.lower is not None and variable.upper is not None:
        # the standard knows two units, and dates are in neither
        units = {"integer": "INT", "number": "REAL"}.get(variable.type)
        _add(_add(found, "valrng"), "range", UNITS=units, min=variable.lower, max=variable.upper)
    if variable.description:
        _own(found, "txt", variable.description, language)
    for code in variable.codes:
        category = _add(found, "catgry")
        _add(category, "catValu", str(code.value))
        if code.label:
            _own(category, "labl", code.label, language)
        if code.members:
            _add(category, "txt", f"Holds the codes {', '.join(code.members)} of the source.")
    if variable.concept:
        _add(found, "concept", variable.concept)
    kind = "numeric" if variable.type in ("integer", "number") else "character"
    _add(found, "varFormat", type=kind, category="date" if variable.type == "date" else None)
    _add(found, "notes", noise_in_words(variable), type="noise")


def _attributes(variable: Variable) -> Iterator[tuple[str, str]]:
    yield "intrvl", "contin" if variable.lower is not None else "discrete"
    if variable.step is not None and variable.type == "number":
        yield "dcml", str(len(variable.step.partition(".")[2]))
    if variable.unit:
        yield "measUnit", variable.unit
    if variable.codes:
        yield "nature", "ordinal" if variable.is_ordered else "nominal"
        yield "catQnty", str(len(variable.codes))
    if variable.type == "date":
        yield "temporal", "Y"
    if variable.axis:
        yield "geog", "Y"
    yield "representationType", "code" if variable.codes else _REPRESENTATIONS[variable.type]


def _add(parent: Parent, tag: str, text: str | None = None, /, **attributes: str | None) -> Parent:
    """A child with text and attributes; an attribute without a value is left out."""
    given = {key: _written(value) for key, value in attributes.items() if value is not None}
    child = ElementTree.SubElement(parent, tag, given)
    child.text = None if text is None else _written(text)
    return child


def _own(parent: Parent, tag: str, text: str, language: str, /, **attributes: str | None) -> Parent:
    """A child with words of the office, in the language of the release."""
    spoken = {} if language == _ENGLISH else {"xml:lang": language}
    return _add(parent, tag, text, **spoken, **attributes)


def _written(text: str) -> str:
    """Text that XML can carry; the release file refuses the rest, so nothing should be left to replace."""
    return "".join(character if character in "\n\t" or _is_xml(ord(character)) else "\ufffd" for character in text)


def _is_xml(number: int) -> bool:
    return number >= 0x20 and not 0xD800 <= number < 0xE000 and number not in (0xFFFE, 0xFFFF)
