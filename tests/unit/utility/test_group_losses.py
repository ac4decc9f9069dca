"""Losses of the columns of a group: exact ones by column, estimated ones through the margins."""

from __future__ import annotations

import numpy as np
import pytest

from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain, ProductPart
from trasgo_lib.errors import InputContractError
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import LossColumn, estimate_losses, measure

DOMAIN = ProductDomain(
    [ProductPart("sex", CategoryDomain(["f", "m"])), ProductPart("age", NumberDomain("0", "9"), 5, True)]
)
PLACES = DOMAIN.decode(np.arange(DOMAIN.size, dtype=np.int32))
COLUMNS = [
    LossColumn("sex", "who", "label", 2, places=PLACES[0], group=DOMAIN),
    LossColumn("age", "who", "number", 10, 5, places=PLACES[1], group=DOMAIN),
]
ROWS = 20_000


def _people() -> np.ndarray:
    row = np.arange(ROWS)
    sex, age = (row % 3 == 0).astype(np.int32), (row * 7 // 3 % 10).astype(np.int32)
    return DOMAIN.encode(sex, np.where(row % 11 == 0, 10, np.minimum(age, 3 + 6 * sex)).astype(np.int32))


def test_exact_losses_are_those_of_separate_columns() -> None:
    people = _people()
    channel = build_channel("kary_randomized_response", DOMAIN, "2")
    released = channel.sample(people, Keystream(bytes(32), "group"))
    found = measure({"who": lambda: [people]}, {"who": lambda: [released]}, COLUMNS, rows=ROWS).losses
    apart = [LossColumn(c.name, c.name, c.kind, c.size, c.bins) for c in COLUMNS]
    ours, theirs = DOMAIN.decode(people), DOMAIN.decode(released)
    wanted = measure(
        {"sex": lambda: [ours[0]], "age": lambda: [ours[1]]},
        {"sex": lambda: [theirs[0]], "age": lambda: [theirs[1]]},
        apart,
        rows=ROWS,
    ).losses
    assert [(c.tvd, c.js, c.kl) for c in found.columns] == [(c.tvd, c.js, c.kl) for c in wanted.columns]
    assert found.correlation_loss == wanted.correlation_loss and found.correlation_loss is not None
    assert found.of_unit("who", "tvd").value == max(c.tvd or 0.0 for c in wanted.columns)


@pytest.mark.parametrize("key", range(3))
def test_estimated_divergences_cover_the_exact_ones(key: int) -> None:
    people = _people()
    channel = build_channel("kary_randomized_response", DOMAIN, "3")
    released = channel.sample(people, Keystream(bytes([key]) * 32, "group"))
    exact = measure({"who": lambda: [people]}, {"who": lambda: [released]}, COLUMNS, rows=ROWS).losses
    found = estimate_losses(
        {"who": lambda: [released]},
        COLUMNS,
        {"who": channel},
        method="pearson",
        rows=ROWS,
        stream=Keystream(bytes(32), "public"),
    )
    assert [(column.name, column.unit) for column in found.columns] == [("sex", "who"), ("age", "who")]
    for column in found.columns:
        tvd, truth = column.tvd, exact.column(column.name).tvd
        assert tvd.low is not None and tvd.high is not None and truth is not None
        # three keys, two columns, 95 % intervals widened by half: a miss is a fault
        slack = 0.5 * (tvd.high - tvd.low)
        assert tvd.low - slack <= truth <= tvd.high + slack
        assert column.correlation_loss.value is None and "group" in (column.correlation_loss.reason or "")
    assert found.of_unit("who", "correlation_loss").high is None


def test_codes_that_no_group_has_are_refused() -> None:
    with pytest.raises(InputContractError):
        COLUMNS[0].own_codes(np.array([DOMAIN.size], dtype=np.int32))
