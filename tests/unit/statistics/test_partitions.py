"""Declared disjoint parts and plans in advance: what is refused, charged and said before data is opened."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asked import KEY, rows_of, text_of

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget import DeclaredPlanEvent, FixedPartitionEvent, PartitionEvent, event_from_json
from trasgo_lib.budget.composition import least_of_plan
from trasgo_lib.errors import ConfigError, Fault, InputContractError, Reason
from trasgo_lib.release import publish_package, verify_release
from trasgo_lib.release.verify_charges import neighbours_of, total_of, verify_charges
from trasgo_lib.statistics import StatisticsPlan, read_statistics
from trasgo_lib.statistics.answering import draw_answer
from trasgo_lib.statistics.answers import answers_of
from trasgo_lib.statistics.explain import explain_statistics, render_statistics
from trasgo_lib.statistics.membership import asserts_membership, require_membership
from trasgo_lib.statistics.package import StatisticsFacts, stage_statistics
from trasgo_lib.storage import open_store

PARTS = "{name: coast, codes: [north, south]}, {name: inland, codes: [east]}"
PLACE = f"- {{name: place, column: region, parts: [{PARTS}]}}"
FIXED = f"- {{name: place, column: region, membership: public, parts: [{PARTS}]}}"
COAST = (
    "{name: coast, type: count, where: [{column: age, at_least: '5'}], part: {of: place, part: coast}, epsilon: '0.5'}"
)
INLAND = "{name: inland, type: histogram, column: age, part: {of: place, part: inland}, epsilon: '0.3'}"
ALL = "{name: all, type: histogram, column: age, epsilon: '0.25'}"
PLD = "composition: {rule: pld, delta: '1e-6'}"


def _plan(folder: Path, partitions: str, *queries: str, more: str = "", max_rows: int = 1) -> StatisticsPlan:
    declared = f"partitions:\n  {partitions}\n" if partitions else ""
    text = text_of(*queries, max_rows=max_rows).replace("queries:\n", f"{declared}{more}\nqueries:\n", 1)
    path = folder / "people.yaml"
    path.write_text(text, encoding="utf-8")
    return read_statistics(path)[1]


def _faults(folder: Path, *arguments: str, **more: Any) -> list[tuple[str, Reason, Fault]]:
    with pytest.raises(ConfigError) as caught:
        _plan(folder, *arguments, **more)
    return [(fault.where, fault.reason, fault) for fault in caught.value.faults]


def test_two_parts_are_charged_where_a_record_may_move(tmp_path: Path) -> None:
    plan = _plan(tmp_path, PLACE, COAST, INLAND, ALL)
    assert [charge.name for charge in plan.charges] == ["partition place", "all"]
    assert isinstance(plan.charges[0].event, PartitionEvent)
    assert plan.cost.epsilon == Epsilon.parse("1.05")
    assert plan.charge_of("inland") is plan.charge_of("coast")
    coast = plan.query("coast")
    assert [rule.allowed for rule in coast.rules if rule.unit == "region"] == [b"\x01\x01\x00"]


def test_the_costliest_part_is_charged_where_membership_is_public(tmp_path: Path) -> None:
    plan = _plan(tmp_path, FIXED, COAST, INLAND, ALL)
    event = plan.charges[0].event
    assert isinstance(event, FixedPartitionEvent) and event.parts_per_unit == 1
    assert plan.cost.epsilon == Epsilon.parse("0.75")
    assert "public and not protected" in plan.charges[0].words


def test_units_of_several_rows_lose_in_several_parts(tmp_path: Path) -> None:
    three = "{name: a, codes: [north]}, {name: b, codes: [south]}, {name: c, codes: [east]}"
    asked = [
        f"{{name: {part}, type: count, part: {{of: p, part: {part}}}, epsilon: '0.{place}'}}"
        for place, part in enumerate("abc", 1)
    ]
    protected = f"- {{name: p, column: region, parts: [{three}]}}"
    assert _plan(tmp_path, protected, *asked).cost.epsilon == Epsilon.parse("0.5")
    assert _plan(tmp_path, protected, *asked, max_rows=2).cost.epsilon == Epsilon.parse("0.6")
    public = f"- {{name: p, column: region, membership: public, parts_per_unit: 2, parts: [{three}]}}"
    assert _plan(tmp_path, public, *asked, max_rows=2).cost.epsilon == Epsilon.parse("0.5")


@pytest.mark.parametrize(
    ("partition", "where", "reason", "says"),
    [
        (PLACE.replace("east", "west"), "partitions[place].parts[inland].codes[#1]", Reason.UNKNOWN_NAME, "`west`"),
        (PLACE.replace("[east]", "[east, south]"), "partitions[place].parts[inland].codes[#2]", Reason.BAD_PARAMETER,
         "`south` in coast and in inland"),
        (PLACE.replace("inland, codes", "coast, codes"), "partitions[place].parts[coast].name", Reason.BAD_PARAMETER,
         "again"),
        (PLACE.replace("column: region", "column: age"), "partitions[place].column", Reason.BAD_PARAMETER, "a number"),
        (PLACE.replace("column: region", "column: wage"), "partitions[place].column", Reason.UNKNOWN_NAME, "`wage`"),
        (FIXED.replace("public,", "public, parts_per_unit: 2,"), "partitions[place].parts_per_unit",
         Reason.BAD_PARAMETER, "2"),
        (f"{PLACE}\n  {PLACE}", "partitions[place].name", Reason.BAD_PARAMETER, "again"),
        (PLACE.replace("coast", "shore"), "queries[coast].part.part", Reason.UNKNOWN_NAME, "`coast`"),
        (PLACE.replace("place", "site"), "queries[coast].part.of", Reason.UNKNOWN_NAME, "`place`"),
    ],
)  # fmt: skip
def test_what_is_no_partition_is_refused_by_name_before_data_is_opened(
    tmp_path: Path, partition: str, where: str, reason: Reason, says: str
) -> None:
    faults = _faults(tmp_path, partition, COAST, INLAND)
    found = [fault for place, why, fault in faults if place == where and why == reason]
    assert found, faults
    assert says in found[0].came and found[0].line is not None


def test_parts_per_unit_is_asked_only_where_it_counts(tmp_path: Path) -> None:
    protected = PLACE.replace("column: region,", "column: region, parts_per_unit: 1,")
    assert [place for place, _, _ in _faults(tmp_path, protected, COAST)] == ["partitions[place].parts_per_unit"]


# --- plans in advance ------------------------------------------------------------------------------------------------


def test_a_file_that_is_declared_in_advance_is_charged_once_and_less(tmp_path: Path) -> None:
    asked = [f"{{name: q{n}, type: histogram, column: age, epsilon: '0.1'}}" for n in range(30)]
    plan = _plan(tmp_path, "", *asked, more=PLD)
    (charge,) = plan.charges
    assert isinstance(charge.event, DeclaredPlanEvent) and charge.name == "declared plan"
    assert plan.cost.delta == Delta.parse("1e-6")
    assert plan.cost.epsilon < Epsilon.parse("2.9") < Epsilon.parse("3") == sum_of(plan)
    assert "declared in advance" in render_statistics(plan)


def sum_of(plan: StatisticsPlan) -> Epsilon:
    return Epsilon(sum(query.cost.epsilon.units for query in plan.queries))


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("{name: q, type: histogram, column: age, epsilon: '0.1', delta: '1e-9'}", "queries[q].delta"),
        (COAST, "queries[coast].part"),
    ],
)
def test_a_plan_in_advance_takes_pure_queries_of_all_rows(tmp_path: Path, query: str, where: str) -> None:
    assert where in [place for place, _, _ in _faults(tmp_path, PLACE, query, more=PLD)]


def test_the_delta_of_a_plan_in_advance_lies_below_one_in_the_rows(tmp_path: Path) -> None:
    for delta, came in (("0.001", "0.001"), ("2e-3", "0.002")):
        ((where, reason, fault), *_) = _faults(tmp_path, "", ALL, more=PLD.replace("1e-6", delta))
        assert (where, reason, fault.came) == ("composition.delta", Reason.BAD_AMOUNT, came)
    text = text_of(ALL).replace("rows: 1000\n", f"{PLD}\n")
    (tmp_path / "people.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="`rows` beside a delta"):
        read_statistics(tmp_path / "people.yaml")


# --- public membership and the source --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("region", "rows"),
    [
        ([0, 1, 2, 2, 0, 0], 0),  # units 1, 2 and 3 are in coast (north, south), inland and coast
        ([0, 2, 2, 2, 0, 0], 2),
        ([0, 2, 2, 2, 0, 2], 4),
    ],
)
def test_a_unit_in_more_parts_than_were_declared_stops_the_run(tmp_path: Path, region: list[int], rows: int) -> None:
    """One part of two is charged: whoever lies in both would lose twice as much as is stated."""
    plan = _plan(tmp_path, FIXED, COAST, max_rows=2)  # nobody asks about inland in this version
    source = rows_of([1, 1, 2, 2, 3, 3], batch=4, region=region)
    assert asserts_membership(plan)
    if not rows:
        require_membership(plan, source)
        return
    with pytest.raises(InputContractError, match="at most 1 part of place") as caught:
        require_membership(plan, source)
    assert [(fault.where, fault.rows) for fault in caught.value.faults] == [("region", rows)]


def test_membership_is_looked_at_only_where_it_is_asserted(tmp_path: Path) -> None:
    assert not asserts_membership(_plan(tmp_path, FIXED, COAST))
    assert not asserts_membership(_plan(tmp_path, PLACE, COAST, max_rows=2))
    two = FIXED.replace("public,", "public, parts_per_unit: 2,")
    assert not asserts_membership(_plan(tmp_path, two, COAST, max_rows=2))


# --- what is published -----------------------------------------------------------------------------------------------


def _published(folder: Path, plan: StatisticsPlan) -> Path:
    rows = rows_of(list(range(6)), age=[1, 2, 3, 4, 5, 9], region=[0, 1, 1, 2, 1, 1])
    answers = answers_of(plan, {query.name: draw_answer(query, rows, KEY) for query in plan.queries})
    facts = StatisticsFacts(plan, 6, plan.cost, "2030-01-01T00:00:00+00:00", "0.1.0", "unknown")
    staged = stage_statistics(facts, answers, folder / "work", None)
    publish_package(staged, open_store(folder / "public"), "people/1")
    return folder / "public" / "people" / "1"


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Published answers of parts whose membership is public, and of all rows."""
    folder = tmp_path_factory.mktemp("parted")
    return _published(folder, _plan(folder, FIXED, COAST, INLAND, ALL))


