"""Codes that mean "no value": applied before bounds, domains and everything else that looks at values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.data.numbers import NumberFormat


@dataclass(frozen=True, slots=True)
class MissingCodes:
    """Declared codes of a missing value, as text and as the numbers they stand for; public.

    Args:
        texts: codes without blanks around them.
        numbers: values of those codes that are numbers, so that 9999 also means 9999.0; NaN may be one of them.
    """

    texts: tuple[str, ...]
    numbers: tuple[float, ...]

    @classmethod
    def of(cls, codes: Iterable[str], form: NumberFormat) -> Self:
        """Codes as declared; numbers may be written with the declared marks or with a point."""
        texts = tuple(dict.fromkeys(code.strip() for code in codes))
        column = pa.array(texts, pa.string())
        declared, not_declared = form.parse(column)
        plain, not_plain = NumberFormat().parse(column)
        # Only where the declared marks make no sense of a code: 9.999 is 9999 where the thousands mark is a point.
        values = np.where(not_declared, plain, declared)[~(not_declared & not_plain)]
        return cls(texts, tuple(values.tolist()))

    def among_text(self, trimmed: pa.Array) -> NDArray[np.bool_]:
        """bool[rows]: which cells, private text without blanks around it, are missing codes; null cells are not."""
        if not self.texts:
            return np.zeros(len(trimmed), dtype=np.bool_)
        found: NDArray[np.bool_] = pc.is_in(
            trimmed, value_set=pa.array(self.texts, trimmed.type), skip_nulls=True
        ).to_numpy(zero_copy_only=False)
        return found

    def among_numbers(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """bool[rows]: which private numbers are missing codes."""
        found: NDArray[np.bool_] = np.zeros(len(values), dtype=np.bool_)
        for number in self.numbers:
            found |= np.isnan(values) if np.isnan(number) else values == number
        return found
