"""The public report as a page: the same facts as ``report.md``, with charts, and what an analyst can expect.

Every figure follows from the public files beside it; a test computes each of them anew from these files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost, cost
from trasgo_lib.plan.words import even_guess, odds_factor, strength
from trasgo_lib.reporting import public_use, wording
from trasgo_lib.reporting.charts import Bar, Whisker, interval_chart, stacked_bars
from trasgo_lib.reporting.facts import Interval, ReleaseFacts, UnitOutcome
from trasgo_lib.reporting.figures import bound_text, percent_text
from trasgo_lib.reporting.markup import (
    Html,
    Page,
    Section,
    bullets,
    code,
    figure,
    key_facts,
    note,
    paragraph,
    table,
    warning,
)
from trasgo_lib.reporting.noise_words import domain_words, noise_words
from trasgo_lib.reporting.public import checks_lead, checks_rows, columns_lead, identity, passed_through
from trasgo_lib.reporting.strength import BELIEFS, belief_after, best_guess

MOST_IN_A_CHART = 24
"""Columns that a chart shows; a longer one could not be read. The tables hold all of them."""


def render_report_page(facts: ReleaseFacts) -> str:
    """The report as one HTML document.

    Args:
        facts: what the run states about itself.
    """
    info = facts.plan.config.release
    lead: list[Html] = [warning(wording.REHEARSAL)] if facts.plan.is_rehearsal else []
    lead += [paragraph(info.description)] if info.description else []
    lead.append(key_facts(_key_facts(facts)))
    parts = (
        _released,
        _promised,
        _strength,
        _budget,
        _losses,
        public_use.columns,
        public_use.central,
        _checks,
        _verify,
    )
    sections = [section for part in parts if (section := part(facts)) is not None]
    return Page(
        title=info.title,
        above=f"Release report: {facts.plan.dataset}, version {facts.plan.version}",
        lead=tuple(lead),
        sections=tuple(sections),
        below=f"Made {facts.created} by trasgo {facts.library_version}, commit {facts.commit}."
        " Every figure here follows from the public files of this release.",
    ).markup


def _key_facts(facts: ReleaseFacts) -> Iterator[tuple[str, object]]:
    of_what = "" if wording.covers_selection(facts.plan) else ", draws only"
    spent, cap = facts.realised, facts.guarantee
    yield "Rows", f"{facts.rows:,}"
    yield "Columns with noise", sum(len(unit.columns) for unit in facts.plan.units)
    yield f"Epsilon spent{of_what}", f"{spent.epsilon.text} of {cap.epsilon.text}"
    if cap.delta.units:
        yield f"Delta spent{of_what}", spent.delta.text
    if spent.geo.units:
        yield f"Geo epsilon per km{of_what}", spent.geo.text
    targets = [outcome.met for outcome in facts.outcomes if outcome.met is not None]
    if targets:
        yield "Targets met", f"{sum(targets)} of {len(targets)}"
    yield "Protected", "one row" if facts.plan.privacy_unit == "row" else f"one {facts.plan.privacy_unit}"


def _released(facts: ReleaseFacts) -> Section:
    body = [table("identity", "This release", ("what", "value"), identity(facts))]
    body.append(
        table("columns", "Columns and their noise", ("column", "mechanism", "domain", "noise"), _columns(facts))
    )
    body += [paragraph(words) for words in passed_through(facts)]
    chosen = [f"{unit.name}: {unit.selection.in_words}." for unit in facts.plan.units if unit.selection is not None]
    body += [bullets(chosen)] if chosen else []
    return Section("released", "What was released", tuple(body))


def _columns(facts: ReleaseFacts) -> Iterator[tuple[object, ...]]:
    for unit in facts.plan.units:
        noise = noise_words(unit.domain, facts.published_channel(unit.name))
        yield ", ".join(unit.columns), unit.mechanism, domain_words(unit.domain), noise


def _promised(facts: ReleaseFacts) -> Section:
    plan = facts.plan
    amounts = (
        ("cap of the run", facts.guarantee),
        ("spent by this version", facts.realised),
        (f"account {plan.account} to date", facts.account_to_date),
    )
    of_what = "" if wording.covers_selection(plan) else ", draws only"
    head, kept = _with_amounts(("amount",), [one for _, one in amounts])
    rows = [(name + of_what, *kept(one)) for name, one in amounts]
    return Section(
        "promised",
        "What is promised, and to whom",
        (
            paragraph(wording.in_plain_words(facts)),
            table("amounts", "Privacy loss", head, rows),
            note(wording.account_words(plan)),
            paragraph("Protected are:", wording.privacy_unit(plan)),
            paragraph("The promise compares:", wording.neighbours(plan)),
            paragraph(wording.row_order(plan)),
            *([paragraph(wording.geo_words())] if any(unit.geo.units for unit in plan.units) else []),
            "<h3>Not covered</h3>",
            bullets(wording.not_covered(plan)),
            note(wording.COMPUTATIONAL_ASSUMPTION),
        ),
    )


def _strength(facts: ReleaseFacts) -> Section:
    """Odds and beliefs: for the whole record, then by column."""
    spent = facts.realised.epsilon
    whose = "row" if facts.plan.privacy_unit == "row" else facts.plan.privacy_unit
    lead = (
        f"Someone who compares any two records that one {whose} might have can have their odds changed by a factor of"
        f" at most e^{spent.text} = {odds_factor(spent)} by the whole release, whatever else they know. By custom the"
        f" protection is called {strength(spent)}. An even guess becomes at most"
        f" {even_guess(spent)}; these are bounds for the worst pair of records, and most are further from them."
    )
    if facts.realised.delta.units:
        lead += (
            f" All of this holds except with probability {facts.realised.delta.text} (delta), also by column where a"
            " delta was charged."
        )
    if facts.realised.geo.units:
        lead += " Records whose places differ can be told apart better, with every kilometre between these places."
    if not wording.covers_selection(facts.plan):
        lead += " The bounds are those of the draws"
        lead += "; what the choice of levels tells is not in them." if wording.has_targets(facts.plan) else "."
    beliefs = [(percent_text(float(before)), bound_text(belief_after(float(before), spent))) for before in BELIEFS]
    single = "The same for one column alone, which is what someone learns who knows the whole rest of the record."
    guess = (
        "The last two columns: how often the value of one row can be named when all declared values are equally likely"
        " beforehand, without the release and at most with it."
    )
    body: list[Html] = [paragraph(lead)]
    head = ("believed before", "believed after, at most")
    body.append(table("beliefs", "What a belief in one of two records can become", head, beliefs))
    rows = list(_strengths(facts))
    if rows:
        head_of_units = ("column", "epsilon", "protection", "odds change by at most", "even guess becomes at most",
                         "named by chance", "named with the release, at most")  # fmt: skip
        body += [paragraph(single), table("strengths", "Strength by column", head_of_units, rows), note(guess)]
    points = [unit for unit in facts.plan.units if unit.geo.units]
    if points:
        head_of_places = ("column", "geo epsilon per km", "places 100 m apart", "places 1 km apart")
        places = [(unit.name, facts.charged(unit.name).geo.text, *_places(facts, unit.name)) for unit in points]
        body.append(table("places", "Odds on two places change by at most a factor of", head_of_places, places))
    return Section("strength", "How strong this is", tuple(body))


def _strengths(facts: ReleaseFacts) -> Iterator[tuple[object, ...]]:
    for unit in facts.plan.units:
        charged = facts.charged(unit.name)
        if charged.epsilon.units:
            row = public_use.charged_per_row(facts, unit.name)
            codes = unit.domain.size + (unit.missing == "code")
            chance, named = percent_text(1 / codes), bound_text(best_guess(codes, row.epsilon, row.delta.fraction))
            bounds = strength(charged.epsilon), odds_factor(charged.epsilon), even_guess(charged.epsilon)
            yield ", ".join(unit.columns), charged.epsilon.text, *bounds, chance, named


def _places(facts: ReleaseFacts, unit: str) -> tuple[str, str]:
    per_km = facts.charged(unit).geo
    tenth = Epsilon(-(-per_km.units // 10))  # rounded up, like every loss
    return odds_factor(tenth), odds_factor(Epsilon(per_km.units))


def _budget(facts: ReleaseFacts) -> Section:
    plan = facts.plan
    by_cost = sorted(plan.units, key=lambda unit: -facts.charged(unit.name).epsilon.units)
    shown = {unit.name for unit in by_cost[:MOST_IN_A_CHART]}
    bars = []
    for unit in plan.units:
        charged = facts.charged(unit.name).epsilon
        if unit.name in shown and charged.units:
            bars.append(Bar(unit.name, _by_round(facts, unit.name), charged.text))
    body: list[Html] = [paragraph(*columns_lead(facts))]
    if bars:
        words = "Epsilon charged by column: " + "; ".join(f"{bar.name} {bar.text}" for bar in bars) + "."
        some = f"The {MOST_IN_A_CHART} dearest of {len(plan.units)}. " if len(plan.units) > MOST_IN_A_CHART else ""
        body.append(
            figure(stacked_bars("budget", bars, "epsilon"), words, f"{some}All figures are in the table below.")
        )
    charges = list(_charges(facts))
    head, kept = _with_amounts(("column", "round", "level"), [paid for _, _, _, paid in charges])
    rows = [(name, number, level, *kept(paid)) for name, number, level, paid in charges]
    body.append(table("budget-table", "What each draw was charged", head, rows))
    return Section("budget", "Budget by column and round", tuple(body))


def _by_round(facts: ReleaseFacts, unit: str) -> tuple[float, ...]:
    """Epsilon charged in each round, from the first to the unit's last."""
    charges: dict[int, float] = {}
    for number, event in zip(_rounds(facts.outcome(unit)), facts.draws(unit), strict=True):
        charges[number] = float(cost(event, facts.plan.max_rows).epsilon.fraction)
    return tuple(charges.get(number, 0.0) for number in range(1, max(charges) + 1))


