"""Drawing stored batches, and the probe's chi-square."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trasgo_lib.data import CategoryDomain, NumberDomain, PrivateCodes
from trasgo_lib.data.store_codes import codes_digest, read_batches, read_codes, write_batch
from trasgo_lib.errors import InputContractError, StoreError
from trasgo_lib.mechanisms import Channel, build_channel, chi_square, draw_codes, probe_codes
from trasgo_lib.noise import Keystream

KEY = bytes(range(32))
NUMBERS = NumberDomain("0", "83", "1")


def stored(directory: Path, codes: np.ndarray, rows_per_batch: int) -> PrivateCodes:
    starts = range(0, len(codes), rows_per_batch)
    batches = tuple(
        write_batch(directory, "wage", start, codes[start : start + rows_per_batch], KEY) for start in starts
    )
    return PrivateCodes("wage", batches, codes_digest([codes], KEY))


@pytest.fixture
def codes() -> np.ndarray:
    return (np.arange(10_000) * 31 % 84).astype(np.int32)


def test_batches_keep_their_cut_and_bits_do_not_depend_on_it(tmp_path: Path, codes: np.ndarray) -> None:
    channel, drawn = build_channel("laplace", NUMBERS, "2"), []
    for rows in (10_000, 4096, 777):
        private = stored(tmp_path / f"in{rows}", codes, rows)
        released = draw_codes(channel, private, Keystream(KEY, "draw"), tmp_path / f"out{rows}", KEY)
        assert released.unit == "wage"
        assert [(ref.first_row, ref.rows) for ref in released.batches] == [
            (b.first_row, b.rows) for b in private.batches
        ]
        drawn.append((read_codes(released, KEY), released.digest))
    assert all(np.array_equal(values, drawn[0][0]) for values, _ in drawn)
    assert {digest for _, digest in drawn} == {codes_digest([drawn[0][0]], KEY)}
    assert np.array_equal(drawn[0][0], channel.sample(codes, Keystream(KEY, "draw")))


def test_drawing_again_replaces_the_same_files(tmp_path: Path, codes: np.ndarray) -> None:
    channel, private = build_channel("laplace", NUMBERS, "2"), stored(tmp_path / "in", codes, 3000)
    first = draw_codes(channel, private, Keystream(KEY, "draw"), tmp_path / "out", KEY)
    assert draw_codes(channel, private, Keystream(KEY, "draw"), tmp_path / "out", KEY) == first
    assert len(list((tmp_path / "out").iterdir())) == 4


def test_changed_or_foreign_codes_are_not_drawn(tmp_path: Path, codes: np.ndarray) -> None:
    private = stored(tmp_path / "in", codes, 5000)
    with pytest.raises(InputContractError):
        draw_codes(
            build_channel("laplace", NumberDomain("0", "50", "1"), "2"), private, Keystream(KEY), tmp_path / "o", KEY
        )
    write_batch(tmp_path / "in", "wage", 0, codes[:5000][::-1].copy(), KEY)
    with pytest.raises(StoreError):
        draw_codes(build_channel("laplace", NUMBERS, "2"), private, Keystream(KEY), tmp_path / "out", KEY)
    assert list(read_batches(private))


@pytest.mark.parametrize("rows", [4, 100, 1000, 100_001])
def test_probe_codes_cover_both_ends_and_every_code(rows: int) -> None:
    channel = build_channel("laplace", NUMBERS, "1", missing=True)
    codes = probe_codes(channel, rows)
    assert codes.dtype == np.int32
    assert len(codes) == rows
    assert codes.min() == 0
    assert codes.max() == 84
    assert np.count_nonzero(codes == 84) >= rows // 4
    if rows >= 1000:
        assert set(codes.tolist()) == set(range(85))


def labels(size: int) -> CategoryDomain:
    return CategoryDomain([str(code) for code in range(size)])


@pytest.mark.parametrize(
    ("name", "domain", "epsilon"),
    [
        ("laplace", NUMBERS, "1"),
        ("laplace", NumberDomain("0", "6000", "1"), "4"),
        ("kary_randomized_response", labels(2), "1"),
        ("kary_randomized_response", labels(1500), "8"),
        ("exponential", labels(40), "2"),
    ],
)
def test_p_values_are_not_small_for_the_sampler_and_tiny_for_others(name: str, domain: object, epsilon: str) -> None:
    # five keys; a correct sampler has its least p-value below 1e-6 with probability 5e-6
    channel = build_channel(name, domain, epsilon)  # type: ignore[arg-type]
    codes = probe_codes(channel, 100_000)
    p_values = [chi_square(channel, codes, channel.sample(codes, Keystream(KEY, "p", key))) for key in range(5)]
    assert min(p_values) > 1e-6
    assert max(p_values) > 0.1
    assert chi_square(channel, codes, codes) < 1e-12
    weaker = build_channel(name, domain, str(2 * float(epsilon)))  # type: ignore[arg-type]
    assert chi_square(channel, codes, weaker.sample(codes, Keystream(KEY, "weak"))) < 1e-6


def test_a_sampler_with_the_wrong_sign_is_seen() -> None:
    channel = build_channel("laplace", NUMBERS, "8")
    codes = probe_codes(channel, 100_000)
    upward = np.clip(codes + np.abs(channel.sample(codes, Keystream(KEY, "sign")) - codes), 0, 83)
    assert chi_square(channel, codes, upward.astype(np.int32)) < 1e-12


def test_too_few_rows_say_nothing() -> None:
    channel: Channel = build_channel("laplace", NUMBERS, "1")
    codes = probe_codes(channel, 4)
    assert chi_square(channel, codes, codes) == 1.0
