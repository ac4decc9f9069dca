"""Releases of coupled levels: built from real chains, verified, and every forged level, ladder or sum is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget import RevealEvent, event_to_json
from trasgo_lib.data import domain_from_description
from trasgo_lib.mechanisms import build_chain, rebuild_chain, rebuild_channel
from trasgo_lib.release import publish_package, verify_release
from trasgo_lib.release.channel_file import decoder, noise_variance
from trasgo_lib.release.verify_claims import verify_channels, verify_statement
from trasgo_lib.release.verify_stated import verify_stated
from trasgo_lib.storage import open_store

Json = dict[str, Any]

RELEASE_FILE = """
format: 1
release: {dataset: demo, version: "1", title: "Coupled levels"}
source: {path: private-source.csv, format: csv}
privacy: {epsilon_total: "16", delta_total: "0.001", account: demo, unit: {column: person, max_rows: 2}}
columns:
  - {name: wage, type: number, domain: {lower: "0", upper: "400", step: "10"}, outside: clip, mechanism: laplace,
     target: {tvd: "0.4"}}
  - {name: rate, type: number, domain: {lower: "0", upper: "1", step: "0.1"}, missing: code, mechanism: laplace,
     target: {tvd: "0.4"}}
  - {name: region, type: category, domain: {codes: [north, middle, south]}, missing: {replace: north},
     mechanism: kary_randomized_response, target: {tvd: "0.1"}}
  - {name: hours, type: number, domain: {lower: "0", upper: "20", step: "1"}, mechanism: gaussian, delta: "0.000001",
     target: {tvd: "0.4"}}
  - {name: years, type: number, domain: {lower: "0", upper: "20", step: "1"}, mechanism: staircase,
     target: {tvd: "0.4"}}
  - {name: size, type: category, domain: {codes: [small, large]}, mechanism: exponential, epsilon: "0.5"}
  - {name: note, role: public}
  - {name: person, role: unit}
