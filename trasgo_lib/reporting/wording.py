"""The sentences in which a guarantee is stated, once for the statement and the reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trasgo_lib.reporting.facts import ReleaseFacts

if TYPE_CHECKING:
    from trasgo_lib.budget import Cost
    from trasgo_lib.plan import ReleasePlan

TRUST_MODEL = "central trust, row-level randomisation"
"""The office holds the raw file: whoever says that it never saw the data would be wrong."""

COMPUTATIONAL_ASSUMPTION = (
    "The guarantee is computational: it takes HKDF-SHA256 and AES-256-CTR as pseudo-random functions of a secret key."
)

_NOT_COVERED = (
    "the number of rows",
    "that the input passed its contract",
    "choices people make after reading a restricted report",
    "machine memory and swap of the computer that made the release",
    "anyone who holds the sealed key: holding the key is holding the raw file",
)


def covers_selection(plan: ReleasePlan) -> bool:
    """Whether the guarantee covers which draws were made, kept and published."""
    return plan.loss_from == "released"


def has_targets(plan: ReleasePlan) -> bool:
    """Whether any level is found by the loop; without a target each is the declared one."""
    return any(unit.target is not None for unit in plan.units)


def claim_suffix(plan: ReleasePlan) -> str:
    """What every privacy amount's field name ends with: ``_draws_only`` where the choice of draws is not covered.

    A bare ``epsilon`` would be read as the loss of everything that left; with losses measured on raw data it is not.
    """
    return "" if covers_selection(plan) else "_draws_only"


def neighbours(plan: ReleasePlan) -> str:
    """Between which two files the guarantee holds, in words."""
    whose = "one row" if plan.privacy_unit == "row" else f"all rows of one {plan.privacy_unit}"
    per_unit = "" if plan.privacy_unit == "row" else f", the same rows per {plan.privacy_unit}"
    return (
        "Two files that both pass the input contract, with the same number of rows"
        f"{per_unit} and the same public columns, that differ in the protected values of {whose}."
    )


def privacy_unit(plan: ReleasePlan) -> str:
    """Whose record is protected, in words."""
    if plan.privacy_unit == "row":
        return "One row of the file. Where one person has several rows, the losses of that person's rows add up."
    rows = "1 row" if plan.max_rows == 1 else f"{plan.max_rows} rows"
    return (
        f"Everyone or everything with one value of {plan.privacy_unit}, with at most {rows} in the file."
        f" Every loss is charged {plan.max_rows} times."
    )


def row_order(plan: ReleasePlan) -> str:
    """What the order of the published rows may tell, in words."""
    if plan.row_order == "shuffle":
        return "Rows were put into a uniform random order under the key before any draw, so their order says nothing."
    return (
        "Rows stand in the order of the source. The publisher asserts that this order is public and independent of"
        " protected values; the guarantee does not cover what it tells."
    )


def selection(plan: ReleasePlan) -> str:
    """Whether decisions that depended on data are covered, in words."""
    if covers_selection(plan):
        return (
            "Every decision of the run, stopping and publishing among them, read released data and public settings"
            " only, so it costs nothing and is covered."
        )
    if not has_targets(plan):
        return (
            "No column has a target, so every level of noise is the declared one and no result chose it. Losses were"
            " computed on the raw data before publication, and nothing was decided by their size; the guarantee covers"
            " the random draws only, and not that these losses could be computed."
        )
    return (
        "The levels of noise, when to stop and whether to publish were chosen by looking at losses computed on the raw"
        " data, and so was which targets are said to be met. The guarantee covers the random draws only; what these"
        " choices tell about the raw data is not covered by any number in this statement."
    )


def account_words(plan: ReleasePlan) -> str:
    """What the account's cap covers, in words."""
    return (
        f"What the account {plan.account} has spent so far on the same people: this version, earlier ones, and held or"
        " superseded ones. Its cap covers this account only; releases about the same people under another account add"
        " to it." + partition_words(plan)
    )


