"""Rows of clamped shift families as whole numbers."""

from __future__ import annotations

from collections.abc import Sequence


def clamped_row(shifts: Sequence[int], code: int) -> list[int]:
    """One row of a clamped shift family.

    Args:
        shifts: weights of the shifts ``-N..N``.
        code: the input.
    """
    reach = len(shifts) // 2
    row = list(shifts[reach - code : 2 * reach + 1 - code])
    row[0], row[-1] = sum(shifts[: reach - code + 1]), sum(shifts[2 * reach - code :])
    return row
