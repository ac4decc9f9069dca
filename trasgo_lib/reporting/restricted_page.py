"""The restricted report as a page: exact losses, distributions and correlations before and after; private."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trasgo_lib.checks import CheckReport
from trasgo_lib.reporting.charts import Whisker, interval_chart
from trasgo_lib.reporting.markup import Html, Page, Section, figure, key_facts, note, paragraph, table, warning
from trasgo_lib.reporting.pictures import correlations, distributions, places
from trasgo_lib.reporting.records import flat, is_records, shown
from trasgo_lib.reporting.restricted import RestrictedFacts, rounds_rows, side_by_side, stop_words
from trasgo_lib.reporting.risk import RISK_NOTES, risk_tables
from trasgo_lib.reporting.wording import REHEARSAL, covers_selection

_WARNING = "Holds exact losses, counts and distributions computed from raw data. Never publish it or pass it on."

_LOSSES = ("correlation_loss", "tvd", "js", "kl")


def render_restricted_page(facts: RestrictedFacts, checks: CheckReport) -> str:
    """The restricted report as one HTML document.

    Args:
        facts: what the run shows to its runner; private.
        checks: the output checks.
    """
    plan = facts.plan
    parts = [_losses(facts), _rounds(facts), *distributions(facts), *correlations(facts), *places(facts)]
    parts += [_exact(facts), _input(facts), _checks(checks)]
    parts += _risk(facts.risk)
    return Page(
        title=plan.config.release.title,
        above=f"Restricted report: {plan.dataset}, version {plan.version}",
        lead=(
            warning(REHEARSAL if plan.is_rehearsal else _WARNING),
            *([paragraph(facts.left_out)] if facts.left_out else []),
            key_facts(_key_facts(facts)),
        ),
        sections=tuple(parts),
        below=f"Restricted report of {plan.dataset}, version {plan.version}. {_WARNING}",
        is_restricted=True,
    ).markup


def _key_facts(facts: RestrictedFacts) -> Iterator[tuple[str, object]]:
    yield "State", facts.state
    yield "Why the loop stopped", stop_words(facts)
    yield "Rounds", max((entry.number for entry in facts.rounds), default=0)
    if "rows" in facts.comparison:
        yield "Rows", f"{facts.comparison['rows']:,}"
    overall = facts.losses.get("correlation_loss")
    if overall is not None:
        yield "Correlation loss, all pairs", f"{overall:.3g} %"


def _losses(facts: RestrictedFacts) -> Section:
    body: list[Html] = []
    if facts.shortfalls:
        body.append(table("shortfalls", "Targets not met", ("noise unit", "missing"), facts.shortfalls))
    exact = {column["name"]: column for column in facts.losses.get("columns", [])}
    whiskers = list(_whiskers(facts, exact))
    if whiskers:
        words = "Losses as shares of their targets, exact: " + "; ".join(
            f"{one.name} {'unknown' if one.exact is None else f'{one.exact:.2f}'}" for one in whiskers
        )
        body.append(figure(interval_chart("targets", whiskers), f"{words}."))
    if facts.estimates:
        lead = "Estimates were made from released data while the loop ran; exact losses came after every decision."
        head = ("column", "loss", "estimate", "95 % interval", "exact")
        body += [paragraph(lead), table("beside", "Estimates beside the truth", head, side_by_side(facts))]
    elif not covers_selection(facts.plan):
        body.append(paragraph("The loop was steered by exact losses, so there are no estimates beside them."))
    if "not_computed" in facts.losses:
        body.append(paragraph(f"Exact losses could not be computed: {facts.losses['not_computed']}."))
    return Section("losses", "Losses against targets", tuple(body) or (paragraph("No column has a target."),))


def _whiskers(facts: RestrictedFacts, exact: Mapping[str, Mapping[str, Any]]) -> Iterator[Whisker]:
    """One for each unit with a target, from its last round; a group counts by its worst column."""
    latest = {entry.unit: entry for entry in facts.rounds}
    for unit in facts.plan.units:
        entry = latest.get(unit.name)
        if unit.target is None or entry is None:
            continue
        ceiling, loss = float(unit.target.ceiling) or 1e-12, unit.target.loss
        found = [column.get(loss) for column in exact.values() if column.get("unit") == unit.name]
        known = [value for value in found if value is not None]
        truth = max(known) / ceiling if known and len(known) == len(found) else None
        estimate = None
        if entry.loss is not None and entry.interval is not None:
            estimate = (entry.loss / ceiling, entry.interval[0] / ceiling, entry.interval[1] / ceiling)
        if truth is not None or estimate is not None:
            yield Whisker(unit.name, estimate, exact=truth)


def _rounds(facts: RestrictedFacts) -> Section:
    head = ("round", "noise unit", "epsilon", "loss", "target", "met")
    return Section("rounds", "Rounds", (table("rounds-table", "Every round", head, rounds_rows(facts)),))


def _exact(facts: RestrictedFacts) -> Section:
    found = facts.losses.get("columns", [])
    rows = [
        (column["name"], *(_loss(column.get(loss)) for loss in _LOSSES), *_more(column))
        for column in found
        if isinstance(column, Mapping)
    ]
    head = ("column", "correlation loss, %", "tvd", "js", "kl", "moved, m", "remarks")
    rest = {name: value for name, value in facts.losses.items() if not is_records(value)}
    body = [table("exact-table", "Exact losses by column", head, rows)] if rows else []
    return Section("exact", "Exact losses", (*body, table("overall", "Of the table", ("what", "value"), _named(rest))))


def _loss(value: object) -> object:
    return "none" if value is None else shown(value)


def _more(column: Mapping[str, Any]) -> tuple[object, str]:
    moved = column.get("displacement_m")
    lost = f"{column['lost']} codes lost" if column.get("lost") else ""
    reasons = (str(column[name]) for name in ("reason", "divergence_reason") if column.get(name))
    return "" if moved is None else shown(moved), "; ".join(filter(None, (lost, *reasons)))


def _input(facts: RestrictedFacts) -> Section:
    return Section("input", "Input report", tuple(_document("input", facts.input_report)))


def _document(name: str, document: Mapping[str, Any]) -> Iterator[Html]:
    """A JSON document as tables: one of its plain values, and one for each list of records in it."""
    lists = {key: value for key, value in document.items() if is_records(value)}
    plain = {key: value for key, value in document.items() if key not in lists}
    yield table(f"{name}-table", "Of the file", ("what", "value"), _named(plain))
    for number, (key, records) in enumerate(lists.items(), 1):
        names = list(dict.fromkeys(field for record in records for field in record))
        rows = ([shown(record.get(field)) for field in names] for record in records)
        head = [field.replace("_", " ") for field in names]
        yield table(f"{name}-{number}", f"By {key.removesuffix('s')}", head, rows)


def _checks(checks: CheckReport) -> Section:
    if not checks.results:
        return Section("checks", "Output checks", (paragraph("None were run: nothing was to be published."),))
    rows = [
        (one.name, one.column or "table", one.observed, one.limit, "yes" if one.passed else "NO")
        for one in checks.results
    ]
    failed = len(checks.failures)
    lead = f"{len(rows) - failed} of {len(rows)} passed. They read released data and public probes only."
    head = ("check", "column", "observed", "limit", "passed")
    body = (paragraph(lead), table("checks-table", "Output checks", head, rows))
    return Section("checks", "Output checks", (*body, note("checks.html holds the same for those who know Data Docs.")))


def _risk(risk: Mapping[str, Any]) -> Iterator[Section]:
    if risk:
        body = [paragraph(words) for words in RISK_NOTES]
        body += [table(f"risk-{place}", *own) for place, own in enumerate(risk_tables(risk), 1)]
        yield Section("risk", "Risk audit", tuple(body))


def _named(document: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Its leaves under their names in words."""
    for name, value in flat(document):
        yield name.replace("_", " "), value
