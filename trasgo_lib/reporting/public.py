"""The public report: what was released, under which noise and guarantee, and what passed.

Public facts only. Under ``loss_from: original`` it says met or not met and no loss at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from trasgo_lib.reporting import wording
from trasgo_lib.reporting.facts import ReleaseFacts, UnitOutcome
from trasgo_lib.reporting.markdown import bullets, cell, section, table
from trasgo_lib.reporting.noise_words import domain_words, noise_words


def render_report(facts: ReleaseFacts) -> str:
    """The report as markdown.

    Args:
        facts: what the run states about itself.
    """
    info = facts.plan.config.release
    lines = [f"# {cell(info.title)}", ""]
    if facts.plan.is_rehearsal:
        lines += [f"**{wording.REHEARSAL}**", ""]
    if info.description:
        lines += [cell(info.description), ""]
    lines += table(("", ""), identity(facts))
    lines += section("What is promised", cell(wording.in_plain_words(facts)))
    lines += table(("", "epsilon", "delta", "geo epsilon per km"), _amounts(facts))
    lines += [cell(wording.account_words(facts.plan)), ""]
    lines += section("Between whom", cell(wording.neighbours(facts.plan)), cell(wording.privacy_unit(facts.plan)))
    lines += section("Columns", *map(cell, columns_lead(facts)))
    lines += table(
        ("column", "mechanism", "domain", "noise", "draws", "charged", "target", "estimated loss", "met"), _units(facts)
    )
    lines += [*_chosen(facts), *_apart(passed_through(facts))]
    lines += section("Order of the rows", cell(wording.row_order(facts.plan)))
    lines += section("Output checks", checks_lead(facts))
    lines += table(("check", "column", "observed", "limit", "passed"), checks_rows(facts))
    lines += section("Not covered by the guarantee")
    lines += bullets(wording.not_covered(facts.plan))
    lines += section("Check it yourself", wording.COMPUTATIONAL_ASSUMPTION, _HOW_TO_CHECK)
    return "\n".join(lines).rstrip() + "\n"


_HOW_TO_CHECK = (
    "`trasgo verify` with this folder recomputes every digest, rebuilds every channel in `channel.json` and its"
    " certificate, and compares them with `statement.json` and the data. It needs no network and no key."
)


def identity(facts: ReleaseFacts) -> Iterator[tuple[str, object]]:
    """What the release is, with names."""
    info = facts.plan.config.release
    yield "data set", facts.plan.dataset
    yield "version", facts.plan.version
    yield "made", facts.created
    if info.supersedes is not None:
        words = {"error": "corrects an error in", "revision": "is the planned revision of"}[info.supersedes.reason]
        yield "takes the place of", f"version {info.supersedes.version}: {words} it. {info.supersedes.note}"
    yield "rows", facts.rows
    if info.licence:
        yield "licence", info.licence
    if info.source_note:
        yield "source", info.source_note
    yield "library", f"trasgo {facts.library_version}, commit {facts.commit}"


def _amounts(facts: ReleaseFacts) -> Iterator[tuple[str, str, str, str]]:
    of_what = "" if wording.covers_selection(facts.plan) else ", draws only"
    for name, amount in (
        ("cap of the run", facts.guarantee),
        ("spent by this version", facts.realised),
        (f"account {facts.plan.account} to date", facts.account_to_date),
    ):
        yield name + of_what, amount.epsilon.text, amount.delta.text, amount.geo.text


def columns_lead(facts: ReleaseFacts) -> tuple[str, ...]:
    """How draws were charged."""
    each = "Every draw is charged; the last draw of each column is the one published."
    if any(unit.is_chained for unit in facts.plan.units):
        each = (
            "The levels of a column are coupled: all that was seen of it costs its highest level, which is published."
        )
    if facts.plan.max_rows > 1:
        each += f" A charge counts {facts.plan.max_rows} rows of one privacy unit."
    return (each,)


def _units(facts: ReleaseFacts) -> Iterator[tuple[object, ...]]:
    for unit in facts.plan.units:
        outcome, charged = facts.outcome(unit.name), facts.charged(unit.name)
        target = "none" if unit.target is None else f"{unit.target.loss} at most {unit.target.ceiling}"
        met = {True: "yes", False: "no", None: ""}[outcome.met]
        noise = noise_words(unit.domain, facts.published_channel(unit.name))
        amounts = [f"epsilon {charged.epsilon.text}"] if charged.epsilon.units else []
        amounts += [f"delta {charged.delta.text}"] if charged.delta.units else []
        amounts += [f"geo {charged.geo.text} per km"] if charged.geo.units else []
        name = ", ".join(unit.columns)
        draws = len(outcome.levels)
        loss = _loss_words(facts, outcome)
        yield name, unit.mechanism, domain_words(unit.domain), noise, draws, ", ".join(amounts), target, loss, met


def _loss_words(facts: ReleaseFacts, outcome: UnitOutcome) -> str:
    if outcome.estimate is None:
        nothing = "no estimate" if wording.covers_selection(facts.plan) else "not published"
        return "" if outcome.met is None else nothing
    value, low, high = outcome.estimate
    return f"{value:.3g} ({low:.3g} to {high:.3g})"


def _chosen(facts: ReleaseFacts) -> Iterator[str]:
    """How the mechanisms came about that the release file left open."""
    for unit in facts.plan.units:
        if unit.selection is not None:
            yield f"{cell(unit.name)}: {cell(unit.selection.in_words)}."
            yield ""


def passed_through(facts: ReleaseFacts) -> Iterator[str]:
    """What became of the columns without noise, a sentence a role."""
    for role, words in (
        ("public", "Published unchanged, without noise"),
        ("drop", "Not published"),
        ("unit", "Privacy unit, not published"),
    ):
        names = [column.name for column in facts.plan.columns if column.role == role]
        if names:
            yield f"{words}: {', '.join(names)}."


def _apart(sentences: Iterator[str]) -> Iterator[str]:
    for sentence in sentences:
        yield cell(sentence)
        yield ""


def checks_lead(facts: ReleaseFacts) -> str:
    """How many checks passed."""
    results = facts.checks.results
    passed = sum(result.passed for result in results)
    return f"{passed} of {len(results)} passed. They read released data, the channel file and public probes only."


def checks_rows(facts: ReleaseFacts) -> Iterator[tuple[object, ...]]:
    """The output checks, one row each."""
    for result in facts.checks.results:
        yield result.name, result.column or "table", result.observed, result.limit, "yes" if result.passed else "NO"
