"""Numbers written as text, with declared decimal and thousands marks."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_EXPONENT = r"(?:[eE][+-]?\d+)?"
_NOT_FINITE = r"(?i:inf|infinity|nan)"


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How numbers are written; public.

    Args:
        decimal: decimal mark, one character.
        thousands: thousands mark, one character, or None. Groups must be well formed: ``1.234`` is a number under the
            thousands mark ``.``, ``1.23`` is not, since it may as well be a decimal of another country.
    """

    decimal: str = "."
    thousands: str | None = None

    @property
    def pattern(self) -> str:
        """The anchored regular expression (RE2) that a whole cell must match."""
        point = re.escape(self.decimal)
        whole = r"\d+"
        if self.thousands is not None:
            whole = rf"(?:\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+|\d+)"
        return rf"^[+-]?(?:(?:{whole}(?:{point}\d*)?|{point}\d+){_EXPONENT}|{_NOT_FINITE})$"

    def parse(self, text: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Read numbers.

        Args:
            text: cells, string[rows]; null cells are not read; private.

        Returns:
            float64[rows], correctly rounded (0 where there is no number), and bool[rows], which cells are no numbers.
            Infinities and NaN are read as such; refusing them is the caller's.
        """
        fits = pc.match_substring_regex(text, self.pattern)
        wrong = pc.fill_null(pc.invert(fits), False).to_numpy(zero_copy_only=False)
        digits = pc.if_else(fits, text, pa.scalar(None, pa.string()))
        if self.thousands is not None:
            digits = pc.replace_substring(digits, self.thousands, "")
        if self.decimal != ".":
            digits = pc.replace_substring(digits, self.decimal, ".")
        return digits.cast(pa.float64()).fill_null(0.0).to_numpy(), wrong
