"""A compiled plan with every published kind of column, released codes for it, and the facts of a finished run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from trasgo_lib.budget import Cost
from trasgo_lib.checks import check_batches, expected_table
from trasgo_lib.config import load_config
from trasgo_lib.data import PublicValues, ReleasedCodes, ReleasedTable, write_batch, write_values
from trasgo_lib.plan import ReleasePlan, compile_plan
from trasgo_lib.release import compare_staged, public_types, read_parquet_batches, stage_data, stage_package
from trasgo_lib.release.package import StagedPackage
from trasgo_lib.reporting import ReleaseFacts, UnitOutcome

RELEASE_FILE = """
format: 1
release: {dataset: demo, version: "1", title: "Demo of <every> kind", licence: CC0-1.0}
source: {path: private-source.csv, format: csv}
privacy: {epsilon_total: "40", geo_total: "6.93", account: demo_account, unit: row, row_order: shuffle}
columns:
  - {name: wage, type: number, domain: {lower: "0", upper: "2000", step: "10", unit: USD per week}, outside: clip,
     mechanism: laplace, start: "1", target: {correlation_loss: "40"}}
  - {name: note, role: public}
  - {name: rate, type: number, domain: {lower: "0", upper: "1", step: "0.1"}, missing: code, mechanism: laplace,
     epsilon: "2"}
  - {name: region, type: category, domain: {codes: [north, 'mid, west', 'so"uth']}, missing: {replace: north},
     mechanism: kary_randomized_response, epsilon: "1"}
  - {name: size, type: category, domain: {codes: ["1", "2", "3"], ordered: true}, output: integer,
     mechanism: exponential, utility: ordinal, epsilon: "1"}
  - {name: day, type: date, format: "%Y-%m-%d", domain: {lower: "2017-01-01", upper: "2017-01-31"},
     mechanism: gaussian, epsilon: "1"}
  - {name: place, type: point, columns: {latitude: lat, longitude: lon}, mechanism: planar_laplace,
     domain: {box: ["41.8", "-87.7", "41.9", "-87.6"], crs: "EPSG:3435", step_m: "500"},
     geo: {epsilon: "1.386", radius_m: "200"}}
  - {name: person, role: drop}
loop: {loss_from: original, composition: sequential, start: "1", ratio: "1.25", on_unmet: hold}
publish: {store: releases, formats: [parquet, csv]}
"""

AWKWARD_FILE = """
format: 1
release:
  dataset: awkward
  version: "2.0"
  title: "Löhne & <Orte> \U0001f600"
  description: "A \\"quoted\\" text,\\nin two lines; \u05e2\u05d1\u05e8\u05d9\u05ea"
  universe: Everyone > 17
  licence: CC-BY-4.0
  source_note: "Register & 'survey'"
  publisher: {name: "Amt für <Beispiele>", url: "https://amt.example/a?b=1&c=2"}
  contact: {name: Data desk, email: data@amt.example}
  keywords: ["l<o>hn", wages]
  language: de
  spatial: "https://www.wikidata.org/entity/Q183"
  temporal: {start: "2016", end: "2017-03-31"}
  series: Erhebung
  landing_page: "https://amt.example/erhebung"
  supersedes: {version: "1.0", reason: error, note: "37 rows & more"}
source: {path: private-source.csv, format: csv, csv: {missing: [], trim: false}}
privacy: {epsilon_total: "90", geo_total: "6.93", account: demo_account, unit: row, row_order: shuffle}
columns:
  - {name: "Größe (cm) %1", label: "Größe & <Höhe>", question: "Wie groß?", type: number, mechanism: laplace,
     domain: {lower: "-0.35", upper: "1.4", step: "0.05", unit: "m < 2"}, outside: clip, missing: code, epsilon: "1"}
  - {name: note, role: public, label: "Notiz"}
  - {name: Column, type: category, mechanism: kary_randomized_response, epsilon: "1",
     domain: {codes: [a, ' b ', "c,d", 'e"f', "<g>&amp;", "\u05e9\u05dc\u05d5\u05dd", "\U0001f600"],
              labels: {a: nothing, "<g>&amp;": "less & more"}}}
  - {name: occupation, type: category, mechanism: kary_randomized_response, epsilon: "4", missing: code,
     domain: {codes: [CODES], labels: {"0007": "Seventh \u05e2"}}}
  - {name: state, type: category, mechanism: kary_randomized_response, epsilon: "1", concept: "https://concept.example/x",
     domain: {level: area, labels: {north: "Norden"},
              hierarchy: {area: {north: [maine, vermont], south: [texas]}}}}
  - {name: size, type: category, domain: {codes: ["10", "-2", "3"], ordered: true}, output: integer,
     mechanism: exponential, utility: ordinal, epsilon: "1", missing: code}
  - {name: day, type: date, format: "%Y-%m-%d", domain: {lower: "2016-02-29", upper: "2017-03-30", step: "5"},
     mechanism: staircase, epsilon: "1"}
  - {name: hours, type: number, domain: {lower: "0", upper: "40", step: "0.5"}, noise_bins: 4, missing: code}
  - {name: smsa, type: category, domain: {codes: ["yes", "no"], labels: {"yes": "Ja"}}}
  - {name: place, type: point, columns: {latitude: lat, longitude: lon}, mechanism: planar_laplace, label: Ort,
     domain: {box: ["41.8", "-87.7", "41.9", "-87.6"], crs: "EPSG:3435", step_m: "500"},
     geo: {epsilon: "1.386", radius_m: "200"}}
  - {name: person, role: drop}
