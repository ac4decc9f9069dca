"""The words of a release: what they may hold, and that they change no digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from trasgo_lib.config import load_config
from trasgo_lib.errors import ConfigError
from trasgo_lib.plan import compile_plan

FILE = """
format: 1
release: {dataset: demo, version: "1", title: "T" RELEASE}
source: {path: rows.csv, format: csv}
privacy: {epsilon_total: "8", account: demo, unit: row, row_order: shuffle}
columns:
  - {name: wage, type: number, domain: {lower: "0", upper: "10", step: "1"}, mechanism: laplace, epsilon: "1" COLUMN}
  - {name: region, type: category, domain: {codes: [north, south] DOMAIN}, mechanism: randomized_response, epsilon: "1"}
  - {name: note, role: public LAST}
publish: {store: releases, formats: [parquet, csv]}
"""


def write(folder: Path, **parts: str) -> Path:
    text = FILE
    for name in ("RELEASE", "COLUMN", "DOMAIN", "LAST"):
        text = text.replace(f" {name}", parts.get(name.lower(), ""))
    path = folder / "release.yaml"
    path.write_text(text, encoding="utf-8")
    return path


WORDS = {
    "release": ', description: "d", universe: "u", publisher: {name: "p"}, contact: {name: "c", email: "a@b.c"},'
    ' keywords: ["k"], language: es-ES, spatial: "s", temporal: {start: "1988", end: "1988-03-31"}, series: "x",'
    ' landing_page: "https://b.c/d", licence: "CC0-1.0", source_note: "n"',
    "column": ', label: "l", description: "d\\n\\n\u05e2\u200f", question: "q", concept: "https://c.d/e"',
    "domain": ', labels: {north: "\U0001f600 <&>"}',
    "last": ', label: "l", question: "q"',
}


def test_words_change_no_digest(tmp_path: Path) -> None:
    """They change neither draws nor the identity of a version, so a word that is corrected burns none."""
    plain = compile_plan(load_config(write(tmp_path)))
    told = compile_plan(load_config(write(tmp_path, **WORDS)))
    assert told.config.release.language == "es-ES" and told.config.columns[0].label == "l"
    assert told.digest == plain.digest
    assert [unit.chain_digest for unit in told.units] == [unit.chain_digest for unit in plain.units]


def test_what_is_drawn_does_change_it(tmp_path: Path) -> None:
    """Negative control."""
    plain = compile_plan(load_config(write(tmp_path)))
    other = compile_plan(load_config(write(tmp_path, domain=", ordered: true")))
    assert other.digest != plain.digest


@pytest.mark.parametrize(
    ("part", "text", "where"),
    [
        ("release", ', description: "bell \\a"', "release.description"),
        ("release", ', licence: "two\\nlines"', "release.licence"),
        ("release", ', source_note: "turned \\u202e round"', "release.source_note"),
        ("release", ', universe: "next line \\N"', "release.universe"),
        ("release", f', description: "{"x" * 4001}"', "release.description"),
        ("release", ', language: "English"', "release.language"),
        ("release", ', landing_page: "ftp://b.c"', "release.landing_page"),
        ("release", ', landing_page: "https://b.c/<script>"', "release.landing_page"),
        ("release", ', contact: {name: "desk"}', "release.contact.email"),
        ("release", ', contact: {name: "desk", email: "no address"}', "release.contact.email"),
        ("release", ', publisher: {name: " "}', "release.publisher.name"),
        ("release", ', keywords: [""]', "release.keywords[#1]"),
        ("release", ', temporal: {start: "1988-13", end: "1989"}', "release.temporal.start"),
        ("release", ', temporal: {start: "1988-02-30", end: "1989"}', "release.temporal.start"),
        ("release", ', temporal: {start: "", end: "1989"}', "release.temporal.start"),
        ("release", ', temporal: {start: "1989", end: "1988-12"}', "release.temporal.end"),
        ("column", ', label: "a\\tb"', "columns[wage].label"),
        ("column", ', question: "\\uFFFE"', "columns[wage].question"),
        ("domain", ', labels: {east: "East"}', "columns[region].domain.labels.east"),
        ("domain", ', labels: {north: ""}', "columns[region].domain.labels.north"),
    ],
)
def test_what_not_every_form_can_carry_is_refused(tmp_path: Path, part: str, text: str, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, **{part: text}))
    assert [fault.where for fault in caught.value.faults] == [where]
    assert caught.value.faults[0].line == {"release": 3, "column": 7, "domain": 8}[part]


def test_a_title_with_control_characters_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text().replace('title: "T"', 'title: "T\\e[1m"'))
    with pytest.raises(ConfigError, match=r"release\.title.*U\+001B"):
        load_config(path)


@pytest.mark.parametrize("code", ['"a\\u0001"', '"a\\rb"', '"\\uD800"'])
def test_codes_hold_no_control_characters(tmp_path: Path, code: str) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text().replace("codes: [north", f"codes: [{code}"))
    with pytest.raises(ConfigError):
        load_config(path)


def test_a_coarse_code_holds_none_either(tmp_path: Path) -> None:
    path = write(tmp_path)
    hierarchy = 'domain: {level: area, hierarchy: {area: {"n\\u0001": [a], s: [b]}}}'
    path.write_text(path.read_text().replace("domain: {codes: [north, south]}", hierarchy))
    with pytest.raises(ConfigError, match="U\\+0001"):
        load_config(path)
