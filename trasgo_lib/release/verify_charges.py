"""Adding up what published answers cost where several queries are charged at once: parts of rows, or a whole plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trasgo_lib.budget import (
    Cost,
    DeclaredPlanEvent,
    FixedPartitionEvent,
    LossEvent,
    PartitionEvent,
    cost,
    event_from_json,
)
from trasgo_lib.errors import Reason
from trasgo_lib.release.verification import VerificationResult, judge

_STATEMENT = "statement.json"


def total_of(statement: dict[str, Any]) -> Cost:
    """What all queries of a statement cost a unit: the shared charges, and every other query by itself.

    Args:
        statement: the parsed ``statement.json`` of answers.

    Raises:
        TrasgoError: an event that is not known.
        KeyError: a key is absent.
    """
    total, paid = Cost.zero(), set()
    for charge in statement.get("charges", ()):
        paid |= set(charge["queries"])
        total += cost(event_from_json(charge["event"]), statement["max_rows"])
    for query in statement["queries"]:
        if query["name"] not in paid:
            total += cost(event_from_json(query["event"]))
    return total


def verify_charges(statement: dict[str, Any]) -> Iterator[VerificationResult]:
    """Whether shared charges are for exactly the draws of their queries, and cost what is stated.

    Args:
        statement: the parsed ``statement.json`` of answers.
    """
    events = {query["name"]: event_from_json(query["event"]) for query in statement["queries"]}
    # a second query of a name that is paid for would cost nothing
    yield judge("names of queries", _STATEMENT, len(events), len(statement["queries"]), Reason.CLAIM_NOT_CERTIFIED)
    names = [name for charge in statement.get("charges", ()) for name in charge["queries"]]
    yield judge("each query in one charge", _STATEMENT, len(set(names)), len(names), Reason.CLAIM_NOT_CERTIFIED)
    for charge in statement.get("charges", ()):
        event, where = event_from_json(charge["event"]), charge["name"]
        asked = [events[name] for name in charge["queries"]]
        paid = sorted(map(repr, _draws(event)))
        yield judge("draws of its queries", where, sorted(map(repr, asked)), paid, Reason.CLAIM_NOT_CERTIFIED)
        price = cost(event, statement["max_rows"]).to_json()
        yield judge("cost of its draws", where, price, charge["cost"], Reason.CLAIM_NOT_CERTIFIED)
        if isinstance(event, PartitionEvent | FixedPartitionEvent):
            yield from _verify_parts(event, charge, statement)
        if isinstance(event, DeclaredPlanEvent):
            yield _verify_plan(event, where)


def _draws(event: LossEvent) -> list[LossEvent]:
    if isinstance(event, PartitionEvent | FixedPartitionEvent):
        return [one for _, events in event.parts for one in events]
    return list(event.events) if isinstance(event, DeclaredPlanEvent) else [event]


def _verify_parts(
    event: PartitionEvent | FixedPartitionEvent, charge: dict[str, Any], statement: dict[str, Any]
) -> Iterator[VerificationResult]:
    """Parts are disjoint by the codes that the statement shows, and each pays for the queries that ask about it."""
    where, codes = charge["name"], charge["parts"]
    told = [code for part in codes for code in part["codes"]]
    yield judge("parts are disjoint", where, len(set(told)), len(told), Reason.CLAIM_NOT_CERTIFIED)
    events = {query["name"]: event_from_json(query["event"]) for query in statement["queries"]}
    paid = {name: sorted(map(repr, drawn)) for name, drawn in event.parts}
    asked: dict[str, list[str]] = {}
    for part in codes:
        for query in part["queries"]:
            asked.setdefault(part["name"], []).append(repr(events[query]))
    required = {name: sorted(drawn) for name, drawn in asked.items()}
    yield judge("draws of each part", where, required, paid, Reason.CLAIM_NOT_CERTIFIED)
    counts_apart = _count_apart(charge, {query["name"]: query["asked"] for query in statement["queries"]})
    yield judge("queries count rows of their part", where, True, counts_apart, Reason.CLAIM_NOT_CERTIFIED)


def _count_apart(charge: dict[str, Any], asked: dict[str, dict[str, Any]]) -> bool:
    """Whether each query that is charged lies in one part, and its own conditions on one column keep it there."""
    names = [name for part in charge["parts"] for name in part["queries"]]
    columns: set[str] | None = None
    for part in charge["parts"]:
        for name in part["queries"]:
            conditions = [one for one in asked[name].get("where", ()) if one.get("codes")]
            keeping = {one["column"] for one in conditions if set(one["codes"]) <= set(part["codes"])}
            columns = keeping if columns is None else columns & keeping
    return bool(columns) and sorted(names) == sorted(charge["queries"])


def neighbours_of(statement: dict[str, Any]) -> str:
    """What a statement has to call neighbours, where parts may be public, which then are not protected.

    Args:
        statement: the parsed ``statement.json`` of answers.
    """
    events = [event_from_json(charge["event"]) for charge in statement.get("charges", ())]
    kept = ", ".join(event.name for event in events if isinstance(event, FixedPartitionEvent))
    told = f", and it keeps its parts of {kept}" if kept else ""
    return f"same rows per unit; the values of one unit are replaced{told}"


def composition_of(statement: dict[str, Any]) -> str:
    """By which rules the queries of a statement add up, in words: what its ``composition`` has to say.

    Args:
        statement: the ``queries`` and ``charges`` of a statement of answers.
    """
    charges = statement.get("charges", ())
    paid = {name for charge in charges for name in charge["queries"]}
    told = [_composed(event_from_json(charge["event"])) for charge in charges]
    if len(told) == 1 and paid == {query["name"] for query in statement["queries"]}:
        return told[0]
    return "; ".join(["basic", *told])


def _composed(event: LossEvent) -> str:
    if isinstance(event, PartitionEvent | FixedPartitionEvent):
        return f"parallel over the parts of {event.name}, basic within each"
    if isinstance(event, DeclaredPlanEvent):
        return "privacy loss distributions over queries that were declared in advance"
    return "basic"


def _verify_plan(event: DeclaredPlanEvent, where: str) -> VerificationResult:
    """The claimed epsilon is computed again; only a package that has such a plan loads heavy libraries."""
    from trasgo_lib.budget.composition import least_of_plan

    least = least_of_plan(event.events, event.delta)
    holds = event.epsilon.decimal >= least
    came = "no less" if holds else event.epsilon.text
    required = "no less" if holds else f"at least {least:.9f}"
    return judge("composed loss", where, required, came, Reason.CLAIM_NOT_CERTIFIED)
