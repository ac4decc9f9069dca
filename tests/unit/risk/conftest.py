"""Readers over arrays, for tests of the audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from trasgo_lib.risk import Readers, RiskColumn


def column(name: str, size: int, *, ordered: bool = False) -> RiskColumn:
    """A column whose codes are its values."""
    return RiskColumn(name, name, size, ordered, np.arange(size, dtype=np.int32))


def readers(table: dict[str, Sequence[int]], cuts: Sequence[int] = ()) -> Readers:
    """Readers of a table by column, in batches that end at the cuts."""
    arrays = {name: np.asarray(values, dtype=np.int32) for name, values in table.items()}

    def reader(values: Any) -> Callable[[], Any]:
        return lambda: iter(np.split(values, list(cuts)))

    return {name: reader(values) for name, values in arrays.items()}


@dataclass(frozen=True)
class Kit:
    """Builders, as a fixture because test modules cannot import each other."""

    column: Callable[..., RiskColumn] = column
    readers: Callable[..., Readers] = readers


@pytest.fixture(scope="session")
def kit() -> Kit:
    """The builders."""
    return Kit()
