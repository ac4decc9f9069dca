"""``HOWTO_ANALYSE.md``: its figures are the channels', its examples name the release's own columns and run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import html

from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain
from trasgo_lib.mechanisms import Channel, build_chain, build_channel, kept_share, margin
from trasgo_lib.release.channel_file import decoder, margin_document
from trasgo_lib.reporting import howto_analyse
from trasgo_lib.reporting.howto_columns import howto_columns
from trasgo_lib.reporting.howto_r import r_example

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "release"
REGIONS = CategoryDomain(["a", "b", "c", "d"])
YEARS = NumberDomain("10", "130", "2", unit="years")
STATEMENT = {"public_columns": []}


def unit(channel: Channel, domain: Any, name: str = "x", missing: str = "error") -> dict[str, Any]:
    """As ``channel.json`` has it."""
    document = {
        "name": name,
        "columns": [{"name": name}],
        "mechanism": channel.name,
        "domain": domain.describe(),
        "missing": {"policy": missing},
        "parameters": dict(channel.parameters),
        "inputs": channel.inputs,
        "decoder": decoder(channel),
    }
    if isinstance(domain, ProductDomain):
        document["columns"] = [{"name": part.name} for part in domain.parts]
        document["margins"] = [
            {"column": part.name, **margin_document(channel, domain, part.name)} for part in domain.parts
        ]
    return document


def document(*units: dict[str, Any]) -> dict[str, Any]:
    return {"dataset": "demo", "version": "1", "units": list(units)}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


CHAIN = build_chain("kary_randomized_response", REGIONS, ["0.5", "1", "2"])
BINS = build_chain("binned_randomized_response", YEARS, ["1", "2"], bins=4)


@pytest.mark.parametrize(
    ("channel", "domain", "missing"),
    [
        (build_channel("kary_randomized_response", REGIONS, "1"), REGIONS, "error"),
        (build_channel("kary_randomized_response", REGIONS, "1", missing=True), REGIONS, "code"),
        *((CHAIN.channel(level), REGIONS, "error") for level in CHAIN.levels),
    ],
)
def test_the_kept_share_undoes_labels(channel: Channel, domain: Any, missing: str) -> None:
    (column,) = howto_columns(document(unit(channel, domain, missing=missing)))
    counts = np.array([400.0, 300.0, 200.0, 100.0, 50.0])[: channel.inputs]
    shares, kept = counts / counts.sum(), float(column.kept)
    assert column.places == channel.inputs
    assert (shares - (1 - kept) / column.places) / kept == pytest.approx(channel.invert(shares))


@pytest.mark.parametrize("channel", [BINS.channel(level) for level in BINS.levels])
def test_the_kept_share_undoes_bins(channel: Channel) -> None:
    (column,) = howto_columns(document(unit(channel, YEARS)))
    support, kept = list(channel.support), float(column.kept)
    expected = channel.weights(support[0])
    assert kept + (1 - kept) / 4 == pytest.approx(expected[support[0]] / channel.total)
    assert (column.bins, column.places) == (4, 4)


def test_the_kept_share_of_a_group_is_that_of_each_column() -> None:
    domain = ProductDomain([("sex", CategoryDomain(["f", "m"]), None), ("age", YEARS, 3)])
    channel = build_channel("kary_randomized_response", domain, "2")
    columns = howto_columns(document(unit(channel, domain, "both")))
    assert [(column.name, column.group, column.places) for column in columns] == [
        ("sex", "both", 2),
        ("age", "both", 3),
    ]
    for column in columns:
        assert float(column.kept) == pytest.approx(kept_share(channel))
        own = margin(channel, domain, column.name)
        first, second = own.support[:2]
        assert (1 - float(column.kept)) / column.places == pytest.approx(own.weights(first)[second] / own.total)


@pytest.mark.parametrize("level", ["alone", "0.5", "1", "2"])
def test_the_ends_and_the_squares_of_laplace_noise_are_the_channels(level: str) -> None:
    """The closed forms of mean and variance hold for single draws and for every coupled level."""
    ladder = build_chain("laplace", YEARS, ["0.5", "1", "2"])
    channel = build_channel("laplace", YEARS, "1") if level == "alone" else ladder.channel(level)
    (column,) = howto_columns(document(unit(channel, YEARS)))
    low, high = (float(end) for end in column.ends)
    codes = np.arange(61.0)
    value = np.where(codes == 0, low, np.where(codes == 60, high, 10 + 2 * codes))
    assert channel.expectation(value) == pytest.approx(10 + 2 * codes)
    moved = (10 - low) / 2
    square = codes**2 - 2 * moved * (moved + 1)
    square[0], square[60] = -moved, 60**2 + moved * (2 * 60 - 1)
    assert channel.expectation(square) == pytest.approx(codes**2, abs=1e-6)


def test_the_r_script_holds_these_figures() -> None:
    found = howto_columns(
        document(
            unit(build_channel("laplace", YEARS, "1"), YEARS, "age"),
            unit(build_channel("laplace", YEARS, "2"), YEARS, "pay"),
            unit(CHAIN.channel("1"), REGIONS, 'the "region"'),
            unit(build_channel("kary_randomized_response", REGIONS, "1", missing=True), REGIONS, "gaps", "code"),
        )
    )
    script = r_example(found, "demo", has_csv=True)
    for words in (
        'd[["the \\"region\\""]]',
        "slope of age on pay",
        '"(missing)"))',
        f"{float(found[2].kept):.10g}",
    ):
        assert words in script
    assert 'read.csv("data/demo.csv"' in script
    assert 'arrow::read_parquet("data/demo.parquet")' in r_example(found, "demo", has_csv=False)
    codes = CategoryDomain([f"c{code}" for code in range(40)])
    long = document(unit(build_channel("kary_randomized_response", codes, "1"), codes))
    assert r_example(howto_columns(long), "demo", has_csv=True) == ""


def test_the_golden_how_to_is_that_of_its_documents() -> None:
    channel, statement = (json.loads((GOLDEN / f"{name}.json").read_text()) for name in ("channel", "statement"))
    text = howto_analyse(channel, statement, verdicts_of((GOLDEN / "report.html").read_text(encoding="utf-8")))
    assert text == (GOLDEN / "HOWTO_ANALYSE.md").read_text(encoding="utf-8")
    (python,) = blocks(text, "python")
    compile(python, "HOWTO_ANALYSE.md", "exec")
    assert all(f"| {name.replace('_', chr(92) + '_')} |" in text for name in ("wage", "day", "smsa", "place_latitude"))
    assert "to group by: note" in text and len(blocks(text, "r")) == 1


KINDS = {"share ": "share", "mean": "mean", "variance": "variance", "correlation": "correlation"}


def verdicts_of(page: str) -> dict[str, dict[str, str]]:
    """What the report's table of uses says of each column."""
    (table,) = html.fromstring(page).xpath("//table[@id='use-table']")
    found: dict[str, dict[str, str]] = {}
    for row in table.xpath(".//tbody/tr"):
        column, what, *_, answered = (cell.text_content() for cell in row.xpath("th|td"))
        kind = next(kind for words, kind in KINDS.items() if what.startswith(words))
        found.setdefault(column, {})[kind] = re.split(r"[:,]", answered)[0]
    return found