def _rounds(outcome: UnitOutcome) -> tuple[int, ...]:
    """The round of each draw; draws are counted where rounds are not known."""
    if outcome.draws:
        return tuple(draw.round for draw in outcome.draws)
    return tuple(range(1, len(outcome.levels) + 1))


def _with_amounts(
    head: tuple[str, ...], costs: Sequence[Cost]
) -> tuple[tuple[str, ...], Callable[[Cost], tuple[str, ...]]]:
    """A head with the amounts that occur, epsilon always, and what takes these amounts of a cost."""
    has_delta, has_geo = any(one.delta.units for one in costs), any(one.geo.units for one in costs)

    def kept(one: Cost) -> tuple[str, ...]:
        return (one.epsilon.text, *((one.delta.text,) if has_delta else ()), *((one.geo.text,) if has_geo else ()))

    names = ("epsilon", *(("delta",) if has_delta else ()), *(("geo epsilon per km",) if has_geo else ()))
    return (*head, *names), kept


def _charges(facts: ReleaseFacts) -> Iterator[tuple[str, int, str, Cost]]:
    for unit in facts.plan.units:
        outcome = facts.outcome(unit.name)
        for number, level, event in zip(_rounds(outcome), outcome.levels, facts.draws(unit.name), strict=True):
            shown = f"{unit.geo.text} per km" if unit.geo.units else level.text
            yield unit.name, number, shown, cost(event, facts.plan.max_rows)