groups:
  - {name: together, columns: [hours, smsa], mechanism: kary_randomized_response, epsilon: "2"}
loop: {loss_from: released, composition: chain, start: "1", ratio: "1.25", on_unmet: hold}
publish: {store: releases, formats: [parquet, csv]}
""".replace("CODES", ", ".join(f'"{code:04}"' for code in range(1000)))
"""Names that are no file names, texts that XML, JSON and CSV escape, a thousand codes, and every kind of column."""

DIGEST_KEY = bytes(range(32, 64))
CREATED = "2026-11-30T09:00:00Z"


def compile_text(folder: Path, text: str = RELEASE_FILE) -> ReleasePlan:
    """Compile a release file."""
    path = folder / "release.yaml"
    path.write_text(text, encoding="utf-8")
    return compile_plan(load_config(path))


def released_table(plan: ReleasePlan, work: Path, cuts: tuple[int, ...] = (0, 300, 500)) -> ReleasedTable:
    """Released codes that visit each whole domain in strides, the missing code among them."""
    units, public = [], []
    for unit in plan.units:
        size = unit.domain.size + (unit.missing == "code")
        refs = tuple(
            write_batch(work / "codes", unit.name, first, _strides(size, first, last), DIGEST_KEY)
            for first, last in pairwise(cuts)
        )
        units.append(ReleasedCodes(unit.name, refs, "0" * 64))
    texts = [None if row % 7 == 0 else ("" if row % 7 == 1 else f"00{row}") for row in range(cuts[-1])]
    for column in plan.columns:
        if column.role == "public":
            refs = tuple(
                write_values(work / "codes", column.name, first, pa.array(texts[first:last], pa.string()), DIGEST_KEY)
                for first, last in pairwise(cuts)
            )
            public.append(PublicValues(column.name, refs, "0" * 64))
    return ReleasedTable(cuts[-1], tuple(units), tuple(public))


def _strides(size: int, first: int, last: int) -> np.ndarray:
    return ((np.arange(first, last, dtype=np.int64) * 7919 + 3) % size).astype(np.int32)


@dataclass(frozen=True)
class Made:
    """Everything a release was made of."""

    plan: ReleasePlan
    table: ReleasedTable
    facts: ReleaseFacts
    package: StagedPackage
    work: Path


def make(folder: Path, text: str = RELEASE_FILE, adjust: Callable[[ReleaseFacts], ReleaseFacts] | None = None) -> Made:
    """Stage a package: wage drawn twice, all else once."""
    plan = compile_text(folder, text)
    work = folder / "work"
    table = released_table(plan, work)
    data = stage_data(table, plan, work)
    expected = expected_table(plan, table.rows, public_types(table))
    batches = read_parquet_batches(work / "data" / f"{plan.dataset}.parquet")
    report = check_batches(expected, batches).with_results(compare_staged(data))
    outcomes = tuple(
        UnitOutcome(
            unit.name,
            unit.rungs[: 2 if unit.target else 1],
            None if unit.target is None else True,
            (0.04, 0.02, 0.06) if unit.target is not None and plan.loss_from == "released" else None,
        )
        for unit in plan.units
    )
    facts = ReleaseFacts(plan, table.rows, outcomes, Cost.zero(), report, CREATED, "0.1.0", "0123abc")
    facts = replace(facts, account_to_date=facts.realised)
    facts = facts if adjust is None else adjust(facts)
    columns = [column.name for column in expected.columns]
    return Made(plan, table, facts, stage_package(facts, data, columns, work), work)


@dataclass(frozen=True)
class Kit:
    """What tests of this room build releases with."""

    compile_text: Callable[..., ReleasePlan] = compile_text
    released_table: Callable[..., ReleasedTable] = released_table
    make: Callable[..., Made] = make
    release_file: str = RELEASE_FILE
    digest_key: bytes = DIGEST_KEY


@pytest.fixture(scope="session")
def kit() -> Kit:
    """Builders, as a fixture because test modules cannot import each other."""
    return Kit()


@pytest.fixture(scope="session")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A staged package that strains every metadata format, shared."""
    return make(tmp_path_factory.mktemp("awkward"), AWKWARD_FILE)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One staged package, shared: nothing in it is changed by a test."""
    return make(tmp_path_factory.mktemp("release"))