def partition_words(plan: ReleasePlan) -> str:
    """What it means that a version is about one declared part of the account's units; empty when it is about all."""
    declared = plan.config.privacy.partition
    if declared is None:
        return ""
    count = declared.parts_per_unit
    several = "one part only" if count == 1 else f"at most {count} parts"
    deducts = "that of its costliest part" if count == 1 else f"the sum of its {count} costliest parts"
    return (
        f" This version is about part {declared.part} of the partition {declared.of} that the account declared when it"
        f" was opened. It is asserted, and was not looked up in data, that each unit has rows in {several}; in which is"
        f" public and is not protected. Charges of different parts compose in parallel: of all parts the account"
        f" deducts {deducts}. Someone with rows in more parts than that has lost the sum over all of them."
    )


def geo_words() -> str:
    """What a geo amount means, in words."""
    return (
        "Replacing a record and moving its point by r kilometres costs epsilon + geo * r. Free moves are not covered."
        " Distance is between the centres of cells of the declared lattice or cell list, as published. For two raw"
        " points within a box, d metres apart on the ground, r is at most scale_bound * (d + 1.4143 * step_m) metres,"
        " with scale_bound and step_m as in channel.json."
    )


def not_covered(plan: ReleasePlan) -> tuple[str, ...]:
    """What the guarantee does not cover, one entry each."""
    public = [column.name for column in plan.columns if column.role == "public"]
    entries = list(_NOT_COVERED)
    entries.insert(1, "public columns, published unchanged: " + (", ".join(public) if public else "none"))
    if not covers_selection(plan):
        chosen = "the choice of noise levels, the decision to publish and what is said to be met"
        looked = f"{chosen}, which looked at raw losses"
        computed = "that losses could be computed on the raw data, which was done before publication"
        entries.insert(0, looked if has_targets(plan) else computed)
    if plan.row_order == "source":
        entries.append("the order of the rows, which is that of the source")
    return tuple(entries)


REHEARSAL = "This is a rehearsal on made-up rows, not a release: no person is in it, and nothing is promised."
"""Stands before everything that a rehearsal says of itself."""


def in_plain_words(facts: ReleaseFacts) -> str:
    """One paragraph that says what the numbers mean and what they leave out."""
    plan, cap, spent = facts.plan, facts.guarantee, facts.realised
    whose = "row" if plan.privacy_unit == "row" else plan.privacy_unit
    head = (
        f"Each noised value was replaced at random under a published law. The draws behind this release can change the"
        f" odds between any two possible records of one {whose} by a factor of at most e^{spent.epsilon.text}"
    )
    delta = f", except with probability {spent.delta.text}{_delta_flag(facts)}" if spent.delta.units else ""
    geo = f", and of e^{spent.geo.text} more for every kilometre that a point is moved" if spent.geo.units else ""
    cap_words = f". Before the data was opened, the run was bound to at most {_cap_words(cap)} in all. "
    lead = f"{REHEARSAL} Of a release it would be said: " if plan.is_rehearsal else ""
    return lead + head + delta + geo + cap_words + selection(plan) + " " + _trust_words()


def _cap_words(cap: Cost) -> str:
    words = f"epsilon {cap.epsilon.text}"
    words += f", delta {cap.delta.text}" if cap.delta.units else ""
    return words + (f", geo epsilon {cap.geo.text} per km" if cap.geo.units else "")


def _delta_flag(facts: ReleaseFacts) -> str:
    """Words for a delta of 1/rows or more, under which some row may be expected to be published as it is."""
    rows = int(facts.realised.delta.fraction * facts.rows)
    if not rows:
        return ""
    such = "1 such row" if rows == 1 else f"{rows} such rows"
    return f" (not below one in the number of rows: among {facts.rows} rows, up to {such} may be expected)"


def _trust_words() -> str:
    return (
        f"The publisher holds the raw file, so this is {TRUST_MODEL}: the noise protects against everyone who sees"
        " only what was published."
    )
