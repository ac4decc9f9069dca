"""Sensitivities: how far a statistic moves when one privacy unit's values are replaced, with the derivation in words.

Neighbours have the same rows per unit and differ in the values of one unit (``GUARANTEE`` 1). So a replaced row can
leave one cell and enter another: a histogram moves by 2 in L1 and by the root of 2 in L2. Where every row counts
whatever it holds, the number of rows is public, and a sum moves by the range of the values only.
"""

from __future__ import annotations

from trasgo_lib.statistics.model import Bounds, Frame, Measure, Sensitivity


def of_rows(bounds: Bounds, cells: int) -> Sensitivity:
    """Counts of rows: one number, or one a cell.

    Args:
        bounds: contributions of one unit.
        cells: how many counts.
    """
    kept = bounds.kept
    if cells == 1:
        words = f"{_rows(kept)} of a unit can start or cease to count"
        return Sensitivity(kept, kept * kept, kept, words)
    leave = f"{_rows(kept)} of a unit can leave their cells and enter others: 2 x {kept} in L1"
    squares = f"; squares of at most {bounds.squares} on either side: the root of {2 * bounds.squares} in L2"
    return Sensitivity(2 * kept, 2 * bounds.squares, min(bounds.rows, kept), leave + squares)


def of_sums(bounds: Bounds, frame: Frame, measure: Measure, cells: int, is_whole: bool) -> Sensitivity:
    """Sums of whole numbers of a row's code.

    Args:
        bounds: contributions of one unit.
        frame: the grid.
        measure: what a row adds.
        cells: how many sums.
        is_whole: whether every row counts, so that only values move.
    """
    low, high = range_of(frame, measure)
    kept, size = bounds.kept, max(abs(low), abs(high))
    if cells == 1 and is_whole:
        move = kept * (high - low)
        words = f"every row counts; {_rows(kept)} of a unit can move from {low} to {high} steps: {kept} x {high - low}"
        return Sensitivity(move, move * move, move, words)
    if cells == 1:
        move = kept * (max(high, 0) - min(low, 0))
        words = (
            f"{_rows(kept)} of a unit add {low} to {high} steps each, or nothing when they do not count: "
            f"{kept} x {max(high, 0) - min(low, 0)}"
        )
        return Sensitivity(move, move * move, move, words)
    signed = 4 if low < 0 < high else 2
    words = (
        f"{_rows(kept)} of a unit with {low} to {high} steps each can leave their cells and enter others: "
        f"2 x {kept} x {size} in L1, the root of {signed} x {bounds.squares} x {size}^2 in L2"
    )
    l1, l2 = 2 * kept * size, signed * bounds.squares * size * size
    return Sensitivity(l1, l2, min(l1, 2 * min(bounds.rows, kept) * size), words)


def of_scores(bounds: Bounds, per_row: int, why: str) -> Sensitivity:
    """Scores of candidates, of which one unit moves each by at most the same.

    Args:
        bounds: contributions of one unit.
        per_row: how far one replaced row moves any score.
        why: in words.
    """
    move = bounds.kept * per_row
    return Sensitivity(
        move, move * move, move, f"{_rows(bounds.kept)} of a unit, each {why}: {bounds.kept} x {per_row}"
    )


def of_labels(bounds: Bounds) -> Sensitivity:
    """Counts of labels of which only places are told.

    Args:
        bounds: contributions of one unit.
    """
    move = min(bounds.rows, bounds.kept)
    words = f"{_rows(move)} of a unit can enter or leave any label, one up and another down at once"
    return Sensitivity(2 * bounds.kept, 2 * bounds.squares, move, words)


def range_of(frame: Frame, measure: Measure) -> tuple[int, int]:
    """Least and largest whole number that a row adds."""
    largest = frame.largest
    if measure == "rows":
        return 1, 1
    if measure == "code":
        return 0, largest
    if measure == "value":
        return int(frame.lower / frame.unit), int(frame.upper / frame.unit)
    if measure == "centred":
        return -largest, largest
    return largest % 2, largest * largest


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
