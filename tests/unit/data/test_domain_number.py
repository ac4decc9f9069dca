"""Number grids: exact bounds, encoding, correctly rounded decoding."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.data import NumberDomain, domain_from_description
from trasgo_lib.errors import ConfigError, InputContractError, Reason


def test_values_of_a_whole_grid_are_int64_in_order() -> None:
    domain = NumberDomain(lower="0", upper="2000", step="10", unit="USD per week")
    assert domain.size == 201
    assert domain.values.dtype == np.int64
    assert domain.values[[0, 1, 200]].tolist() == [0, 10, 2000]
    codes = domain.encode([0, 4, 6, 1999.0, 5000.0, -3.0])
    assert codes.dtype == np.int32
    assert codes.tolist() == [0, 0, 1, 200, 200, 0]


def test_integers_come_back_as_integers_within_the_bounds() -> None:  # B46
    domain = NumberDomain("1", "4")
    decoded = domain.decode(domain.encode(np.array([1, 2, 3, 4])))
    assert decoded.dtype == np.int64
    assert decoded.tolist() == [1, 2, 3, 4]


def test_negative_amounts_keep_their_sign() -> None:  # B47
    domain = NumberDomain("-10000", "100000", "5000")
    assert domain.decode(domain.encode([-5000, 0, 100, 100000, -20000])).tolist() == [-5000, 0, 0, 100000, -10000]
    assert domain.size == 23


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    first=st.integers(-(10**6), 10**6),
    step=st.integers(1, 5000),
    steps=st.integers(1, 3000),
    places=st.integers(0, 6),
)
def test_decoding_is_correctly_rounded_and_encoding_undoes_it(first: int, step: int, steps: int, places: int) -> None:
    scale = 10**places
    lower, upper = Fraction(first, scale), Fraction(first + step * steps, scale)
    texts = [f"{int(value * scale)}e-{places}" for value in (lower, upper)]
    domain = NumberDomain(texts[0], texts[1], f"{step}e-{places}")
    assert domain.size == steps + 1
    codes = np.arange(domain.size, dtype=np.int32)
    values = domain.values
    assert np.array_equal(domain.encode(values, outside="reject"), codes)
    for code in (0, steps // 2, steps):
        exact = lower + Fraction(step * code, scale)
        assert values[code] == (int(exact) if domain.whole else float(exact))


def test_grids_with_many_decimals_are_still_correctly_rounded() -> None:
    domain = NumberDomain("0.00000000000000000001", "0.00000000000000000007", "0.00000000000000000002")
    assert domain.values.tolist() == [1e-20, 3e-20, 5e-20, 7e-20]
    assert domain.decode(np.empty(0, dtype=np.int32)).dtype == np.float64


def test_encoding_takes_every_numeric_type_alike() -> None:
    domain = NumberDomain("0", "250")
    for kind in ("int8", "uint8", "int64", "uint64", "float32", "float64"):
        assert domain.encode(np.array([0, 100, 120], dtype=kind)).tolist() == [0, 100, 120]
    assert domain.encode([]).tolist() == []


@pytest.mark.parametrize("values", [[1.0, np.nan, np.inf], [np.nan, -np.inf, 2.0]])
def test_numbers_that_are_not_finite_are_counted(values: list[float]) -> None:
    with pytest.raises(InputContractError) as caught:
        NumberDomain("0", "9").encode(values)
    assert caught.value.reason is Reason.NON_FINITE
    assert caught.value.faults[0].rows == 2


def test_reject_counts_and_shows_no_value() -> None:
    domain = NumberDomain("0", "9")
    with pytest.raises(InputContractError) as caught:
        domain.encode([3, 777123, 9.0001, -0.0001], outside="reject")
    assert caught.value.reason is Reason.OUT_OF_DOMAIN
    assert caught.value.faults[0].rows == 3
    assert "777123" not in str(caught.value)
    assert domain.encode([0, 9], outside="reject").tolist() == [0, 9]


@pytest.mark.parametrize("values", [["1"], [None, 1], [True], [1j], np.array(["2020-01-01"], "M8[D]"), [[1], [2, 3]]])
def test_other_types_are_refused_without_a_guess(values: object) -> None:
    with pytest.raises(InputContractError) as caught:
        NumberDomain("0", "9").encode(values)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.WRONG_TYPE


def test_codes_outside_are_counted_on_decoding() -> None:
    domain = NumberDomain("0", "9")
    with pytest.raises(InputContractError) as caught:
        domain.decode(np.array([0, 10, -1], dtype=np.int32))
    assert caught.value.faults[0].rows == 2
    with pytest.raises(InputContractError):
        domain.decode(np.array([0.5]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [
        ("0", "10", "3"),
        ("5", "5", "1"),
        ("9", "0", "1"),
        ("0", "10", "0"),
        ("0", "10", "-1"),
        ("0", "NaN", "1"),
        ("-Infinity", "0", "1"),
        ("0", "ten", "1"),
        (0.0, "10", "1"),
        (True, "10", "1"),
        ("0", None, "1"),
        ("0", "1048576", "1"),
        ("0", "1e999999", "1"),
        ("0", "1", "1e-99"),
        ("9007199254740990", "9007199254740994", "1"),
        ("1000000000000", "1000000000000.01", "0.001"),
    ],
)
def test_bad_domains_are_config_errors(lower: object, upper: object, step: object) -> None:
    with pytest.raises(ConfigError) as caught:
        NumberDomain(lower, upper, step)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.BAD_DOMAIN


def test_a_step_that_does_not_divide_names_bounds_that_would() -> None:
    with pytest.raises(ConfigError, match="9 or 12"):
        NumberDomain("0", "10", "3")


def test_largest_domain_and_unknown_policy() -> None:
    assert NumberDomain("0", "1048575").size == 2**20
    with pytest.raises(ConfigError) as caught:
        NumberDomain("0", "9").encode([1], outside="drop")  # type: ignore[arg-type]
    assert caught.value.reason is Reason.BAD_PARAMETER


def test_equal_domains_are_equal_hashable_and_describe_themselves() -> None:
    first, second = NumberDomain("0.10", 2, "0.1", "m"), NumberDomain("0.1", "2.0", "1e-1", "m")
    assert first == second
    assert hash(first) == hash(second)
    assert first.describe() == {
        "kind": "number", "lower": "0.1", "upper": "2", "step": "0.1", "unit": "m", "size": 20,
    }  # fmt: skip
    assert domain_from_description(first.describe()) == first


def test_number_domains_load_neither_pyproj_nor_h3() -> None:
    check = (
        "import sys; from trasgo_lib.data import NumberDomain; NumberDomain('0', '9').encode([1]);"
        "sys.exit(bool({'pyproj', 'h3'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.parametrize(
    "change", [{"kind": "tensor"}, {"size": 7}, {"upper": "10"}, {"extra": 1}, {"kind": "category"}]
)
def test_edited_descriptions_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        domain_from_description(NumberDomain("0", "9").describe() | change)


@pytest.mark.parametrize(
    ("lower", "upper", "fix"), [("9", "0", "Exchange lower and upper."), ("9", "9", "at least two values")]
)
def test_bounds_in_the_wrong_order_are_exchanged_and_no_constant_column(lower: str, upper: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        NumberDomain(lower, upper, "1")
    assert fix in caught.value.faults[0].fix
