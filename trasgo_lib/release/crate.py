"""``ro-crate-metadata.json``: the release described for research archives, as plain JSON-LD.

Written by hand and read back by the ``rocrate`` package in a test: that package puts its own clock into what it writes,
and a resumed publication must give the same bytes. Source: RO-Crate 1.2 (root data entity, files, provenance).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from trasgo_lib.release.manifest import StagedFile
from trasgo_lib.release.statement import amounts
from trasgo_lib.reporting import ReleaseFacts, wording

if TYPE_CHECKING:
    from trasgo_lib.config import ReleaseInfo

CRATE = "ro-crate-metadata.json"

_VERSION = "https://w3id.org/ro/crate/1.2"
_KINDS = {
    ".parquet": "application/vnd.apache.parquet",
    ".csv": "text/csv",
    ".json": "application/json",
    ".html": "text/html",
    ".md": "text/markdown",
    ".pem": "application/x-pem-file",
    ".xml": "application/xml",
    ".jsonld": "application/ld+json",
    ".geojson": "application/geo+json",
    ".svg": "image/svg+xml",
}
_NAMES = {
    ".parquet": "released rows, Parquet",
    ".csv": "released rows, CSV",
    "channel.json": "channel of every noised column, with its decoder",
    "statement.json": "privacy statement",
    "report.md": "report for people",
    "report.html": "report for people, with charts",
    "HOWTO_ANALYSE.md": "how to analyse this release, in Python and in R",
    "signing-key.pem": "public half of the key that signed",
    "codebook.md": "codebook for people",
    "ddi.xml": "codebook, DDI-Codebook 2.5",
    "csvw.json": "metadata of the CSV file, CSV on the Web",
    "datapackage.json": "metadata of the data files, Frictionless Data Package 2.0",
    "dcat.jsonld": "catalogue record, DCAT-AP 3.0",
    "dp_statement.json": "privacy statement in the shape of the registry of deployments",
    "dp_statement.md": "the same for people",
    "data/answers.json": "answers, whole numbers and choices as they were drawn and post-processed",
    "data/answers.csv": "the same answers, one row a number or choice",
    "data/model.json": "weights of the model, and its accuracy",
    "model_card.md": "model card: what the model is for, how good it is, and what it promises",
    "HOWTO_USE.md": "how to use these answers with their error, in Python and in R",
}
_CODE_LISTS = "codelists/"
_LISTS = (
    ("SHA256SUMS", "text/plain", "digest of every file that is described here"),
    ("manifest.json", "application/json", "list of every file, put last"),
)
_ENVELOPE = ("manifest.dsse.json", "application/json", "signed statement about every file")


@dataclass(frozen=True, slots=True)
class CrateFacts:
    """What research metadata say of a package, of whatever kind. All public.

    Args:
        info: what the file of the release says of it.
        dataset: name of the data set.
        version: version.
        created: when it was made, ISO 8601.
        library_version: version of this library.
        commit: source revision, or ``unknown``.
        made: what was done to make it, in words.
        conditions: the privacy statement in plain words.
        claims: the amounts of the statement under the very names they have there, as decimal text.
        names: what files are, by path or ending, where it is something else than in a release of rows.
    """

    info: ReleaseInfo
    dataset: str
    version: str
    created: str
    library_version: str
    commit: str
    made: str
    conditions: str
    claims: Mapping[str, str]
    names: Mapping[str, str] = field(default_factory=dict)


def crate_document(facts: ReleaseFacts, files: Sequence[StagedFile], *, is_signed: bool) -> dict[str, Any]:
    """The metadata file's content for a release of rows.

    Args:
        facts: what the run states about itself.
        files: the files that are described with their digests; the lists of files come without.
        is_signed: whether the release has a signed envelope.
    """
    plan, suffix = facts.plan, wording.claim_suffix(facts.plan)
    stated = CrateFacts(
        info=plan.config.release,
        dataset=plan.dataset,
        version=plan.version,
        created=facts.created,
        library_version=facts.library_version,
        commit=facts.commit,
        made=f"{wording.TRUST_MODEL}, under {plan.composition} composition",
        conditions=wording.in_plain_words(facts),
        claims={**amounts(facts.guarantee, "_guarantee", suffix), **amounts(facts.realised, "_realised", suffix)},
    )
    return crate_of(stated, files, is_signed=is_signed)


def crate_of(facts: CrateFacts, files: Sequence[StagedFile], *, is_signed: bool) -> dict[str, Any]:
    """The metadata file's content.

    Args:
        facts: what is said of the package.
        files: the files that are described with their digests; the lists of files come without.
        is_signed: whether the package has a signed envelope.
    """
    described = [_file(file, facts.names) for file in files]
    lists = [*_LISTS, *([_ENVELOPE] if is_signed else [])]
    described += [_entity(key, "File", name=name, encodingFormat=kind) for key, kind, name in lists]
    claims = _claims(facts)
    info = facts.info
    root = _entity(
        "./",
        "Dataset",
        name=info.title,
        description=info.description or info.title,
        identifier=f"{facts.dataset}/{facts.version}",
        version=facts.version,
        datePublished=facts.created,
        license={"@id": "#licence"},
        hasPart=_references(described),
        mentions=[{"@id": "#release"}],
        subjectOf=[{"@id": "statement.json"}],
        additionalProperty=_references(claims),
        conditionsOfAccess=facts.conditions,
    )
    return {
        "@context": f"{_VERSION}/context",
        "@graph": [
            _entity(CRATE, "CreativeWork", conformsTo={"@id": _VERSION}, about={"@id": "./"}),
            root,
            *described,
            _entity("#licence", "CreativeWork", name=info.licence or "no licence is stated"),
            _release_action(facts, files),
            _entity(
                "#trasgo",
                "SoftwareApplication",
                name="trasgo",
                softwareVersion=facts.library_version,
                identifier=facts.commit,
            ),
            *claims,
        ],
    }


def _release_action(facts: CrateFacts, files: Sequence[StagedFile]) -> dict[str, Any]:
    """What made the data files; the raw file it worked on is nobody's to see and is not named."""
    results = [{"@id": file.key} for file in files if file.key.startswith("data/")]
    return _entity(
        "#release",
        "CreateAction",
        name=f"release of {facts.dataset}, version {facts.version}",
        description=facts.made,
        endTime=facts.created,
        instrument={"@id": "#trasgo"},
        result=results,
    )


def _claims(facts: CrateFacts) -> list[dict[str, Any]]:
    """The amounts of the statement; those that are zero are left out."""
    return [
        _entity(f"#{name}", "PropertyValue", name=name, value=value, subjectOf={"@id": "statement.json"})
        for name, value in facts.claims.items()
        if value != "0"
    ]


def _file(file: StagedFile, names: Mapping[str, str]) -> dict[str, Any]:
    suffix = PurePosixPath(file.key).suffix
    own = names.get(file.key) or names.get(suffix) if file.key not in _NAMES else None
    return _entity(
        file.key,
        "File",
        name="codes of a column" if file.key.startswith(_CODE_LISTS) else own or _NAMES.get(file.key) or _NAMES[suffix],
        encodingFormat=_KINDS[suffix],
        contentSize=str(file.bytes),
        sha256=file.sha256,
    )


def _references(entities: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    return [{"@id": entity["@id"]} for entity in entities]


def _entity(key: str, kind: str, **properties: Any) -> dict[str, Any]:
    return {"@id": key, "@type": kind, **properties}
