"""Declared labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from trasgo_lib.data import CategoryDomain, domain_from_description
from trasgo_lib.errors import ConfigError, InputContractError, Reason

REGIONS = CategoryDomain(["northeast", "midwest", "south", "west"])


@pytest.mark.parametrize(
    "values",
    [
        ["west", "northeast", "west"],
        np.array(["west", "northeast", "west"]),
        pd.Series(["west", "northeast", "west"]),
        pa.array(["west", "northeast", "west"], pa.large_string()),
        pa.chunked_array([["west"], ["northeast", "west"]]),
        pa.array(["west", "northeast", "west"]).dictionary_encode(),
        pa.array(["west", "northeast", "west"]).cast(pa.string_view()),
    ],
)
def test_every_kind_of_text_array_encodes_alike(values: object) -> None:
    codes = REGIONS.encode(values)
    assert codes.dtype == np.int32
    assert codes.tolist() == [3, 0, 3]
    assert REGIONS.decode(codes).to_pylist() == ["west", "northeast", "west"]


def test_fixed_width_texts_match_whole_labels_only() -> None:
    domain = CategoryDomain(["much wider than the array", "a", "ab\0", "ab", "é"])
    texts = np.array(["ab", "é", "a"])
    assert domain.encode(texts).tolist() == [3, 4, 1]
    assert domain.encode(texts[::-2]).tolist() == [1, 3]
    assert domain.encode(texts.astype(">U2")).tolist() == [3, 4, 1]
    assert domain.encode(np.array([], dtype="U2")).tolist() == []
    for wrong in ("", "ab ", "A"):
        with pytest.raises(InputContractError) as caught:
            domain.encode(np.array(["ab", wrong]))
        assert caught.value.faults[0].rows == 1
    with pytest.raises(InputContractError):
        CategoryDomain(["abc", "abd"]).encode(np.array(["ab"]))


def test_whole_numbers_match_their_text_and_can_be_released_as_integers() -> None:
    domain = CategoryDomain(["1", "2", "97"], ordered=True, output="integer")
    codes = domain.encode(np.array([97, 1, 2]))
    assert codes.tolist() == [2, 0, 1]
    decoded = domain.decode(codes)
    assert decoded.dtype == np.int64
    assert decoded.tolist() == [97, 1, 2]


def test_leading_zeros_are_part_of_a_label() -> None:
    domain = CategoryDomain(["01001", "00060"])
    assert domain.decode(domain.encode(["00060"])).to_pylist() == ["00060"]
    with pytest.raises(InputContractError):
        domain.encode(["60"])


def test_unknown_labels_are_counted_and_not_shown() -> None:
    with pytest.raises(InputContractError) as caught:
        REGIONS.encode(["west", "canary-value", "also-unknown"])
    assert caught.value.reason is Reason.OUT_OF_DOMAIN
    assert caught.value.faults[0].rows == 2
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("values", [["west", None], pa.array([None, None]), pa.array([None, "west"])])
def test_missing_labels_are_counted(values: object) -> None:
    with pytest.raises(InputContractError) as caught:
        REGIONS.encode(values)
    assert caught.value.reason is Reason.NULL_VALUE


@pytest.mark.parametrize("values", [[1.5], [True, False], ["canary", 1], [object()], np.array([b"\x00\xff"])])
def test_other_types_are_refused_without_their_values(values: object) -> None:
    with pytest.raises(InputContractError) as caught:
        REGIONS.encode(values)
    assert caught.value.reason is Reason.WRONG_TYPE
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_labels_cannot_be_clipped() -> None:
    with pytest.raises(ConfigError):
        REGIONS.encode(["west"], outside="clip")


@pytest.mark.parametrize(
    ("codes", "output"),
    [
        (["a"], "text"),
        ([], "text"),
        (["a", "a"], "text"),
        (["a", ""], "text"),
        (["yes", False], "text"),
        (["1", 2], "text"),
        (["1", None], "text"),
        ("ab", "text"),
        (["1", "x"], "integer"),
        (["1", "02"], "integer"),
        (["1", "9223372036854775808"], "integer"),
        (["a", "b"], "float"),
    ],
)
def test_bad_lists_are_config_errors(codes: object, output: object) -> None:
    with pytest.raises(ConfigError) as caught:
        CategoryDomain(codes, output=output)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.BAD_DOMAIN


def test_domains_are_values_and_describe_themselves() -> None:
    again = CategoryDomain(("northeast", "midwest", "south", "west"))
    assert again == REGIONS
    assert hash(again) == hash(REGIONS)
    assert again != CategoryDomain(["midwest", "northeast", "south", "west"])
    assert REGIONS.describe() == {
        "kind": "category",
        "codes": ["northeast", "midwest", "south", "west"],
        "ordered": False,
        "output": "text",
        "size": 4,
    }
    assert domain_from_description(REGIONS.describe()) == REGIONS
    with pytest.raises(InputContractError):
        REGIONS.decode(np.array([4], dtype=np.int32))
