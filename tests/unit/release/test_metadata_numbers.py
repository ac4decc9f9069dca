"""Every number in the metadata is one that anyone can find or compute again from public files and the release file.

What this cannot see is a raw count that happens to be known anyway, as small ones often are; that no rows are read is
seen in the writers, which get none.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pytest

from trasgo_lib.data import BoxDomain, ProductDomain, domain_from_description
from trasgo_lib.mechanisms import margin, rebuild_channel
from trasgo_lib.reporting.noise_words import noise_words

SCANNED = (
    "codebook.md",
    "ddi.xml",
    "csvw.json",
    "datapackage.json",
    "dcat.jsonld",
    "dp_statement.json",
    "dp_statement.md",
)
_NUMBER = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[\d:]+)?|\d+(?:\.\d+)?")
"""A day or an instant as a whole, else a run of digits with its decimals."""
_PLAIN = re.compile(r"0(?:\.\d+)?|[1-9]\d*(?:\.\d+)?")
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")

OF_STANDARDS = {
    *(
        "2.5",
        "2.0",
        "2",
        "5",
        "1.0",
        "3.0",
        "3",
        "4.0",
        "4180",
        "8",
        "256",
        "800",
        "226",
        "1.4143",
        "1999",
        "2000",
        "2001",
    ),
    *("2006", "02", "22", "01", "1", "0.1", "4", "0"),
}
"""Numbers in names and addresses of standards and vocabularies, and in their words."""


def numbers(text: str) -> set[Decimal | str]:
    """Every number of a text, and days and codes with leading zeros as they stand; digests are taken out before."""
    found = _NUMBER.findall(_DIGEST.sub("", text))
    return {Decimal(number) if _PLAIN.fullmatch(number) else number for number in found}


def _read(package: Any, name: str) -> str:
    text: str = (package.work / name).read_text(encoding="utf-8")
    return text


def _computed(package: Any) -> Iterator[str]:
    """What follows from the channel file: noise in words, bounds of places, sizes of domains."""
    for unit in json.loads(_read(package, "channel.json"))["units"]:
        domain = domain_from_description(unit["domain"])
        channel = rebuild_channel(unit["mechanism"], domain, unit["parameters"])
        if isinstance(domain, ProductDomain):
            for part in domain.parts:
                yield noise_words(part.domain, margin(channel, domain, part.name))
                yield str(part.domain.size)
        else:
            yield noise_words(domain, channel)
            yield str(domain.size)
        per_metre = float(unit["draw"].get("geo", unit["draw"].get("geo_draws_only", "0"))) / 1000
        if per_metre:  # how far places are moved: the mean, and what one in twenty passes, of a Gamma(2) law
            yield from (f"{metres / per_metre:,.0f}" for metres in (2, 4.7438645184))
        if isinstance(domain, BoxDomain):
            latitude, longitude = domain.decode(range(domain.size))
            yield from (repr(float(end)) for axis in (latitude, longitude) for end in (axis.min(), axis.max()))
    manifest = json.loads(_read(package, "manifest.json"))
    yield manifest["created"][:4]  # the year in the citation
    count = len(manifest["columns"])
    yield from map(str, range(count + 1))  # positions of columns, in identifiers and names


def _known(package: Any) -> set[Decimal | str]:
    public = [_read(package, name) for name in ("channel.json", "statement.json", "manifest.json")]
    declared = package.plan.config_path.read_text(encoding="utf-8")
    texts = [*public, declared, " ".join(OF_STANDARDS), *_computed(package)]
    # of a code list too long for the codebook it is said how many codes are left
    codes = [len(unit["domain"].get("codes", ())) for unit in json.loads(public[0])["units"]]
    return set().union(*map(numbers, texts), {Decimal(count - 50) for count in codes if count > 50})


@pytest.fixture(params=["made", "awkward"])
def package(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_every_number_is_found_or_computed_again(package: Any) -> None:
    known = _known(package)
    digests = {entry["sha256"] for entry in json.loads(_read(package, "manifest.json"))["files"]}
    for name in SCANNED:
        # names in csvw.json are spelled for URI templates
        text = unquote(_read(package, name))
        assert sorted(map(str, numbers(text) - known)) == [], name
        assert set(_DIGEST.findall(text)) <= digests


@pytest.mark.parametrize("raw", ["mean 417.25", "1743 values clipped", "<catStat>143</catStat>", '"count": 28155'])
def test_a_number_from_elsewhere_is_found(made: Any, raw: str) -> None:
    """Negative control."""
    assert numbers(_read(made, "codebook.md") + raw) - _known(made)


def test_code_lists_are_computed_again_from_the_channel_file(package: Any) -> None:
    declared = {column.name: column for column in package.plan.config.columns}
    lists = {file.key: file.path for file in package.package.files if file.key.startswith("codelists/")}
    assert lists
    fields = json.loads(_read(package, "datapackage.json"))["resources"][-len(lists) :]
    for resource in fields:
        column = resource["title"].removeprefix("Codes of ")
        with lists[resource["path"]].open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream))[1:]
        labels = declared[column].domain.labels
        codes = list(declared[column].domain.codes)
        assert rows == [[code, labels.get(code, ""), str(place)] for place, code in enumerate(codes)]
