"""What the pages of answers and of models say alike: what is promised to whom, and how strong that is."""

from __future__ import annotations

from trasgo_lib.plan.words import even_guess, odds_factor, strength
from trasgo_lib.reporting import answers_words as words
from trasgo_lib.reporting.answers_words import Document
from trasgo_lib.reporting.figures import bound_text, percent_text
from trasgo_lib.reporting.markup import Section, bullets, paragraph, table
from trasgo_lib.reporting.strength import BELIEFS, belief_after


def promise_section(statement: Document, spent_by: str, drawn: str) -> Section:
    """The guarantee, its amounts, and what it does not cover.

    Args:
        statement: the content of ``statement.json``.
        spent_by: what the version's loss was spent on.
        drawn: how often noise was drawn, and who can draw it again.
    """
    cap = {"epsilon": statement["epsilon_guarantee"], "delta": statement["delta_guarantee"]}
    amounts = (
        ("cap of this version", cap),
        (f"spent by {spent_by}", statement["spent"]),
        ("account to date", statement["account_to_date"]),
    )
    rows = [(name, amount["epsilon"], amount["delta"]) for name, amount in amounts]
    body = (
        paragraph(statement["guarantee"]),
        table("amounts", "Privacy loss of one privacy unit", ("amount", "epsilon", "delta"), rows),
        paragraph(
            "Protected:",
            f"{words.unit_words(statement)}.",
            "Compared are files with the",
            f"{statement['neighbours']}.",
            f"Charges add up by these rules: {statement['composition']}.",
        ),
        paragraph(drawn),
        "<h3>Not covered</h3>",
        bullets(statement["not_covered"]),
    )
    return Section("promised", "What is promised, and to whom", body)


def strength_section(statement: Document, seen: str) -> Section:
    """What the loss of a version lets someone believe.

    Args:
        statement: the content of ``statement.json``.
        seen: what that someone sees: ``all answers together``, ``the model``.
    """
    spent = words.epsilon_of(statement["spent"])
    lead = (
        f"Someone who compares any two records that {words.unit_words(statement).partition(',')[0]} might have"
        f"{words.kept_words(statement)} can have their odds changed by a factor of at most e^{spent.text} ="
        f" {odds_factor(spent)} by {seen},"
        f" whatever else they know. By custom the protection is called {strength(spent)}. An even guess becomes at"
        f" most {even_guess(spent)}; these are bounds for the worst pair of records."
    )
    if statement["spent"]["delta"] != "0":
        lead += " With the probability delta, stated above, these bounds may not hold."
    rows = [(percent_text(float(before)), bound_text(belief_after(float(before), spent))) for before in BELIEFS]
    head = ("believed before", "believed after, at most")
    caption = "What a belief in one of two records can become"
    return Section("strength", "How strong this is", (paragraph(lead), table("beliefs", caption, head, rows)))
