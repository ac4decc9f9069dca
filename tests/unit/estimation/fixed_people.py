from __future__ import annotations

import numpy as np
import pytest

from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream

YEARS = NumberDomain(lower="0", upper="18", step="1")
GRADES = CategoryDomain(codes=["low", "middle", "high"], ordered=True)
REGIONS = CategoryDomain(codes=["northeast", "midwest", "south", "west"])


@pytest.fixture(scope="session")
def people():
    """A fixed file of 2000 rows: years 0..18 with every tenth missing (code 19), and a grade that rises with them."""
    rows = 2000
    years = np.clip(6 + np.arange(rows) % 11 + (np.arange(rows) * 7) % 3 - 1, 0, 18)
    grades = np.clip((years - 5 + (np.arange(rows) * 5) % 4) // 5, 0, 2)
    with_gaps = np.where(np.arange(rows) % 10 == 0, 19, years)
    return {name: codes.astype(np.int32) for name, codes in (("years", years), ("grades", grades), ("gaps", with_gaps))}


@pytest.fixture(scope="session")
def channels():
    built = {}

    def build(mechanism, domain, epsilon, **parameters):
        key = (mechanism, id(domain), epsilon, tuple(sorted(parameters.items())))
        if key not in built:
            built[key] = build_channel(mechanism, domain, epsilon, **parameters)
        return built[key]

    return build


def stream(*label):
    return Keystream(bytes(32), "estimation", *label)


def counts(codes, size):
    return np.bincount(codes, minlength=size)


def joint(left, right, shape):
    return np.bincount(left.astype(np.int64) * shape[1] + right, minlength=shape[0] * shape[1]).reshape(shape)
