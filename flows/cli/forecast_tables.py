"""A forecast on the terminal: readable at 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flows.cli.console import out

if TYPE_CHECKING:
    from trasgo_lib.amounts import Epsilon
    from trasgo_lib.estimation import Estimate
    from trasgo_lib.loop.forecast import Curve, Forecast, GroupAdvice

_MUCH_UNITS = 8 * 10**6
"""Epsilon 8, in millionths: an odds ratio of about 3000."""

_WIDTH = 100
"""Columns of text that a table takes where the terminal is narrower or unknown."""


def print_forecast(found: Forecast) -> None:
    """Print a forecast: what it rests on, losses, what targets cost, groups.

    Args:
        found: public.
    """
    release = f"{found.plan.dataset}/{found.plan.version}"
    _say(f"Forecast of {release} with {found.rows:,} rows; no data was opened.", "bold")
    _say(f"Rests on: {found.prior.source}")
    if found.unknown:
        _say(f"Not foreseen, since the prior says nothing of them: {', '.join(found.unknown)}", "bold yellow")
    if found.assumed:
        _say(f"Taken as evenly spread, because you asked for it: {', '.join(found.assumed)}", "yellow")
    for note in found.notes:
        _say(f"Note: {note}", "yellow")
    _losses_by_epsilon(found)
    _losses_by_rows(found)
    _costs(found)
    for group in found.groups:
        _group(group)


def _losses_by_epsilon(found: Forecast) -> None:
    _heading(f"Expected loss by epsilon, {found.rows:,} rows")
    table = _table("column", "mechanism", *(level.text for level in found.questions.epsilons))
    for column in dict.fromkeys(curve.column for curve in found.curves):
        curves = [curve for curve in found.curves if curve.column == column]
        heads = [Text(column, "bold"), Text(_target(curves[0]), "dim"), *[Text("")] * len(curves)]
        for place in range(max(2, len(curves))):
            if place >= len(curves):
                table.add_row(heads[place])
                continue
            curve = curves[place]
            losses = [_loss(curve, level, found.rows) for level in found.questions.epsilons]
            style = "" if curve.option.is_declared else "dim"
            name = curve.option.label + (" (declared)" if curve.option.is_declared and len(curves) > 1 else "")
            table.add_row(heads[place], Text(name, style), *losses, end_section=place == max(2, len(curves)) - 1)
    _show(table)
    _say(
        "* meets the target with its upper 95 % end (± half the interval). Losses are those of the released rows as"
        " they are; the detail that cutting a number into bins costs is in no loss. A loop that steers by released"
        " values has to see that a target is met, and may need more: see what it costs, below.",
        "dim",
    )
    reasons = {
        f"{curve.column}: {cell.loss.reason}"
        for curve in found.curves
        for cell in curve.cells
        if curve.option.is_declared and cell.loss.value is None
    }
    for reason in sorted(reasons):
        _say(f"- {reason}", "dim")


def _losses_by_rows(found: Forecast) -> None:
    _heading("Expected loss by number of rows, declared mechanism")
    counts = [entry.rows for entry in found.by_rows]
    table = _table("column", "epsilon", *(f"{rows:,}" for rows in counts))
    for curve in (curve for curve in found.curves if curve.option.is_declared):
        level = shown_level(curve, found.questions.epsilons, found.rows)
        table.add_row(curve.column, level.text, *(_loss(curve, level, rows) for rows in counts))
    _show(table)
    _say("at the lowest epsilon above that meets the target, else the highest", "dim")


def shown_level(curve: Curve, levels: Sequence[Epsilon], rows: int) -> Epsilon:
    """The lowest level that is expected to meet the target, else the highest."""
    met = [level for level in levels if _is_met(curve, curve.at(level, rows))]
    return min(met, default=levels[-1])


def _costs(found: Forecast) -> None:
    _heading("Epsilon that the loop needs to meet every target, by number of rows (rehearsed on synthetic rows)")
    table = _table("column or group", "target", *(f"{entry.rows:,}" for entry in found.by_rows))
    for target in found.targets:
        words = "none" if target.loss is None else f"{_short(target.loss)} <= {target.ceiling}"
        cells = []
        for entry in found.by_rows:
            is_met = all(run.entries[target.unit].met for run in entry.runs)
            most = max(run.spent[target.unit] for run in entry.runs)
            cells.append(Text(f"{float(most.decimal):.2f}") if is_met else Text("not met", "red"))
        table.add_row(target.unit, Text(words, "dim"), *cells)
    totals = [Text(f"{float(entry.most.decimal):.2f}" if entry.is_met else "-", "bold") for entry in found.by_rows]
    table.add_section()
    table.add_row(Text("all together", "bold"), "", *totals)
    _show(table)
    runs = len(found.rehearsals.runs)
    _say(f"{found.rows:,} rows: the most of {runs} rehearsals; other row counts: one rehearsal each", "dim")
    out.print()
    _verdict(found)


def _verdict(found: Forecast) -> None:
    total, least = found.plan.epsilon_total, found.least_total
    if least is not None:
        enough = "which is enough" if least <= total else "which is NOT enough"
        median = found.rehearsals.median
        _say(
            f"Least epsilon_total for all targets at {found.rows:,} rows: {least.text} (median {median.text}, at most"
            f" {found.rehearsals.rounds} rounds). The file allows {total.text}, {enough}.",
            "bold green" if least <= total else "bold red",
        )
    for target in found.targets:
        if target.obstacle is None or target.loss is None:
            continue
        met = f"met in {target.met} of {len(found.rehearsals.runs)} rehearsals" if target.met else "cannot be met"
        more = (
            f"From {target.rows_needed:,} rows on it is met."
            if target.rows_needed is not None
            else "At no larger number of rows looked at is it met."
        )
        words = f"{target.unit}: {_short(target.loss)} <= {target.ceiling} {met} at {found.rows:,} rows"
        _say(f"{words}: {target.obstacle}. {more}", "bold red")
    weak = [target.unit for target in found.targets if target.loss is not None and target.most.units > _MUCH_UNITS]
    if weak:
        _say(f"Above epsilon 8, where little is protected: {', '.join(weak)}", "yellow")
    if least is None:
        _say("No epsilon_total meets all targets at this number of rows.", "bold red")
    if found.unknown:
        _say(f"What {', '.join(found.unknown)} will cost is not in these totals.", "yellow")


def _group(group: GroupAdvice) -> None:
    _heading(f"{', '.join(group.columns)}: one group of {group.combinations:,} combinations, or single columns?")
    table = _table("total epsilon", *(one.total.text for one in group.comparisons))
    raw, error = "correlation loss of released rows, %", "error of debiased correlations"
    table.add_row(f"{raw}: group", *(f"{one.raw_group:.0f}" for one in group.comparisons))
    table.add_row(f"{raw}: single", *(f"{one.raw_single:.0f}" for one in group.comparisons), end_section=True)
    table.add_row(f"{error}: group", *(f"{one.debiased_group:.3f}" for one in group.comparisons))
    table.add_row(f"{error}: single", *(f"{one.debiased_single:.3f}" for one in group.comparisons))
    _show(table)
    _say(f"{'For' if group.is_advised else 'Against'} the group: {group.reason}", "bold")


def _loss(curve: Curve, level: Epsilon, rows: int) -> Text:
    found = curve.at(level, rows)
    if found is None or found.value is None or found.low is None or found.high is None:
        return Text("-", "dim")
    figure = _figure(found.value, curve.loss)
    if curve.option.is_declared:
        figure += f"±{_figure((found.high - found.low) / 2, curve.loss)}"
    return Text(f"{figure}*", "green") if _is_met(curve, found) else Text(f"{figure} ")


def _figure(value: float, loss: str) -> str:
    if loss == "correlation_loss":
        return f"{value:.0f}"
    return f"{value:.3f}".removeprefix("0") if value < 1 else f"{value:.2f}"


def _is_met(curve: Curve, found: Estimate | None) -> bool:
    if found is None or found.high is None or curve.ceiling is None:
        return False
    return found.high <= float(curve.ceiling)


def _target(curve: Curve) -> str:
    return (
        f"{_short(curve.loss)} <= {curve.ceiling}" if curve.ceiling is not None else f"{_short(curve.loss)}, no target"
    )


def _short(loss: str) -> str:
    return "corr. loss %" if loss == "correlation_loss" else loss


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for place, head in enumerate(heads):
        is_figure = place > 1 or (place == 1 and head[:1].isdigit())
        table.add_column(head, justify="right" if is_figure else "left", no_wrap=True)
    return table


def _show(table: Table) -> None:
    Console(width=max(_WIDTH, out.width), highlight=False, markup=False, emoji=False).print(table)


def _heading(words: str) -> None:
    out.print()
    _say(words, "bold cyan")


def _say(words: str, style: str = "") -> None:
    for line in textwrap.wrap(words, _WIDTH - 2) or [""]:
        out.print(Text(line, style))
