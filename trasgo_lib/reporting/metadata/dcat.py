"""``dcat.jsonld``: the release as a data set of a catalogue.

Source: DCAT 3 (W3C, 2024) and DCAT-AP 3.0 (SEMIC): data set with title and description, distributions with access URL
and SPDX checksum, version and previous version. Every address of our own is relative to where the file stands, which is
``<dataset>/<version>/`` by the layout of a store, so the record holds wherever the release was put.

``dct:issued`` is left out: a package is made before it is published, and approval or embargo may lie between.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from trasgo_lib.reporting.metadata.description import ERRATA, Described, PublishedFile
from trasgo_lib.reporting.metadata.languages import language_address

DCAT = "dcat.jsonld"

_CONTEXT = {
    "adms": "http://www.w3.org/ns/adms#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_SHA256 = "http://spdx.org/rdf/terms#checksumAlgorithm_sha256"
_MEDIA = "https://www.iana.org/assignments/media-types/"
_KINDS = {
    "csv": "text/csv",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "geojson": "application/geo+json",
}


def dcat_document(description: Described) -> dict[str, Any]:
    """The record's content.

    Args:
        description: the release.
    """
    info, licence = description.info, _licence(description)
    superseded = info.supersedes
    record = {
        "@id": "./",
        "@type": "dcat:Dataset",
        "dct:title": _text(description, info.title),
        "dct:description": _text(description, description.summary),
        "dct:identifier": f"{description.dataset}/{description.version}",
        "dcat:version": description.version,
        "dct:created": _typed(description.created, "dateTime"),
        "dct:language": {"@id": language_address(info.language)},
        "dcat:keyword": [_text(description, word) for word in info.keywords] or None,
        "dct:publisher": _agent(info.publisher.name, info.publisher.url) if info.publisher else None,
        "dcat:contactPoint": _contact(description),
        "dct:spatial": _place(description),
        "dct:temporal": _period(description),
        "dcat:inSeries": _series(description),
        "dcat:landingPage": {"@id": info.landing_page} if info.landing_page else None,
        "dct:provenance": {
            "@type": "dct:ProvenanceStatement",
            "rdfs:label": {"@value": description.privacy_in_words, "@language": "en"},
        },
        "dcat:previousVersion": None if superseded is None else {"@id": f"../{superseded.version}/"},
        "adms:versionNotes": _text(description, superseded.note) if superseded is not None else None,
        "rdfs:seeAlso": [{"@id": place} for place in (description.erratum, ERRATA) if place is not None],
        "foaf:page": [{"@id": page, "@type": "foaf:Document"} for page in description.pages],
        "dcat:distribution": [_distribution(description, file, licence) for file in description.data],
    }
    return {"@context": _CONTEXT, **{name: value for name, value in record.items() if value is not None}}


def _distribution(description: Described, file: PublishedFile, licence: dict[str, Any] | None) -> dict[str, Any]:
    address = {"@id": quote(file.key)}
    kind = file.key.rpartition(".")[2]
    same = [one.key for one in description.data if one.key.endswith(f".{kind}")]
    # several files of a kind, as maps of several resolutions, are told apart by their place
    number = "" if len(same) == 1 else f"-{same.index(file.key) + 1}"
    return {
        "@id": f"#distribution-{kind}{number}",
        "@type": "dcat:Distribution",
        "dct:title": {"@value": f"{description.content_words}, {kind}", "@language": "en"},
        "dcat:accessURL": address,
        "dcat:downloadURL": address,
        "dcat:mediaType": {"@id": _MEDIA + _KINDS[kind]},
        "dcat:byteSize": _typed(str(file.bytes), "nonNegativeInteger"),
        **({} if licence is None else {"dct:license": licence}),
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": _SHA256},
            "spdx:checksumValue": _typed(file.sha256, "hexBinary"),
        },
    }


def _licence(description: Described) -> dict[str, Any] | None:
    words, address = description.info.licence, description.licence_address
    if not words:
        return None
    document: dict[str, Any] = {"@type": "dct:LicenseDocument", "rdfs:label": words}
    return document if address is None else {"@id": address, **document}


def _contact(description: Described) -> dict[str, Any] | None:
    contact = description.info.contact
    if contact is None:
        return None
    mail = {"vcard:hasEmail": {"@id": f"mailto:{quote(contact.email, safe='@')}"}} if contact.email else {}
    page = {"vcard:hasURL": {"@id": contact.url}} if contact.url else {}
    return {"@type": "vcard:Kind", "vcard:fn": contact.name, **mail, **page}


def _agent(name: str, url: str) -> dict[str, Any]:
    return {"@type": "foaf:Agent", "foaf:name": name, **({"foaf:homepage": {"@id": url}} if url else {})}


def _place(description: Described) -> dict[str, Any] | None:
    place = description.info.spatial
    if place.startswith(("https://", "http://")):
        return {"@id": place, "@type": "dct:Location"}
    return {"@type": "dct:Location", "rdfs:label": _text(description, place)} if place else None


def _period(description: Described) -> dict[str, Any] | None:
    period = description.info.temporal
    if period is None:
        return None
    ends = {"dcat:startDate": period.start, "dcat:endDate": period.end}
    return {"@type": "dct:PeriodOfTime", **{name: _typed(day, _day_type(day)) for name, day in ends.items()}}


def _day_type(day: str) -> str:
    return ("gYear", "gYearMonth", "date")[day.count("-")]


def _series(description: Described) -> dict[str, Any] | None:
    series = description.info.series
    if not series:
        return None
    name = _text(description, series)
    return {"@type": "dcat:DatasetSeries", "dct:title": name, "dct:description": name}


def _text(description: Described, words: str) -> dict[str, str]:
    return {"@value": words, "@language": description.info.language}


def _typed(value: str, kind: str) -> dict[str, str]:
    return {"@value": value, "@type": f"xsd:{kind}"}
