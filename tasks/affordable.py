"""Whether an account is the one a version needs, and can pay for its first draws; looked at before data is opened."""

from __future__ import annotations

from trasgo_lib.amounts import Epsilon
from trasgo_lib.errors import BudgetError, ConflictError, Reason
from trasgo_lib.loop import first_step
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.records import Account, Records
from trasgo_lib.statistics import StatisticsPlan
from trasgo_lib.training import TrainingPlan

_NOTHING = Epsilon(0)
"""What was looked at before a first round."""


def part_of(plan: ReleasePlan) -> tuple[str, str] | None:
    """The declared partition and part that a version's data are of; None when they are of all units."""
    declared = plan.config.privacy.partition
    return None if declared is None else (declared.of, declared.part)


def require_same_terms(account: Account, plan: ReleasePlan) -> None:
    """Stop when an account was opened for another unit, or without the part that the file names.

    Raises:
        ConflictError: so it is.
    """
    bound, asked = (account.terms.unit, account.terms.max_rows), (plan.privacy_unit, plan.max_rows)
    if bound != asked:
        raise ConflictError.of(
            Reason.ACCOUNT_MISMATCH,
            f"account {plan.account}",
            required=f"unit {bound[0]} with at most {bound[1]} rows, as it was opened",
            came=f"unit {asked[0]} with at most {asked[1]} rows",
            fix="Correct privacy.unit, or open an account for this unit.",
        )
    part = plan.config.privacy.partition
    if part is None:
        return
    declared = account.terms.partition(part.of)
    if declared is None or part.part not in declared.parts or part.parts_per_unit != declared.parts_per_unit:
        known = "; ".join(
            f"{one.name} (parts_per_unit {one.parts_per_unit}): {', '.join(one.parts)}"
            for one in account.terms.partitions
        )
        raise ConflictError.of(
            Reason.ACCOUNT_MISMATCH,
            f"account {plan.account}",
            required=f"a part that it declared when it was opened: {known or 'none was declared'}",
            came=f"{part.of}: {part.part}, parts_per_unit {part.parts_per_unit}",
            fix="Correct privacy.partition, or take it out: the version is then charged in full.",
        )


def require_first_round(
    records: Records, account: Account, plan: ReleasePlan, declared: StatisticsPlan | TrainingPlan | None
) -> None:
    """Stop when an account cannot pay for the first draws of a version, or does not take them.

    Args:
        records: the ledger.
        account: as it stands.
        plan: of the version.
        declared: its queries or its model; None for a release, which begins with its first levels.

    Raises:
        BudgetError: so it is.
    """
    if isinstance(declared, StatisticsPlan):
        events = [charge.event for charge in declared.charges]
    elif declared is not None:
        events = [event for _, event in declared.charges]
    else:
        events = [plan.unit(name).event(level, _NOTHING) for name, level in first_step(plan).levels]
    needed = records.quote(plan.account, events, part_of(plan))
    if not (account.spent + needed).fits(account.terms.cap):
        raise BudgetError.of(
            Reason.OVER_CAP,
            f"account {plan.account}",
            required=f"enough left for the first draws: {account.terms.in_words(needed)}",
            came=account.terms.in_words(account.left),
            fix="Lower the first levels, or agree on a new account with those who protect this population.",
        )
