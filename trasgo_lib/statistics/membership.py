"""What public membership asserts, held against the source: no unit has rows in more parts than losses are counted for.

Membership is public there and kept by neighbours, so a run that ends because of it tells of no protected value.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import CategoryDomain
from trasgo_lib.errors import Fault, InputContractError, Reason
from trasgo_lib.statistics.columns import MISSING
from trasgo_lib.statistics.counting import PrivateRows
from trasgo_lib.statistics.model import Membership, StatisticsPlan


def asserts_membership(plan: StatisticsPlan) -> bool:
    """Whether units could lie in more parts than the file declares, so that their rows have to be told apart."""
    return any(_asserted(plan))


def require_membership(plan: StatisticsPlan, source: PrivateRows) -> None:
    """Refuse a source in which a unit has rows in more parts than were declared: its loss would be counted too small.

    Args:
        plan: the compiled plan.
        source: private; its units are read only where some membership is asserted.

    Raises:
        InputContractError: one fault a partition, with the number of rows of such units.
    """
    found = []
    for one in _asserted(plan):
        rows = _rows_in_too_many(one, _part_of_code(plan, one), source)
        if rows:
            parts = "1 part" if one.parts_per_unit == 1 else f"{one.parts_per_unit} parts"
            found.append(
                Fault(
                    Reason.TOO_MANY_ROWS_PER_UNIT,
                    one.column,
                    f"rows of one unit in at most {parts} of {one.name}, as was declared",
                    "units with rows in more",
                    "Raise parts_per_unit (so many parts are charged), or correct the data.",
                    rows,
                )
            )
    if found:
        raise InputContractError(*found)


def _asserted(plan: StatisticsPlan) -> Iterator[Membership]:
    for charge in plan.charges:
        one = charge.membership
        if one is not None and one.parts_per_unit < min(plan.base.max_rows, len(one.parts)):
            yield one


def _part_of_code(plan: StatisticsPlan, one: Membership) -> NDArray[np.int64]:
    """The part of each code of the column, -1 for codes of none: int64[codes]."""
    unit = next(unit for unit in plan.base.units if unit.name == one.column)
    if not isinstance(unit.domain, CategoryDomain):
        raise ValueError("partitions are of categories")
    labels = [*unit.domain.codes, *([MISSING] if unit.missing == "code" else [])]
    places = {code: place for place, codes in enumerate(one.parts) for code in codes}
    return np.array([places.get(label, -1) for label in labels], dtype=np.int64)


def _rows_in_too_many(one: Membership, part_of_code: NDArray[np.int64], source: PrivateRows) -> int:
    parts = np.concatenate([part_of_code[codes[one.column]] for codes in source.batches([one.column])])
    units = np.concatenate(list(source.units()))[parts >= 0]
    parts = parts[parts >= 0]
    pairs = np.unique(np.stack([units, parts], axis=1), axis=0)[:, 0]
    names, times = np.unique(pairs, return_counts=True)
    return int(np.isin(units, names[times > one.parts_per_unit]).sum())