loop: {loss_from: released, composition: chain, start: "0.5", ratio: "2", on_unmet: hold}
publish: {store: releases, formats: [parquet]}
"""

CHAINED = ("wage", "rate", "region", "hours", "years")


@pytest.fixture(scope="module")
def chained(kit: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return kit.make(tmp_path_factory.mktemp("chained"), RELEASE_FILE)


@pytest.fixture(scope="module")
def published(chained: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("public")
    publish_package(chained.package, open_store(root), "demo/1")
    return root / "demo" / "1"


@pytest.fixture
def documents(published: Path) -> tuple[Json, Json]:
    """The statement and the channel file, to be forged."""
    return tuple(json.loads((published / name).read_text()) for name in ("statement.json", "channel.json"))  # type: ignore[return-value]


def unit(document: Json, name: str) -> Json:
    return next(one for one in document["units"] if one["name"] == name)  # type: ignore[no-any-return]


def findings(statement: Json, channel_file: Json) -> set[tuple[str, str]]:
    results = [*verify_channels(channel_file, ""), *verify_statement(statement, channel_file)]
    return {(result.name, result.subject) for result in results if not result.passed}


def test_a_release_of_coupled_levels_verifies(published: Path) -> None:
    report = verify_release(published)
    assert report.failures == ()
    made = {(result.name, result.subject) for result in report.results}
    assert {(check, name) for check in ("coupling", "reveals", "rungs", "difference") for name in CHAINED} <= made
    assert not {("coupling", "size"), ("reveals", "size")} & made


def test_what_is_published_is_the_level_and_what_is_charged_its_highest(documents: tuple[Json, Json]) -> None:
    statement, channel_file = documents
    assert unit(statement, "wage")["draws"] == [
        {"type": "reveal", "level": "0.5", "before": "0", "delta": "0"},
        {"type": "reveal", "level": "1", "before": "0.5", "delta": "0"},
    ]
    assert unit(channel_file, "wage")["draw"] == {"type": "pure", "epsilon": "1"}
    assert unit(channel_file, "hours")["draw"] == {"type": "approximate", "epsilon": "1", "delta": "0.000001"}
    # two rows of each person: the highest level twice, and the deltas of both levels looked at
    assert {one["name"]: one["epsilon_charged"] for one in statement["units"]} == {
        **dict.fromkeys(CHAINED, "2"),
        "size": "1",
    }
    grown = [Delta.parse("0.000001").decimal * (1 + Epsilon.parse(level).decimal.exp()) for level in ("0.5", "1")]
    assert float(unit(statement, "hours")["delta_charged"]) == pytest.approx(float(sum(grown)))
    assert statement["epsilon_realised"] == "11"


@pytest.mark.parametrize("name", CHAINED)
def test_a_level_is_rebuilt_from_the_channel_file_alone(name: str, chained: Any, documents: tuple[Json, Json]) -> None:
    stored, plan = unit(documents[1], name), chained.plan.unit(name)
    domain = domain_from_description(stored["domain"])
    assert stored["parameters"]["revealed"] == "1"
    whole = {key: value for key, value in stored["parameters"].items() if key != "revealed"}
    assert rebuild_chain(stored["mechanism"], domain, whole).digest == plan.chain.digest
    channel = rebuild_channel(stored["mechanism"], domain, stored["parameters"])
    assert channel.digest == stored["channel_digest"] == plan.chain.channel("1").digest
    assert channel.weights(0) == plan.chain.channel("1").weights(0)
    assert (decoder(channel), noise_variance(channel)) == (stored["decoder"], stored["noise_variance"])
    assert float(stored["difference"]) == pytest.approx(float(channel.difference))


def test_a_top_level_and_a_single_draw_have_no_difference(kit: Any, documents: tuple[Json, Json]) -> None:
    from trasgo_lib.release.channel_file import difference

    assert "difference" not in unit(documents[1], "size")
    stored = unit(documents[1], "wage")
    chain = build_chain("laplace", domain_from_description(stored["domain"]), stored["parameters"]["levels"])
    assert difference(chain.channel(chain.levels[-1])) == {}
    assert set(difference(chain.channel(chain.levels[0]))) == {"difference"}


def lower(level: str) -> Callable[[Json], None]:
    """A forger who says that a lower level was revealed, with every number that follows from it made to fit."""

    def forge(channel_file: Json) -> None:
        stored = unit(channel_file, "wage")
        stored["parameters"]["revealed"] = level
        stored["draw"]["epsilon"] = level
        domain = domain_from_description(stored["domain"])
        channel = rebuild_channel(stored["mechanism"], domain, stored["parameters"])
        stored.update(
            certified_epsilon=f"{channel.certified_epsilon.normalize():f}",
            channel_digest=channel.digest,
            decoder=decoder(channel),
            noise_variance=noise_variance(channel),
            difference=f"{channel.difference:f}".rstrip("0"),
        )

    return forge


CHANNEL_FORGERIES: list[tuple[Callable[[Json], object], tuple[str, str]]] = [
    (lambda c: unit(c, "wage")["parameters"].update(revealed="0.5"), ("channel digest", "wage")),
    (lambda c: unit(c, "wage")["parameters"].update(revealed="0.5"), ("claim", "wage")),
    (lambda c: unit(c, "wage")["parameters"].update(revealed="0.75"), ("channel", "wage")),
    (lambda c: unit(c, "wage")["draw"].update(epsilon="0.5"), ("certificate", "wage")),
    (lower("0.5"), ("published draw", "wage")),
    (lower("2"), ("published draw", "wage")),
    (lambda c: unit(c, "wage")["parameters"]["levels"].insert(1, "0.75"), ("channel", "wage")),
    (lambda c: unit(c, "region")["parameters"]["levels"].pop(0), ("channel", "region")),
    (lambda c: unit(c, "region")["parameters"]["others"].reverse(), ("stated certificate", "region")),
    (lambda c: unit(c, "wage")["parameters"]["levels"].__setitem__(0, "0.4"), ("channel", "wage")),
    (lambda c: unit(c, "wage")["parameters"]["levels"].__setitem__(0, "0.6"), ("channel digest", "wage")),
    (lambda c: unit(c, "wage")["parameters"]["levels"].__setitem__(0, "0.6"), ("rungs", "wage")),
    (lambda c: unit(c, "wage")["parameters"].update(levels=4), ("rungs", "wage")),
    (lambda c: unit(c, "wage")["parameters"].pop("levels"), ("channel", "wage")),
    (lambda c: unit(c, "wage")["parameters"].pop("revealed"), ("channel", "wage")),
    (lambda c: unit(c, "wage")["parameters"].pop("revealed"), ("coupling", "wage")),
    (lambda c: unit(c, "hours")["parameters"].update(delta="0.000002"), ("rungs", "hours")),
    (lambda c: unit(c, "hours")["draw"].update(delta="0.0000001"), ("certificate", "hours")),
    (lambda c: unit(c, "rate")["parameters"]["flips"].reverse(), ("channel digest", "rate")),
    (lambda c: unit(c, "years")["parameters"].update(width=1), ("channel", "years")),
    (lambda c: unit(c, "wage").update(difference="0.000000000000000001"), ("difference", "wage")),
    (lambda c: unit(c, "wage").pop("difference"), ("difference", "wage")),
    (lambda c: unit(c, "size").update(difference="0.1"), ("difference", "size")),
]


@pytest.mark.parametrize(("change", "finding"), CHANNEL_FORGERIES)
def test_a_forged_level_or_ladder_is_found(
    documents: tuple[Json, Json], change: Callable[[Json], object], finding: tuple[str, str]
) -> None:
    statement, channel_file = documents
    assert findings(statement, channel_file) == set()
    change(channel_file)
    assert finding in findings(statement, channel_file)


def pure(level: str) -> Json:
    return {"type": "pure", "epsilon": level}


STATEMENT_FORGERIES: list[tuple[Callable[[Json], object], tuple[str, str]]] = [
    (lambda s: unit(s, "wage").update(epsilon_charged="1"), ("charged", "wage")),
    (lambda s: s.update(epsilon_realised="10"), ("total", "sum of all units")),
    (lambda s: unit(s, "wage")["draws"].pop(0), ("reveals", "wage")),
    (lambda s: unit(s, "wage")["draws"].pop(0), ("charged", "wage")),
    (lambda s: unit(s, "wage")["draws"].pop(1), ("published draw", "wage")),
    (lambda s: unit(s, "wage")["draws"].reverse(), ("reveals", "wage")),
    (lambda s: unit(s, "wage")["draws"][1].update(before="0.9"), ("reveals", "wage")),
    (lambda s: unit(s, "wage")["draws"][1].update(before="1"), ("reveals", "wage")),
    (lambda s: unit(s, "wage")["draws"][1].update(before="1"), ("total", "statement.json")),
    (lambda s: unit(s, "wage")["draws"][1].update(level="0.75"), ("rungs", "wage")),
    (lambda s: unit(s, "wage")["draws"][1].update(level="0.75"), ("published draw", "wage")),
    (lambda s: unit(s, "wage")["draws"].__setitem__(1, pure("1")), ("coupling", "wage")),
    (lambda s: unit(s, "wage").update(draws=[pure("1")]), ("coupling", "wage")),
    (lambda s: unit(s, "hours")["draws"][0].update(delta="0"), ("rungs", "hours")),
    (lambda s: unit(s, "hours")["draws"][0].update(delta="0"), ("charged", "hours")),
    (lambda s: unit(s, "hours").update(delta_charged="0.000001"), ("charged", "hours")),
    (lambda s: s["privacy_unit"].update(max_rows=1), ("charged", "wage")),
    (lambda s: s.update(composition="sequential"), ("coupling", "wage")),
    (
        lambda s: unit(s, "size").update(draws=[event_to_json(RevealEvent(*map(Epsilon, (500000, 0)), Delta(0)))]),
        ("coupling", "size"),
    ),
]


@pytest.mark.parametrize(("change", "finding"), STATEMENT_FORGERIES)
def test_a_forged_sum_is_found(
    documents: tuple[Json, Json], change: Callable[[Json], object], finding: tuple[str, str]
) -> None:
    statement, channel_file = documents
    change(statement)
    assert finding in findings(statement, channel_file)


def test_draws_that_stand_as_sequential_cost_more_and_are_found(documents: tuple[Json, Json]) -> None:
    """Fresh draws of the same levels would cost their sum: passing one for the other is found either way."""
    statement, channel_file = documents
    unit(statement, "wage")["draws"] = [pure("0.5"), pure("1")]
    assert {("coupling", "wage"), ("charged", "wage")} <= findings(statement, channel_file)


@pytest.mark.parametrize("draw", [{"type": "reveal", "level": "1", "before": "0"}, {"type": "reveal", "epsilon": "1"}])
def test_a_reveal_of_another_shape_is_refused(published: Path, tmp_path: Path, draw: Json) -> None:
    copy = Path(shutil.copytree(published, tmp_path / "copy"))
    document = json.loads((copy / "statement.json").read_text())
    unit(document, "wage")["draws"][0] = draw
    (copy / "statement.json").write_text(json.dumps(document))
    assert ("schema", "statement.json") in {(one.name, one.subject) for one in verify_release(copy).failures}


STATED_FORGERIES: list[tuple[Callable[[Json], object], tuple[str, str]]] = [
    (lambda s: s.update(in_words=s["in_words"].replace("e^11", "e^1.1")), ("words: odds", "statement.json")),
    (lambda s: s.update(in_words=s["in_words"].replace("e^11", "e^1.1 and e^11")), ("words: odds", "statement.json")),
    (lambda s: s.update(in_words="It is safe."), ("words: odds", "statement.json")),
    (
        lambda s: s.update(in_words=s["in_words"].replace("at most epsilon 16", "at most epsilon 12")),
        ("words: cap", "statement.json"),
    ),
    (
        lambda s: s.update(in_words=s["in_words"].replace(", delta 0.001 in all", ", delta 0.0001 in all")),
        ("words: cap", "statement.json"),
    ),
    (
        lambda s: s.update(in_words=s["in_words"].replace(", delta 0.001 in all", " in all")),
        ("words: cap", "statement.json"),
    ),
    (
        lambda s: s.update(in_words=s["in_words"].replace("probability 0.0000", "probability 0.00000")),
        ("words: probability", "statement.json"),
    ),
    (lambda s: unit(s, "wage")["target"].update(met=False), ("target met", "wage")),
    (lambda s: unit(s, "wage")["target"].update(ceiling="0.05"), ("target met", "wage")),
    (lambda s: unit(s, "wage").update(loss=None), ("target met", "wage")),
    (lambda s: unit(s, "wage")["loss"].update(high="0.5"), ("target met", "wage")),
    (lambda s: unit(s, "wage")["loss"].update(high="0.03"), ("interval of the loss", "wage")),
    (lambda s: unit(s, "wage")["loss"].update(low="x"), ("target", "wage")),
]


def test_a_cap_in_the_words_of_earlier_statements_is_read(documents: tuple[Json, Json]) -> None:
    statement, _ = documents
    now = "at most epsilon 16, delta 0.001 in all"
    assert now in statement["in_words"]
    statement.update(in_words=statement["in_words"].replace(now, "at most 16 in all"))
    assert not [result for result in verify_stated(statement, "") if not result.passed]


@pytest.mark.parametrize(("forge", "finding"), STATED_FORGERIES)
def test_forged_words_and_targets_are_found(
    forge: Callable[[Json], object], finding: tuple[str, str], documents: tuple[Json, Json]
) -> None:
    statement, _ = documents
    assert not [result for result in verify_stated(statement, "") if not result.passed]
    forge(statement)
    assert finding in {(one.name, one.subject) for one in verify_stated(statement, "") if not one.passed}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rate", {"code": 12}),
        ("rate", {"code": None}),
        ("rate", {"fill_code": 3}),
        ("region", {"fill_code": None}),
        ("region", {"fill_code": 3}),
        ("wage", {"code": 41}),
        ("wage", {"fill_code": 0}),
    ],
)
def test_a_forged_missing_code_is_found(name: str, change: Json, documents: tuple[Json, Json]) -> None:
    statement, channel_file = documents
    unit(channel_file, name)["missing"].update(change)
    assert findings(statement, channel_file) == {("missing values", name)}
