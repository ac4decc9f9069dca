"""The restricted report: what the runner sees and the public never does, exact losses and input counts among it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trasgo_lib.amounts import Epsilon
from trasgo_lib.reporting.markdown import section, table
from trasgo_lib.reporting.records import flat, is_records, shown
from trasgo_lib.reporting.risk import risk_section
from trasgo_lib.reporting.wording import REHEARSAL

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan


@dataclass(frozen=True, slots=True)
class RoundFacts:
    """One noise unit after one round; private under ``loss_from: original``.

    Args:
        number: round of the loop, from 1.
        unit: noise unit.
        level: epsilon of its current draw.
        loss: the target's loss, or None where it says nothing.
        met: whether the target was met.
        interval: 95 % interval of an estimated loss; None for an exact one.
    """

    number: int
    unit: str
    level: Epsilon
    loss: float | None
    met: bool
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class RestrictedFacts:
    """What a run shows to its runner, published or held.

    Args:
        plan: the compiled plan.
        state: lifecycle state at the end, such as ``published`` or ``held``.
        reason: why the loop stopped.
        rounds: every round, one entry a noise unit.
        input_report: the ingest report as strict JSON; counts, private.
        losses: exact losses as strict JSON; private.
        shortfalls: for each unit that misses its target, by how much, in words; private.
        estimates: losses estimated from the released data, as strict JSON; empty where they were not.
        comparison: distributions, correlations and moved points before and after, as strict JSON; private, and empty
            where exact losses could not be computed.
        risk: the risk audit as strict JSON; private; empty where none is declared.
        not_shown: kind of the error for which comparison, or all that raw data made, is left out of the reports; empty
            where nothing is.
    """

    plan: ReleasePlan
    state: str
    reason: str
    rounds: tuple[RoundFacts, ...]
    input_report: Mapping[str, Any]
    losses: Mapping[str, Any]
    shortfalls: tuple[tuple[str, str], ...] = ()
    estimates: Mapping[str, Any] = field(default_factory=dict)
    comparison: Mapping[str, Any] = field(default_factory=dict, repr=False)
    risk: Mapping[str, Any] = field(default_factory=dict)
    not_shown: str = ""

    @property
    def left_out(self) -> str:
        """What a report says in place of what it leaves out; empty where it leaves nothing out."""
        return f"A part could not be shown ({self.not_shown}); the JSON files hold it." if self.not_shown else ""


def render_restricted_report(facts: RestrictedFacts) -> str:
    """The restricted report as markdown.

    Args:
        facts: what the run shows to its runner; private.
    """
    plan = facts.plan
    lines = [f"# {plan.dataset} {plan.version}: restricted report", ""]
    if plan.is_rehearsal:
        lines += [f"**{REHEARSAL}**", ""]
    else:
        lines += ["Holds exact losses and counts computed from raw data. Never publish it or pass it on.", ""]
    if facts.left_out:
        lines += [facts.left_out, ""]
    lines += table(("", ""), [("state", facts.state), ("why the loop stopped", stop_words(facts))])
    if facts.shortfalls:
        lines += section("Targets not met") + table(("noise unit", "missing"), facts.shortfalls)
    lines += section("Rounds") + table(("round", "noise unit", "epsilon", "loss", "target", "met"), rounds_rows(facts))
    if facts.estimates:
        lead = "Made from released data while the loop ran; the exact losses were computed after every decision."
        lines += section("Estimates beside the truth", lead)
        lines += table(("column", "loss", "estimate", "95 % interval", "exact"), side_by_side(facts))
    lines += section("Exact losses") + _document(facts.losses)
    if facts.risk:
        lines += risk_section(facts.risk)
    lines += section("Input") + _document(facts.input_report)
    return "\n".join(lines).rstrip() + "\n"


_STOPPED = {
    "met": "every target is met",
    "unmet": "no level is left that could meet a target",
    "exhausted": "the next level does not fit what is left of the budget",
}


def stop_words(facts: RestrictedFacts) -> str:
    """Why the loop stopped, for people."""
    if not any(unit.target for unit in facts.plan.units):
        return "no column has a target"
    return _STOPPED.get(facts.reason, facts.reason)


def rounds_rows(facts: RestrictedFacts) -> Iterator[tuple[object, ...]]:
    """Every round, one row a noise unit; units without a target stand there once, since they are drawn once."""
    seen: set[str] = set()
    for entry in facts.rounds:
        unit = facts.plan.unit(entry.unit)
        target = unit.target
        if target is None and entry.unit in seen:
            continue
        seen.add(entry.unit)
        ceiling = "none" if target is None else f"{target.loss} at most {target.ceiling}"
        loss = "no evidence" if entry.loss is None else f"{entry.loss:.6g}"
        loss += "" if entry.interval is None else f" ({entry.interval[0]:.4g} to {entry.interval[1]:.4g})"
        met = "" if target is None else ("yes" if entry.met else "no")
        level = f"{unit.geo.text} per km" if unit.geo.units else entry.level.text
        yield entry.number, entry.unit, level, loss if target is not None else "", ceiling, met


def side_by_side(facts: RestrictedFacts) -> Iterator[tuple[object, ...]]:
    """Every estimated loss beside the exact one."""
    exact = {column["name"]: column for column in facts.losses.get("columns", [])}
    for column in facts.estimates.get("columns", []):
        for name in ("correlation_loss", "tvd", "js", "kl"):
            found = column[name]
            interval = "" if found["low"] is None else f"{found['low']:.4g} to {found['high']:.4g}"
            estimate = found["reason"] if found["value"] is None else f"{found['value']:.4g}"
            yield column["name"], name, estimate, interval, shown(exact.get(column["name"], {}).get(name))


def _document(document: Mapping[str, Any]) -> list[str]:
    """A JSON document as tables: one of its plain values, and one for each list of records in it."""
    lists = {name: value for name, value in document.items() if is_records(value)}
    lines = table(("what", "value"), flat({name: value for name, value in document.items() if name not in lists}))
    for records in lists.values():
        lines += _record_table(records)
    return lines


def _record_table(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """One row a record, one column a field."""
    names = list(dict.fromkeys(name for record in records for name in record))
    rows = ([shown(record.get(name)) for name in names] for record in records)
    return table([name.replace("_", " ") for name in names], rows)