def _losses(facts: ReleaseFacts) -> Section | None:
    units = [unit for unit in facts.plan.units if unit.target is not None]
    if not units:
        return None
    is_public = wording.covers_selection(facts.plan)
    lead = (
        "Each target is a ceiling for a loss. It counts as met when the upper end of the 95 % interval is not above it."
        " Losses are estimated from the released rows and the published noise alone, and predictions were made from the"
        " rows of the round before: neither looks at the raw file."
    )
    if not is_public:
        lead = (
            "Each target is a ceiling for a loss. Losses were computed on the raw file, so they are not published;"
            " only whether each target was met is."
        )
    body: list[Html] = [paragraph(lead)]
    whiskers = [one for unit in units if (one := _whisker(facts, unit.name)) is not None][:MOST_IN_A_CHART]
    if whiskers:
        words = "; ".join(f"{one.name} {_share_words(one.estimate)}" for one in whiskers)
        body.append(
            figure(interval_chart("losses", whiskers), f"Estimated losses as shares of their targets: {words}.")
        )
    head = ("column", "loss", "at most", "round", "level", "predicted", "estimated", "95 % interval", "met")
    body.append(table("losses-table", "Losses against targets, draw by draw", head, _loss_rows(facts)))
    meaning = (
        "tvd: total variation distance, the share of rows that would have to change for the two distributions to agree;"
        " js and kl: Jensen-Shannon and Kullback-Leibler divergence in nats; correlation_loss: mean change of the"
        " correlations in percent of their mean size."
    )
    return Section("losses", "Losses against targets", (*body, note(meaning)))