def test_the_statement_says_what_was_charged_together_and_what_parts_leave_open(parted: Path) -> None:
    assert verify_release(parted).passed, verify_release(parted).failures
    statement = json.loads((parted / "statement.json").read_text(encoding="utf-8"))
    assert statement["spent"]["epsilon"] == "0.75"
    (charge,) = statement["charges"]
    assert (charge["queries"], charge["cost"]["epsilon"]) == (["coast", "inland"], "0.5")
    assert "it keeps its parts of place" in statement["neighbours"]
    assert "in which parts of place a unit has rows" in statement["not_covered"]
    assert neighbours_of(statement) == statement["neighbours"]
    assert neighbours_of({}) == "same rows per unit; the values of one unit are replaced"


def test_the_reports_show_what_was_charged_together(parted: Path) -> None:
    page = (parted / "report.html").read_text(encoding="utf-8")
    assert "Charged together" in page and "coast (north, south): coast; inland (east): inland" in page
    assert "epsilon 0.3 by itself; paid within partition place" in page
    assert "Each other question pays for itself" in page
    assert "any two records that one row might have in the same parts of place can have" in page
    for name in ("report.md", "report.html", "statement.json", "codebook.md"):
        assert "keeps the unit in its parts of place" in (parted / name).read_text(encoding="utf-8")
    for name in ("report.md", "codebook.md"):
        assert "paid within partition place" in (parted / name).read_text(encoding="utf-8")
    crate = (parted / "ro-crate-metadata.json").read_text(encoding="utf-8")
    assert "composition: basic; parallel over the parts of place, basic within each" in crate


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Published answers that were charged at once, by their distributions."""
    folder = tmp_path_factory.mktemp("planned")
    again = [ALL.replace("all", f"again{number}") for number in range(12)]
    plan = _plan(folder, "", ALL, *again, more=PLD)
    assert explain_statistics(plan)["charges"]
    return _published(folder, plan)


def test_answers_of_a_plan_in_advance_verify(planned: Path) -> None:
    assert verify_release(planned).passed, verify_release(planned).failures
    assert "paid within declared plan" in (planned / "report.md").read_text(encoding="utf-8")


def test_a_statement_says_by_which_rules_it_adds_up(parted: Path, planned: Path, tmp_path: Path) -> None:
    told = {}
    whole = _published(tmp_path, _plan(tmp_path, "", ALL))
    for name, folder in (("parts", parted), ("plan", planned), ("alone", whole)):
        told[name] = json.loads((folder / "statement.json").read_text(encoding="utf-8"))["composition"]
        registry = json.loads((folder / "dp_statement.json").read_text(encoding="utf-8"))["registry"]["deployment"]
        assert told[name] in registry["privacy_loss"]["privacy_parameters_details"]
    assert told == {
        "parts": "basic; parallel over the parts of place, basic within each",
        "plan": "privacy loss distributions over queries that were declared in advance",
        "alone": "basic",
    }


def _changed(folder: Path, to: Path, edit: Callable[[dict[str, Any]], object]) -> set[str]:
    """Names of the checks that fail when the statement is another one, beside those of its bytes."""
    shutil.copytree(folder, to)
    statement = json.loads((to / "statement.json").read_text(encoding="utf-8"))
    edit(statement)
    (to / "statement.json").write_text(json.dumps(statement, indent=2) + "\n", encoding="utf-8")
    bytes_differ = {"digest", "sums", "described files"}
    return {result.name for result in verify_release(to).failures} - bytes_differ


def test_another_rule_than_that_of_the_charges_is_found(planned: Path, parted: Path, tmp_path: Path) -> None:
    assert not _changed(planned, tmp_path / "same", lambda s: None)
    for number, folder in enumerate((planned, parted)):
        found = _changed(folder, tmp_path / str(number), lambda s: s.update(composition="basic"))
        assert "composition" in found


def test_a_composed_loss_that_is_stated_smaller_by_one_unit_is_found(planned: Path, tmp_path: Path) -> None:
    """Nothing is left for the floats of another machine: the claim has to hold at the whole delta."""
    statement = json.loads((planned / "statement.json").read_text(encoding="utf-8"))
    (charge,) = statement["charges"]
    least = least_of_plan(event_from_json(charge["event"]).events, Delta.parse(charge["cost"]["delta"]))
    below = Epsilon.floor(least)
    assert Epsilon.parse(charge["cost"]["epsilon"]) >= Epsilon.ceil(least) > below

    def smaller(changed: dict[str, Any]) -> None:
        (one,) = changed["charges"]
        one["event"]["epsilon"] = one["cost"]["epsilon"] = changed["spent"]["epsilon"] = below.text

    assert "composed loss" in _changed(planned, tmp_path / "copy", smaller)


def _asks(query: int, codes: list[str] | None) -> Callable[[dict[str, Any]], None]:
    """The condition that keeps a query in its part says something else, or is gone."""

    def edit(statement: dict[str, Any]) -> None:
        conditions = statement["queries"][query]["asked"]["where"]
        if codes is None:
            conditions.pop()
        else:
            conditions[-1].update(codes=codes)

    return edit


def _event(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    def edit(statement: dict[str, Any]) -> None:
        change(statement["charges"][0])

    return edit


@pytest.mark.parametrize(
    ("edit", "check"),
    [
        (lambda s: s.pop("charges"), "sum of the queries"),
        (
            _event(lambda c: c["event"].update(type="partition") or c["event"].pop("parts_per_unit")),
            "cost of its draws",
        ),
        (_event(lambda c: c["cost"].update(epsilon="0.1")), "cost of its draws"),
        (_event(lambda c: c["parts"][1].update(codes=["north"])), "parts are disjoint"),
        (_event(lambda c: c["queries"].append("all")), "draws of its queries"),
        (_event(lambda c: c["event"].update(parts=c["event"]["parts"].replace("0.5", "0.2"))), "draws of each part"),
        (lambda s: s["queries"].append(s["queries"][0]), "names of queries"),
        (_asks(0, None), "queries count rows of their part"),
        (_asks(1, ["north"]), "queries count rows of their part"),
        (_asks(1, ["east", "north"]), "queries count rows of their part"),
        (_event(lambda c: c["parts"][0].update(queries=["coast", "inland"])), "queries count rows of their part"),
    ],
)
def test_a_statement_whose_charges_do_not_fit_its_queries_fails(
    parted: Path, tmp_path: Path, edit: Callable[[dict[str, Any]], object], check: str
) -> None:
    """Negative controls: what makes the total smaller than the draws are worth is found by name."""
    copy = tmp_path / "copy"
    shutil.copytree(parted, copy)
    statement = json.loads((copy / "statement.json").read_text(encoding="utf-8"))
    edit(statement)
    found = {result.name for result in verify_charges(statement) if not result.passed}
    if total_of(statement).to_json() != statement["spent"]:
        found.add("sum of the queries")
    assert check in found
