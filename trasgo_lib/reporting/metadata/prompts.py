"""What NIST SP 800-226 asks of a claim of differential privacy, answered from the plan and the run."""

from __future__ import annotations

from collections.abc import Iterator

from trasgo_lib.reporting import wording
from trasgo_lib.reporting.metadata.description import CHANNEL, Description


def prompts(description: Description) -> Iterator[tuple[str, str]]:
    """Each question with its answer.

    Args:
        description: the release.
    """
    facts = description.facts
    plan = facts.plan
    yield "What is the unit of privacy?", wording.privacy_unit(plan)
    yield (
        "Which data sets are neighbours: add or remove, or change one?",
        f"Change one; the number of rows is public. {wording.neighbours(plan)}",
    )
    yield "How large is delta against one over the number of rows?", _delta(description)
    yield (
        "Do bounds, code lists or parameters depend on the data?",
        f"{_dependence(description)}: domains are declared before any row is read, and a value outside them is moved to"
        f" the nearest declared one or stops the run. {wording.selection(plan)}",
    )
    yield (
        "Can floating-point numbers or timing leak?",
        "No noise is computed in floating point: each mechanism is a table of integers that sum to a power of two,"
        " drawn by an alias table over words of AES-256 in counter mode, and certified from the same integers. Files"
        " are written once, after the draw; nobody outside can measure the time of a draw.",
    )
    yield (
        "Where do the raw data lie, and who can reach them?",
        f"With the publisher: {wording.TRUST_MODEL}. How raw rows were collected and stored is no part of this claim.",
    )
    yield (
        "Who can spend the budget, and is it shared?",
        f"{wording.account_words(plan)} {_four_eyes(description)}",
    )
    yield (
        "Do several releases add up?",
        f"Yes, {plan.composition} within this version, and the sum of versions within the account. A new version is"
        " drawn afresh and charged again.",
    )
    yield (
        "Is noise kept or drawn anew when the same rows are released again?",
        "It is drawn once a version, from a sealed key: a rerun gives the same rows and costs nothing. A new version is"
        " drawn afresh, so what two versions tell adds up.",
    )
    yield (
        "Are weights, strata and sampling units protected?",
        f"Columns published unchanged are not: {_public(description)}. Estimates of the library take the rows as a"
        " simple random sample of their population; where they are not, their intervals do not hold.",
    )
    yield "What is not protected?", "; ".join(wording.not_covered(plan)) + "."
    yield (
        "How can the claim be checked?",
        f"trasgo verify rebuilds every channel of {CHANNEL} offline, certifies it again and adds the amounts up; who"
        " holds the sealed key and the source can draw the rows again with trasgo audit.",
    )


def _dependence(description: Description) -> str:
    plan = description.facts.plan
    if wording.covers_selection(plan) or not wording.has_targets(plan):
        return "No"
    return "Parameters do, since losses were measured on raw data; bounds and code lists do not"


def _public(description: Description) -> str:
    names = [column.name for column in description.facts.plan.columns if column.role == "public"]
    return ", ".join(names) if names else "there are none"


def _delta(description: Description) -> str:
    facts = description.facts
    delta = facts.guarantee.delta
    if not delta.units:
        return "Delta is 0."
    side = "below" if delta.fraction * facts.rows < 1 else "NOT below"
    return f"Delta is at most {delta.text}, which is {side} one over the number of rows ({facts.rows})."


def _four_eyes(description: Description) -> str:
    needed = description.facts.plan.config.publish.approvals
    if not needed:
        return "The release file asked for no approval by a second person."
    who = "one person" if needed == 1 else f"{needed} people"
    return f"The release file asked for the approval of {who} who did not run it."
