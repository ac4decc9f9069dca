"""What the two drafts for the controller share: fields left open, and what the plan knows of the processing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trasgo_lib.amounts import Epsilon
from trasgo_lib.reporting import wording

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan, UnitPlan

TO_FILL = "To be filled in by the controller."

_ROLES = {
    "noised": "published as random replacements",
    "public": "published as they are",
    "drop": "read, not published",
    "unit": "read to count rows of one unit, not published",
}


def controller(plan: ReleasePlan) -> str:
    """Name of the controller, as far as the release file names a publisher."""
    publisher = plan.config.release.publisher
    return TO_FILL if publisher is None else f"{publisher.name} (publisher of the release). {TO_FILL}"


def contact(plan: ReleasePlan) -> str:
    """Contact details, as far as the release file gives them."""
    declared = plan.config.release.contact
    if declared is None:
        return TO_FILL
    ways = ", ".join(part for part in (declared.name, declared.email, declared.url) if part)
    return f"{ways} (contact of the release). {TO_FILL}"


def rehearsal_words(plan: ReleasePlan) -> list[str]:
    """What stands first where no person is in the rows; else nothing."""
    return [f"**{wording.REHEARSAL}**", ""] if plan.is_rehearsal else []


def safeguards(plan: ReleasePlan) -> str:
    """Safeguards for processing for statistical purposes (article 89, paragraph 1), as far as the plan shows them."""
    unpublished = [column.name for column in plan.columns if column.role in ("drop", "unit")]
    how_many = (
        "One column of the source is" if len(unpublished) == 1 else f"{len(unpublished)} columns of the source are"
    )
    kept_back = f" {how_many} not published." if unpublished else ""
    return (
        f"Data minimisation: every noised value is replaced at random before anything is published.{kept_back}"
        " Whether the purpose could be reached with less, as with tables: " + TO_FILL.lower()
    )


def columns(plan: ReleasePlan) -> Iterator[tuple[str, str, str]]:
    """Every column of the source: name, label, what becomes of it."""
    for column in plan.columns:
        declared = next(entry for entry in plan.config.columns if entry.name == column.name)
        yield column.name, declared.label, _ROLES[column.role]


def amounts(plan: ReleasePlan) -> str:
    """The cap of the version, in words; where it covers the draws only, they say so."""
    words = "" if wording.covers_selection(plan) else "of the random draws only, "
    words += f"epsilon at most {plan.epsilon_total.text}"
    words += f", delta at most {plan.delta_total.text}" if plan.delta_total.units else ""
    return words + (f", geo epsilon at most {plan.geo_total.text} per km" if plan.geo_total.units else "")


def strength(plan: ReleasePlan) -> str:
    """What the cap means for one record, in words."""
    # late, so that what only reads a package does not load the compiler of plans
    from trasgo_lib.plan.words import even_guess, odds_factor

    covers = wording.covers_selection(plan)
    draws, not_in_it = ("", "") if covers else (" by the random draws", f" {wording.selection(plan)}")
    delta = f", except with probability {plan.delta_total.text}" if plan.delta_total.units else ""
    words = (
        f"All published columns of one privacy unit together: {amounts(plan)}. An attacker's odds on any two records"
        f" change{draws} by a factor of at most {odds_factor(plan.epsilon_total)}{delta}; an even guess becomes"
        f" at most {even_guess(plan.epsilon_total)}.{not_in_it}"
    )
    if not plan.geo_total.units:
        return words
    factor = odds_factor(Epsilon(plan.geo_total.units))
    return (
        f"{words} That holds for records at one place; each kilometre between two places is a factor of {factor} more."
    )


def most_of(plan: ReleasePlan, unit: UnitPlan) -> Epsilon:
    """The most that all draws of a noise unit can cost one privacy unit, never above the total.

    Args:
        plan: the compiled plan.
        unit: one of its noise units.
    """
    rungs = unit.rungs if unit.target is not None else unit.rungs[:1]
    # all that is seen of a chain costs its highest level; fresh draws add up
    levels = rungs[-1].units if unit.is_chained else sum(rung.units for rung in rungs)
    return Epsilon(min(levels * plan.max_rows, plan.epsilon_total.units))


def measures(plan: ReleasePlan) -> Iterator[str]:
    """Technical and organisational measures that the plan and the software bring along, one entry each."""
    publish, privacy = plan.config.publish, plan.config.privacy
    yield f"Random replacement of every noised value before publication, with a certified bound: {amounts(plan)}."
    yield (
        f"Every draw is charged to the account {plan.account} before it is made, in a chained ledger whose cap the"
        " database enforces; nothing is refunded."
    )
    if privacy.row_order == "shuffle":
        yield "Rows are put into a uniform random order under the key before any draw."
    else:
        yield "Rows keep the order of the source; that this order is public has to be asserted by the controller."
    yield "Noise comes from a random root per version, stored encrypted (AES-256-GCM); it can be destroyed on its own."
    yield "What is computed from the source goes to the restricted root only; logs and public files hold no cell of it."
    yield "Published files are written once, listed with their digests, and can be verified by anyone offline."
    yield (
        "Who did what, when and why is an append-only, chained record; with the sealed key the published rows can be"
        " drawn again from the source and compared (`trasgo audit`)."
    )
    if publish.approvals:
        yield f"Publication needs {publish.approvals} approval(s) by people who did not run the release."
    else:
        yield "Publication needs no approval by a second person (`publish.approvals` is 0)."
    if publish.embargo is not None:
        yield f"Nothing is published before {publish.embargo}."
    yield "Access to the restricted root, to the key and to backups: " + TO_FILL.lower()