def _share_words(reach: Interval | None) -> str:
    return "without estimate" if reach is None else f"{reach[0]:.2f} ({reach[1]:.2f} to {reach[2]:.2f})"


def _whisker(facts: ReleaseFacts, name: str) -> Whisker | None:
    target, outcome = facts.plan.unit(name).target, facts.outcome(name)
    if target is None or outcome.estimate is None:
        return None
    ceiling = float(target.ceiling) or 1e-12
    value, low, high = (part / ceiling for part in outcome.estimate)
    foreseen = outcome.draws[-1].predicted if outcome.draws else None
    predicted = None if foreseen is None else (foreseen[0] / ceiling, foreseen[1] / ceiling, foreseen[2] / ceiling)
    return Whisker(name, (value, low, high), predicted)


def _loss_rows(facts: ReleaseFacts) -> Iterator[tuple[object, ...]]:
    nothing = "no estimate" if wording.covers_selection(facts.plan) else "not published"
    for unit in facts.plan.units:
        if unit.target is None:
            continue
        outcome = facts.outcome(unit.name)
        target = (unit.target.loss, unit.target.ceiling)
        for place, (number, level) in enumerate(zip(_rounds(outcome), outcome.levels, strict=True), 1):
            is_last = place == len(outcome.levels)
            draw = outcome.draws[place - 1] if outcome.draws else None
            estimate = outcome.estimate if is_last else None if draw is None else draw.estimate
            value, ends = _estimate_words(estimate, nothing)
            met = {True: "yes", False: "no", None: ""}[outcome.met] if is_last else ""
            foreseen = _foreseen_words(None if draw is None else draw.predicted)
            yield unit.name, *target, number, level.text, foreseen, value, ends, met


def _estimate_words(estimate: Interval | None, nothing: str) -> tuple[str, str]:
    """A loss and its ends with the digits that the statement gives."""
    if estimate is None:
        return nothing, ""
    return f"{estimate[0]:.4g}", f"{estimate[1]:.4g} to {estimate[2]:.4g}"


def _foreseen_words(predicted: Interval | None) -> str:
    return "" if predicted is None else f"{predicted[0]:.4g} ({predicted[1]:.4g} to {predicted[2]:.4g})"


def _checks(facts: ReleaseFacts) -> Section:
    rows = checks_rows(facts)
    head = ("check", "column", "observed", "limit", "passed")
    return Section(
        "checks", "Output checks", (paragraph(checks_lead(facts)), table("checks-table", "Output checks", head, rows))
    )


def _verify(facts: ReleaseFacts) -> Section:
    plan = facts.plan
    commands = (
        "# every digest, channel, certificate and claim\n"
        f"trasgo verify {plan.dataset}/{plan.version}\n\n"
        "# and who signed, with the office's public key\n"
        f"trasgo verify {plan.dataset}/{plan.version} --key office.pem\n\n"
        "# the bytes alone, with no tool of ours\n"
        "sha256sum --check SHA256SUMS\n"
    )
    body = [
        paragraph(
            "All of it works offline, on any copy, without a key. With the office's public key, had by another road"
            " than this folder, it also shows who published. An auditor who holds the sealed key and the source can"
            " redraw the release: trasgo audit."
        ),
        code(commands),
    ]
    declared = plan.config.release.supersedes
    if declared is not None:
        words = {"error": "It corrects an error in", "revision": "It is the planned revision of"}[declared.reason]
        taken = f"This version takes the place of version {declared.version}. {words} that version. {declared.note}"
        body.append(paragraph(taken))
    body.append(
        paragraph(
            "A published file never changes. Corrections are new versions; what takes the place of this one, and why,"
            f" will stand in {plan.dataset}/_ERRATA beside this release."
        )
    )
    return Section("verify", "Check it yourself", tuple(body))