def advice(text: str) -> dict[str, list[str]]:
    """The cells after the noise, by column: ask for, roughly, not."""
    lines = [re.split(r"\s*\|\s*", line)[1:-1] for line in text.splitlines() if line.startswith("| ")]
    return {name: cells for name, _, _, *cells in (line for line in lines if len(line) == 6)}


def test_the_how_to_speaks_with_the_voice_of_the_report() -> None:
    bins = document(unit(BINS.channel("2"), YEARS, "pay"))
    found = {"pay": {"mean": "yes", "share": "yes", "variance": "roughly", "correlation": "no"}}
    ask, roughly, never = advice(howto_analyse(bins, STATEMENT, found))["pay"]
    assert ask.startswith("share of bins") and "mean" in ask
    assert (roughly, never) == ("variance", "correlation, regression")
    silent = advice(howto_analyse(bins, STATEMENT))["pay"]
    assert silent == [ask, "", "variance, correlation, regression"]
    hidden = {"pay": dict.fromkeys(("mean", "share", "variance", "correlation"), "no")}
    assert advice(howto_analyse(bins, STATEMENT, hidden))["pay"][:2] == ["by=", ""]


def test_what_has_no_figure_for_its_many_values_is_marked() -> None:
    smooth = document(unit(build_channel("laplace", YEARS, "1"), YEARS, "age"))
    text = howto_analyse(smooth, STATEMENT, {"age": {"mean": "roughly"}})
    ask, roughly, never = advice(text)["age"]
    assert ask.replace("\\", "") == "variance*, correlation*, regression*, share of wide ranges*"
    assert (roughly, never) == ("mean, quantile", "shares of single values")
    assert "Too many values for a figure beforehand" in text
    every = {"age": dict.fromkeys(("mean", "share", "variance", "correlation"), "yes")}
    assert "Too many values" not in howto_analyse(smooth, STATEMENT, every) + howto_analyse(smooth, STATEMENT)


def test_a_release_without_closed_forms_says_nothing_of_r() -> None:
    smooth = unit(build_channel("gaussian", YEARS, "1"), YEARS, "age")
    text = howto_analyse(document(smooth), STATEMENT)
    assert "In R" not in text and "Closed forms" not in text and "open_release" in text
    hostile = unit(CHAIN.channel("1"), REGIONS, "a|b`*\n```")
    cells = howto_analyse(document(hostile), STATEMENT)
    assert "a\\|b\\`\\*" in cells and cells.count("\n```") == 2 * len(re.findall(r"```(?:python|r)\n", cells))


def test_advice_names_what_a_column_can_tell() -> None:
    ordered = CategoryDomain(["x", "y", "z"], ordered=True)
    whole = CategoryDomain(["1", "2", "3"], output="integer")
    text = howto_analyse(
        document(
            unit(build_channel("kary_randomized_response", ordered, "1"), ordered, "grade"),
            unit(build_channel("kary_randomized_response", whole, "1"), whole, "size"),
            unit(BINS.channel("2"), YEARS, "pay"),
        ),
        {"public_columns": ["year"]},
    )
    advice = text[: text.index("## In Python")].splitlines()
    lines = {line.split(" | ")[0].strip("| "): line for line in advice if line.startswith("| ")}
    assert "correlation" in lines["grade"] and "dummies" in lines["grade"]
    assert "mean" in lines["size"] and "half a bin" in lines["pay"] and "4 bins" in lines["pay"]
