"""Made-up values of tests, from the library's own keystream under a fixed key: the same on every machine."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv, ndtri

from trasgo_lib.noise import Keystream

ROOT = bytes(range(32))


def uniform(count: int, *label: str | int) -> np.ndarray:
    """Uniform on (0, 1): float64[count], by the upper 53 bits of a word and half a step."""
    words = Keystream(ROOT, "made up for tests", *label).words(0, count)
    return (np.asarray(words >> np.uint64(11), dtype=np.float64) + 0.5) * 2.0**-53


def normal(count: int, *label: str | int) -> np.ndarray:
    """Standard normal: float64[count], by inversion."""
    return np.asarray(ndtri(uniform(count, *label)))


def dirichlet(slots: int, *label: str | int, concentration: float = 1.0) -> np.ndarray:
    """Shares of a symmetric Dirichlet law: float64[slots], from gamma values by inversion."""
    found = gammaincinv(concentration, uniform(slots, *label))
    return np.asarray(found / found.sum())


def places(shares: np.ndarray, devices: int, *label: str | int) -> np.ndarray:
    """Slots of devices by their shares: int32[devices]."""
    found = np.searchsorted(np.cumsum(shares), uniform(devices, *label), side="right")
    return np.minimum(found, len(shares) - 1).astype(np.int32)
