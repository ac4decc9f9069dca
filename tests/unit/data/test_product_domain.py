"""Groups of columns as one domain, and the equal bins inside them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from trasgo_lib.data import (
    CategoryDomain,
    CellsDomain,
    EqualBins,
    NumberDomain,
    ProductDomain,
    ProductPart,
    domain_from_description,
)
from trasgo_lib.errors import ConfigError, InputContractError, Reason

SEX = CategoryDomain(["f", "m"])
HOURS = NumberDomain("1", "99", "1")
REGION = CategoryDomain(["n", "m", "s", "w"])
GROUP = ProductDomain([("sex", SEX, None), ProductPart("hours", HOURS, 4, True), ("region", REGION, None)])


@pytest.mark.parametrize(("size", "count"), [(10, 3), (99, 4), (7, 7), (2, 2), (1000, 13)])
def test_bins_are_equal_and_hold_their_representative(size: int, count: int) -> None:
    bins = EqualBins(size, count)
    lengths = np.bincount(bins.of_codes)
    assert len(lengths) == count
    assert lengths.max() - lengths.min() <= 1
    assert (np.diff(bins.of_codes) >= 0).all()
    for place in range(count):
        codes = np.flatnonzero(bins.of_codes == place)
        assert bins.representatives[place] == (codes[0] + codes[-1]) // 2


@pytest.mark.parametrize("count", [1, 11, 0, None, 2.0, True])
def test_bad_bins_are_refused(count: object) -> None:
    with pytest.raises(ConfigError):
        EqualBins(10, count)  # type: ignore[arg-type]


def test_codes_go_in_and_come_back_as_representatives() -> None:
    assert GROUP.kind == "product"
    assert GROUP.size == 2 * 5 * 4
    rows = 2000
    sex, region = np.arange(rows) % 2, np.arange(rows) % 4
    hours = np.arange(rows) % 100  # 99 is the missing code
    codes = GROUP.encode(sex.astype(np.int32), hours.astype(np.int32), region.astype(np.int32))
    assert codes.dtype == np.int32
    assert set(codes.tolist()) <= set(range(GROUP.size))
    back = GROUP.decode(codes)
    of_codes, representatives = GROUP.tables("hours")
    assert np.array_equal(back[0], sex)
    assert np.array_equal(back[1], representatives[of_codes[hours]])
    assert np.array_equal(back[2], region)
    assert (back[1] == 99).sum() == (hours == 99).sum()
    assert np.array_equal(GROUP.encode(*GROUP.decode(np.arange(40, dtype=np.int32))), np.arange(40))


def test_a_group_is_rebuilt_from_its_description() -> None:
    stored = json.loads(json.dumps(GROUP.describe(), allow_nan=False))
    assert domain_from_description(stored) == GROUP
    for parts in ("x", [1], [{"name": "a"}]):
        with pytest.raises(ConfigError):
            domain_from_description({**stored, "parts": parts})
    with pytest.raises(ConfigError):
        domain_from_description({**stored, "size": 41})


def test_groups_that_cannot_be_are_refused() -> None:
    cells = CellsDomain(["8a2664c1a81ffff", "8a2664c1a88ffff"])
    wide = NumberDomain("0", "299", "1")
    for parts in (
        [],
        [("a", SEX, None)],
        [("a", SEX, None), ("a", REGION, None)],
        [("a", SEX, None), ("b", cells, None)],
        [("a", wide, None), ("b", wide, None)],
        [("a", SEX, None), ("b", HOURS, 100)],
    ):
        with pytest.raises(ConfigError):
            ProductDomain(parts)
    with pytest.raises(ConfigError) as caught:
        GROUP.part("age")
    assert "sex, hours, region" in str(caught.value)


def test_columns_that_do_not_fit_are_refused_with_counts() -> None:
    good = np.zeros(3, dtype=np.int32)
    with pytest.raises(InputContractError) as caught:
        GROUP.encode(good, np.array([0, 100, 101], dtype=np.int32), good)
    assert caught.value.reason is Reason.OUT_OF_DOMAIN
    assert caught.value.faults[0].rows == 2
    for columns in ((good, good), (good, good, good[:2])):
        with pytest.raises(InputContractError) as mismatch:
            GROUP.encode(*columns)
        assert mismatch.value.reason is Reason.ROW_MISMATCH
    with pytest.raises(InputContractError):
        GROUP.decode(np.array([40], dtype=np.int32))
