"""Metadata against the rules of their standards, as far as these can be had without a network.

DDI-Codebook's own schema is in no package of ours: its element order, attributes and references are written down below
from the published schema and checked by hand. DCAT-AP's shapes likewise, as queries over the graph that rdflib reads.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rdflib
from lxml import etree
from rdflib.namespace import DCTERMS, FOAF, RDF, XSD
from rocrate.rocrate import ROCrate

from trasgo_lib.release import publish_package
from trasgo_lib.release.documents import validator
from trasgo_lib.storage import open_store

DDI = "{ddi:codebook:2_5}"
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"

CHILDREN = {
    "codeBook": "docDscr* stdyDscr+ fileDscr* dataDscr* otherMat*",
    "stdyDscr": "citation+ studyAuthorization* stdyInfo* studyDevelopment* method* dataAccs* othrStdyMat* notes*",
    "citation": "titlStmt rspStmt? prodStmt? distStmt? serStmt* verStmt* biblCit? holdings* notes*",
    "titlStmt": "titl subTitl* altTitl* parTitl* IDNo*",
    "prodStmt": "producer* copyright? prodDate* prodPlac* software* fundAg* grantNo*",
    "distStmt": "distrbtr* contact* depositr* depDate* distDate*",
    "serStmt": "serName* serInfo*",
    "verStmt": "version? verResp* notes*",
    "stdyInfo": "studyBudget* subject* abstract* sumDscr* qualityStatement? notes* exPostEvaluation*",
    "subject": "keyword* topcClas*",
    "sumDscr": "timePrd* collDate* nation* geogCover* geogUnit* geoBndBox* boundPoly* anlyUnit* universe* dataKind*",
    "method": "dataColl* notes* anlyInfo? stdyClas? dataProcessing* codingInstructions*",
    "dataAccs": "setAvail* useStmt* notes*",
    "useStmt": "confDec? specPerm? restrctn? contact* citReq? deposReq? conditions? disclaimer?",
    "othrStdyMat": "relMat* relStdy* relPubl* othRefs*",
    "fileDscr": "fileTxt* locMap? notes*",
    "fileTxt": "fileName? fileCitation? fileCont? fileStrc? dimensns? fileType? format? filePlac? dataChck* ProcStat?"
    " dataMsng? software* verStmt?",
    "dimensns": "caseQnty* varQnty* logRecL* recPrCas* recNumTot*",
    "dataDscr": "varGrp* nCubeGrp* var* nCube* notes*",
    "varGrp": "labl* txt* concept* defntn? universe? notes*",
    "var": "location* labl* imputation? security? embargo? respUnit? anlysUnit? qstn* valrng* invalrng* undocCod*"
    " universe* TotlResp? sumStat* txt* stdCatgry* catgryGrp* catgry* codInstr* verStmt* concept* derivation?"
    " varFormat? geoMap* catLevel* notes*",
    "qstn": "preQTxt* qstnLit* postQTxt* forward* backward* ivuInstr*",
    "valrng": "range+ key? notes*",
    "catgry": "catValu? labl* txt* catStat* mrow?",
}
"""Children of the elements that are written here, in the order of the schema (DDI-Codebook 2.5, 2012)."""

ATTRIBUTES = {
    "codeBook": {"version", _LANG},
    "prodDate": {"date"},
    "software": {"version"},
    "version": {"date"},
    "distrbtr": {"URI"},
    "contact": {"email", "URI"},
    "timePrd": {"event", "date"},
    "notes": {"type", _LANG},
    "dataProcessing": {"type", "ID"},
    "fileDscr": {"ID", "URI"},
    "fileType": {"charset"},
    "varGrp": {"type", "otherType", "var", "name"},
    "var": {"ID", "name", "files", "intrvl", "dcml", "measUnit", "nature", "catQnty", "temporal", "geog", "methrefs"}
    | {"representationType"},
    "range": {"UNITS", "min", "max"},
    "varFormat": {"type", "category"},
    **{name: {_LANG} for name in ("titl", "serName", "keyword", "abstract", "geogCover", "universe")},
    **{name: {_LANG} for name in ("labl", "qstnLit", "txt")},
}
VALUES = {
    ("var", "intrvl"): {"contin", "discrete"},
    ("var", "nature"): {"nominal", "ordinal"},
    ("var", "representationType"): {"text", "numeric", "code", "datetime"},
    ("range", "UNITS"): {"INT", "REAL"},
    ("varFormat", "type"): {"character", "numeric"},
    ("varFormat", "category"): {"date"},
    ("timePrd", "event"): {"start", "end"},
    ("varGrp", "type"): {"other"},
}


def _ddi_faults(root: Any) -> list[str]:
    faults = []
    identifiers = [element.get("ID") for element in root.iter() if element.get("ID")]
    if len(identifiers) != len(set(identifiers)):
        faults.append("an ID stands twice")
    for element in root.iter():
        name = etree.QName(element).localname
        found = "".join(f"{etree.QName(child).localname} " for child in element)
        model = "".join(
            f"({part.rstrip('*+?')} ){part[-1] if part[-1] in '*+?' else ''}" for part in CHILDREN.get(name, "").split()
        )
        if not re.fullmatch(model, found):
            faults.append(f"{name}: {found}")
        for key, value in element.attrib.items():
            if key not in ATTRIBUTES.get(name, set()) or value not in VALUES.get((name, key), {value}):
                faults.append(f"{name} {key}={value}")
            if key in ("files", "methrefs") or (name, key) == ("varGrp", "var"):
                faults += [f"{name} {key}={part}" for part in value.split() if part not in identifiers]
    return faults


@pytest.fixture(params=["made", "awkward"])
def package(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def _ddi(package: Any) -> Any:
    return etree.parse(str(package.work / "ddi.xml")).getroot()


def test_ddi_has_the_structure_of_its_standard(package: Any) -> None:
    root = _ddi(package)
    assert root.tag == f"{DDI}codeBook" and root.get("version") == "2.5"
    assert _ddi_faults(root) == []


@pytest.mark.parametrize(
    "break_it",
    [
        lambda var: var.insert(0, var[-1]),
        lambda var: var.set("files", "F9"),
        lambda var: var.set("intrvl", "sometimes"),
        lambda var: var.set("colour", "red"),
        lambda var: var.set("ID", "V1"),
    ],
    ids=["order", "reference", "value", "attribute", "identifier"],
)
def test_another_structure_is_found(made: Any, break_it: Callable[[Any], object]) -> None:
    """Negative control."""
    root = copy.deepcopy(_ddi(made))
    break_it(root.findall(f"{DDI}dataDscr/{DDI}var")[3])
    assert _ddi_faults(root)


def test_ddi_carries_every_text_and_no_statistic(awkward: Any) -> None:
    root = _ddi(awkward)
    texts = {etree.QName(element).localname: element.text for element in root.iter()}
    assert root.findtext(f".//{DDI}titl") == "Löhne & <Orte> \U0001f600"
    assert root.findtext(f".//{DDI}abstract") == 'A "quoted" text,\nin two lines; \u05e2\u05d1\u05e8\u05d9\u05ea'
    assert root.find(f".//{DDI}distrbtr").get("URI") == "https://amt.example/a?b=1&c=2"
    assert [event.get("date") for event in root.iter(f"{DDI}timePrd")] == ["2016", "2017-03-31"]
    first, column = (root.find(f".//{DDI}var[@name='{name}']") for name in ("Größe (cm) %1", "Column"))
    assert (first.get("measUnit"), first.findtext(f"{DDI}qstn/{DDI}qstnLit")) == ("m < 2", "Wie groß?")
    codes = [code.text for code in column.iter(f"{DDI}catValu")]
    assert codes == ["a", " b ", "c,d", 'e"f', "<g>&amp;", "\u05e9\u05dc\u05d5\u05dd", "\U0001f600"]
    state = root.find(f".//{DDI}var[@name='state']")
    assert "maine, vermont" in state.findtext(f"{DDI}catgry/{DDI}txt")
    group = root.find(f".//{DDI}varGrp[@name='together']")
    assert group.findtext(f"{DDI}labl") == "Noised together: hours, smsa"
    assert "37 rows & more" in root.findtext(f".//{DDI}verStmt/{DDI}notes")
    assert not {"catStat", "sumStat", "embargo"} & set(texts)


def test_ddi_says_which_words_are_in_which_language(awkward: Any, made: Any) -> None:
    root = _ddi(awkward)
    assert root.get(_LANG) == "en", "the sentences of the document are English"
    own = [root.find(f".//{DDI}{name}") for name in ("titl", "abstract", "qstnLit")]
    assert [element.get(_LANG) for element in own] == ["de"] * 3
    assert root.find(f".//{DDI}dataProcessing").get(_LANG) is None
    english = _ddi(made)
    assert english.get(_LANG) == "en" and not [element for element in english.iterdescendants() if element.get(_LANG)]


def _graph(document: dict[str, Any]) -> rdflib.Graph:
    place = "https://host.example/open/awkward/2.0/dcat.jsonld"
    return rdflib.Graph().parse(data=json.dumps(document), format="json-ld", publicID=place)


def _dcat(package: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((package.work / "dcat.jsonld").read_text(encoding="utf-8"))
    return document


DCAT = rdflib.Namespace("http://www.w3.org/ns/dcat#")
SPDX = rdflib.Namespace("http://spdx.org/rdf/terms#")
ADMS = rdflib.Namespace("http://www.w3.org/ns/adms#")
VCARD = rdflib.Namespace("http://www.w3.org/2006/vcard/ns#")

MANDATORY = {
    DCAT.Dataset: (DCTERMS.title, DCTERMS.description, DCAT.distribution),
    DCAT.Distribution: (DCAT.accessURL, DCAT.byteSize, DCAT.mediaType, SPDX.checksum),
    DCAT.DatasetSeries: (DCTERMS.title, DCTERMS.description),
    FOAF.Agent: (FOAF.name,),
    SPDX.Checksum: (SPDX.algorithm, SPDX.checksumValue),
    VCARD.Kind: (VCARD.fn,),
}
RANGES = {
    DCTERMS.language: rdflib.URIRef,
    DCTERMS.license: rdflib.URIRef,
    DCAT.accessURL: rdflib.URIRef,
    DCAT.mediaType: rdflib.URIRef,
    DCAT.previousVersion: rdflib.URIRef,
    DCAT.version: rdflib.Literal,
    DCAT.byteSize: rdflib.Literal,
    SPDX.checksumValue: rdflib.Literal,
}


def _dcat_faults(graph: rdflib.Graph) -> list[str]:
    faults = [] if list(graph.subjects(RDF.type, DCAT.Dataset)) else ["no data set"]
    for kind, properties in MANDATORY.items():
        for subject in graph.subjects(RDF.type, kind):
            faults += [f"{kind}: no {name}" for name in properties if graph.value(subject, name) is None]
    for name, wanted in RANGES.items():
        faults += [f"{name}: {value!r}" for value in graph.objects(None, name) if not isinstance(value, wanted)]
    sizes = {size.datatype for size in graph.objects(None, DCAT.byteSize) if isinstance(size, rdflib.Literal)}
    return faults if sizes <= {XSD.nonNegativeInteger} else [*faults, f"sizes {sizes}"]


def test_dcat_has_what_the_profile_asks_for(package: Any) -> None:
    assert _dcat_faults(_graph(_dcat(package))) == []


@pytest.mark.parametrize("name", ["dct:title", "dct:description", "dcat:distribution"])
def test_a_record_without_it_is_found(awkward: Any, name: str) -> None:
    """Negative control."""
    document = _dcat(awkward)
    del document[name]
    assert _dcat_faults(_graph(document))


def test_what_a_correction_says_ends_before_the_next_sentence(awkward: Any) -> None:
    for name in ("codebook.md", "ddi.xml"):
        text = (awkward.work / name).read_text(encoding="utf-8")
        assert re.search(r"37 rows \S+ more\. See \.\./\\?_ERRATA/", text), name


def test_dcat_says_where_files_and_versions_are(awkward: Any) -> None:
    graph, here = _graph(_dcat(awkward)), "https://host.example/open/awkward/"
    data_set = rdflib.URIRef(f"{here}2.0/")
    assert graph.value(data_set, DCAT.previousVersion) == rdflib.URIRef(f"{here}1.0/")
    assert str(graph.value(data_set, ADMS.versionNotes)) == "37 rows & more"
    assert rdflib.URIRef(f"{here}_ERRATA/2.0.json") in set(graph.objects(data_set, rdflib.RDFS.seeAlso))
    assert graph.value(data_set, DCTERMS.issued) is None, "when it is published is not known when it is written"
    title = graph.value(data_set, DCTERMS.title)
    assert (str(title), title.language) == ("Löhne & <Orte> \U0001f600", "de")
    digests = {
        str(graph.value(entry, DCAT.downloadURL)): str(
            graph.value(graph.value(entry, SPDX.checksum), SPDX.checksumValue)
        )
        for entry in graph.objects(data_set, DCAT.distribution)
    }
    files = {file.key: file.sha256 for file in awkward.package.files if file.key.startswith("data/")}
    assert digests == {f"{here}2.0/{key}": digest for key, digest in files.items()}
    period = graph.value(data_set, DCTERMS.temporal)
    assert graph.value(period, DCAT.startDate).datatype == XSD.gYear
    assert graph.value(period, DCAT.endDate).datatype == XSD.date
    licences = set(graph.objects(None, DCTERMS.license))
    assert licences == {rdflib.URIRef("https://creativecommons.org/licenses/by/4.0/")}
    assert graph.value(data_set, DCTERMS.language) == rdflib.URIRef(
        "http://publications.europa.eu/resource/authority/language/DEU"
    )


def test_a_licence_in_words_stays_words(kit: Any, tmp_path: Path) -> None:
    made = kit.make(tmp_path, kit.release_file.replace("licence: CC0-1.0", 'licence: "free of charge"'))
    licence = _dcat(made)["dcat:distribution"][0]["dct:license"]
    assert licence == {"@type": "dct:LicenseDocument", "rdfs:label": "free of charge"}
    package = json.loads((made.work / "datapackage.json").read_text())
    assert package["licenses"] == [{"name": "other", "title": "free of charge"}]


REGISTRY = {
    "basic": "name data_curators description intended_use data_product_type data_product_region data_product_sector"
    " publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units privacy_parameters"
    " privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type release_type_details"
    " data_source_type data_source_type_details access_type access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition post_processing justification"
    " utility additional_information",
    "administrative": "evidence_sources status registry_authors tier",
}
"""Field names of the registry of deployments, tiers 1 to 3, as its template lists them."""


def _registry(package: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((package.work / "dp_statement.json").read_text(encoding="utf-8"))
    return document


def test_the_statement_has_the_fields_of_the_registry(package: Any) -> None:
    document = _registry(package)
    deployment = document["registry"]["deployment"]
    assert {part: set(fields.split()) for part, fields in REGISTRY.items()} == {
        part: set(fields) for part, fields in deployment.items()
    }
    assert list(validator("dp_statement").iter_errors(document)) == []
    open_fields = document["to_be_filled_in"]
    assert {"deployment.basic.intended_use", "deployment.implementation.justification"} <= set(open_fields)
    text = (package.work / "dp_statement.md").read_text(encoding="utf-8")
    assert all(entry["question"].split("?")[0] in text for entry in document["nist_sp_800_226"])


def test_the_registry_gets_the_cap_where_it_covers_everything(awkward: Any, made: Any) -> None:
    parameters = _registry(awkward)["registry"]["deployment"]["privacy_loss"]
    assert parameters["privacy_parameters"] == {"epsilon": 90.0}
    assert parameters["number_of_privacy_units"] == 500
    drawn = _registry(made)["registry"]["deployment"]["privacy_loss"]
    assert drawn["privacy_parameters"] == {}, "losses were measured on raw data: no epsilon without a footnote"
    assert "those of the random draws only" in drawn["privacy_parameters_details"]


def test_parameters_are_said_to_depend_on_the_data_where_raw_losses_chose_them(awkward: Any, made: Any) -> None:
    for package, words in ((awkward, "No: "), (made, "Parameters do, since losses were measured on raw data")):
        answers = {entry["question"]: entry["answer"] for entry in _registry(package)["nist_sp_800_226"]}
        assert answers["Do bounds, code lists or parameters depend on the data?"].startswith(words)


def test_levels_without_a_target_are_not_said_to_be_found_by_a_loop(awkward: Any, made: Any) -> None:
    for package in (awkward, made):
        targets = [
            unit["target"] is not None for unit in json.loads((package.work / "statement.json").read_text())["units"]
        ]
        how = "found by a loop." if all(targets) else "found by a loop, or" if any(targets) else "declared."
        said = _registry(package)["registry"]["deployment"]["implementation"]["preprocessing_and_hyperparameter_tuning"]
        assert f"Levels of noise are {how}" in said


def test_the_crate_names_every_file(awkward: Any, tmp_path: Path) -> None:
    publish_package(awkward.package, open_store(tmp_path), "awkward/2.0")
    crate = ROCrate(tmp_path / "awkward" / "2.0")
    for file in awkward.package.files:
        if file.key not in ("ro-crate-metadata.json", "SHA256SUMS", "manifest.json"):
            assert crate.get(file.key)["sha256"] == file.sha256
    assert crate.get("ddi.xml")["encodingFormat"] == "application/xml"
    assert crate.get("dcat.jsonld")["encodingFormat"] == "application/ld+json"


def test_the_codebook_shows_what_was_declared(awkward: Any) -> None:
    text = (awkward.work / "codebook.md").read_text(encoding="utf-8")
    assert "### Größe (cm) %1: Größe &amp; &lt;Höhe&gt;" in text
    assert "950 more codes stand in `codelists/occupation.csv`." in text
    assert "| north | Norden | maine, vermont |" in text
    assert "together with smsa, as one group" in text
    assert "Amt für &lt;Beispiele&gt;: Löhne" in text and "../\\_ERRATA/2.0.json" in text


def test_a_release_without_csv_has_no_csv_metadata(kit: Any, tmp_path: Path) -> None:
    made = kit.make(tmp_path, kit.release_file.replace("formats: [parquet, csv]", "formats: [parquet]"))
    names = {file.key for file in made.package.files}
    assert "csvw.json" not in names and {"datapackage.json", "ddi.xml", "dcat.jsonld"} <= names


def test_the_same_run_gives_the_same_bytes(kit: Any, made: Any, tmp_path: Path) -> None:
    again = kit.make(tmp_path)
    assert [(file.key, file.sha256) for file in again.package.files] == [
        (file.key, file.sha256) for file in made.package.files
    ]
