"""Channels of devices: certificates against enumeration in integers, sampling against a slow reading of the law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection import REPORT_MECHANISMS, build_report_channel, choose, rebuild_report_channel
from trasgo_lib.collection.bits import WORD, random_bits, words_per_row
from trasgo_lib.collection.channels import (
    ChannelClaim,
    MemoisedChannel,
    ReportChannel,
    SlotChannel,
    UnaryChannel,
    repeated_epsilon,
)
from trasgo_lib.errors import ConfigError, InputContractError, TrasgoError, VerificationError
from trasgo_lib.noise import Keystream

ROOT = bytes(range(32))


def _build(name: str, slots: int, epsilon: str, permanent: str = "2") -> ReportChannel:
    memoised = name in ("memoised_unary_encoding", "rappor")
    return build_report_channel(name, slots, Epsilon.parse(epsilon), Epsilon.parse(permanent) if memoised else None)


def _law(channel: ReportChannel, slot: int, reports: int = 1) -> dict[tuple[object, ...], Fraction]:
    """Probability of every sequence of reports for one slot, from the integers alone."""
    if isinstance(channel, SlotChannel):
        weights = channel.response.weights(slot)
        return {(out,): Fraction(weight, WORD) for out, weight in enumerate(weights)}
    own, other = channel.integers["own"], channel.integers["other"]
    bits = []
    for place in range(channel.slots):
        one = Fraction(own if place == slot else other, WORD)
        if isinstance(channel, MemoisedChannel):
            flip = Fraction(channel.integers["flip"], WORD)
            bits.append(
                {
                    seen: one * math.prod(1 - flip if bit else flip for bit in seen)
                    + (1 - one) * math.prod(flip if bit else 1 - flip for bit in seen)
                    for seen in itertools.product((0, 1), repeat=reports)
                }
            )
        else:
            bits.append({(1,): one, (0,): 1 - one})
    return {
        outcome: math.prod(law[seen] for law, seen in zip(bits, outcome, strict=True))
        for outcome in itertools.product(*(law.keys() for law in bits))
    }


def _worst(channel: ReportChannel, reports: int = 1) -> float:
    laws = [_law(channel, slot, reports) for slot in range(channel.slots)]
    assert all(sum(law.values()) == 1 for law in laws)
    ratio = max(a[outcome] / b[outcome] for a in laws for b in laws for outcome in a)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "1.9"])
@pytest.mark.parametrize("name", REPORT_MECHANISMS)
def test_the_certificate_is_the_largest_ratio_over_all_reports(name: str, epsilon: str) -> None:
    channel = _build(name, 4, epsilon)
    certified = float(channel.claim.certified)
    worst = _worst(channel)
    assert worst <= certified + 1e-12
    assert certified - worst < 1.1e-6
    assert 0.999 * float(epsilon) <= certified <= float(epsilon)


@pytest.mark.parametrize("reports", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "permanent"), [("1", "2"), ("0.1", "4"), ("1.9", "2")])
@pytest.mark.parametrize("name", ["memoised_unary_encoding", "rappor"])
def test_reports_of_one_cell_cost_what_enumeration_says(name: str, epsilon: str, permanent: str, reports: int) -> None:
    channel = _build(name, 3, epsilon, permanent)
    assert isinstance(channel, MemoisedChannel)
    exact = float(repeated_epsilon(channel, reports))
    assert exact == pytest.approx(_worst(channel, reports), abs=1e-9)
    assert exact <= min(reports * float(epsilon), float(permanent))


def test_the_charge_for_repetitions_holds_up_to_many_reports() -> None:
    for epsilon, permanent in (("0.05", "8"), ("1", "2"), ("3", "3.1")):
        for name in ("memoised_unary_encoding", "rappor"):
            channel = _build(name, 50, epsilon, permanent)
            assert isinstance(channel, MemoisedChannel)
            for reports in (2, 5, 50, 400):
                assert repeated_epsilon(channel, reports) <= reports * channel.claim.certified
                assert channel.claim.certified_permanent is not None
                assert repeated_epsilon(channel, reports) <= channel.claim.certified_permanent


def test_rappor_of_the_paper_has_the_losses_of_the_paper() -> None:
    """One hash, f = 1/2: 2 ln 3 for all reports; here with a symmetric second round of 3/4."""
    claim = ChannelClaim("rappor", 10, Epsilon.parse("2.2"), Epsilon.parse("2.2").decimal, Epsilon.parse("2.2"))
    channel = MemoisedChannel(claim, 3 * WORD // 4, WORD // 4, WORD // 4)
    assert float(repeated_epsilon(channel, 10**3)) == pytest.approx(2 * math.log(3), abs=1e-6)
    assert (channel.p, channel.q) == (Fraction(5, 8), Fraction(3, 8))


@pytest.mark.parametrize("name", REPORT_MECHANISMS)
def test_a_published_channel_is_rebuilt_and_certified_from_its_integers(name: str) -> None:
    channel = _build(name, 30, "1")
    document = channel.to_json()
    again = rebuild_report_channel(document)
    assert (again.version, again.claim, again.p, again.q) == (channel.version, channel.claim, channel.p, channel.q)
    less = "flip" if "flip" in channel.integers else "other"
    cheats = [
        {**document, "epsilon": "0.9"},
        {**document, "integers": {**document["integers"], less: str(channel.integers[less] - 2**40)}},
        {**document, "certified_epsilon": "0.5"},
        {**document, "version": "0" * 32},
        {**document, "integers": {}},
        {**document, "mechanism": "other"},
        {**document, "slots": "many"},
    ]
    for cheat in cheats:
        with pytest.raises((ConfigError, VerificationError)):
            rebuild_report_channel(cheat)


@pytest.mark.parametrize(
    ("mechanism", "slots", "epsilon", "permanent", "words"),
    [
        ("laplace", 10, "1", None, "one of auto"),
        ("rappor", 10, "1", None, "epsilon_permanent"),
        ("optimised_unary_encoding", 10, "1", "2", "epsilon_permanent"),
        ("rappor", 10, "2", "2", "below epsilon_permanent"),
        ("optimised_unary_encoding", 10, "60", None, "at most"),
        ("kary_randomized_response", 2, "1", None, "slots"),
    ],
)
def test_claims_that_cannot_be_met_are_refused(
    mechanism: str, slots: int, epsilon: str, permanent: str | None, words: str
) -> None:
    with pytest.raises(TrasgoError, match=words):
        build_report_channel(
            mechanism, slots, Epsilon.parse(epsilon), None if permanent is None else Epsilon.parse(permanent)
        )


@pytest.mark.parametrize(
    ("slots", "epsilon", "mechanism"),
    [
        (10, "1", "kary_randomized_response"),  # 3 e + 2 = 10.15
        (11, "1", "optimised_unary_encoding"),
        (24, "2", "kary_randomized_response"),  # 24.17
        (25, "2", "optimised_unary_encoding"),
        (165, "4", "kary_randomized_response"),  # 165.8
        (166, "4", "optimised_unary_encoding"),
    ],
)
def test_auto_takes_the_mechanism_of_least_variance_and_says_so(slots: int, epsilon: str, mechanism: str) -> None:
    from trasgo_lib.collection.estimating import null_variance

    found = choose(slots, Epsilon.parse(epsilon))
    assert found.mechanism == mechanism
    assert f"{slots} slots are" in found.reason and "3 exp" in found.reason
    names = ("kary_randomized_response", "optimised_unary_encoding", "symmetric_unary_encoding")
    variances = {name: null_variance(_build(name, slots, epsilon), 1000) for name in names}
    assert min(variances, key=variances.__getitem__) == mechanism
    built = build_report_channel("auto", slots, Epsilon.parse(epsilon))
    assert built.claim.mechanism == mechanism


def test_memory_costs_no_variance() -> None:
    """An optimised permanent round keeps p = 1/2, so the error is that of one optimised round at the report's loss."""
    from trasgo_lib.collection.estimating import null_variance

    once, kept = _build("optimised_unary_encoding", 200, "1"), _build("memoised_unary_encoding", 200, "1")
    assert null_variance(kept, 200_000) ** 0.5 == pytest.approx(0.004291, abs=1e-6)
    assert null_variance(kept, 1) == pytest.approx(null_variance(once, 1), rel=1e-6)
    assert null_variance(_build("rappor", 200, "1"), 1) > null_variance(kept, 1)


def _slow_bits(keystream: Keystream, row: int, slots: int, threshold: int) -> list[int]:
    """The law of ``random_bits`` read bit by bit: 64-bit numbers below the threshold, byte first, then the tie word."""
    words = keystream.words(row * words_per_row(slots), words_per_row(slots))
    drawn = words.astype("<u8").tobytes()[:slots]
    found = []
    for bit, byte in enumerate(drawn):
        tie = int(keystream.words((1 << 59) + row * slots + bit, 1)[0])
        found.append(int((byte << 56 | tie & (1 << 56) - 1) < threshold))
    return found


@pytest.mark.parametrize("slots", [3, 8, 13, 200])
def test_every_bit_is_one_comparison_of_64_bits_whatever_the_batching(slots: int) -> None:
    keystream = Keystream(ROOT, "bits", slots)
    threshold = (77 << 56) | 0x80_0000_0000_0000
    rows = np.arange(5, 65)
    packed = random_bits(keystream, rows, slots, threshold)
    bits = np.unpackbits(packed, axis=1, count=slots, bitorder="little")
    assert bits.tolist() == [_slow_bits(keystream, int(row), slots, threshold) for row in rows]
    assert np.unpackbits(packed, axis=1, bitorder="little")[:, slots:].sum() == 0
    scattered = rows[::-7]
    assert (random_bits(keystream, scattered, slots, threshold) == packed[scattered - 5]).all()
    parts = [random_bits(keystream, rows[start : start + 11], slots, threshold) for start in range(0, 60, 11)]
    assert (np.concatenate(parts) == packed).all()


def test_own_slots_follow_their_own_weight_and_the_others_do_not_change() -> None:
    channel = _build("optimised_unary_encoding", 13, "1")
    assert isinstance(channel, UnaryChannel)
    slots = (np.arange(40_000) % 13).astype(np.int32)
    stream = Keystream(ROOT, "own")
    bits = np.unpackbits(channel.draw(slots, stream), axis=1, count=13, bitorder="little")
    own = bits[np.arange(len(slots)), slots]
    assert abs(own.mean() - 0.5) < 4 * 0.5 / 200
    moved = np.unpackbits(channel.draw((slots + 1) % 13, stream), axis=1, count=13, bitorder="little")
    changed = bits != moved
    touched = np.zeros_like(changed)
    touched[np.arange(len(slots)), slots] = touched[np.arange(len(slots)), (slots + 1) % 13] = True
    assert not (changed & ~touched).any()


@pytest.mark.parametrize("name", REPORT_MECHANISMS)
def test_slots_that_an_alphabet_has_not_draw_nothing(name: str) -> None:
    channel = _build(name, 5, "1")
    draw = channel.permanent.draw if isinstance(channel, MemoisedChannel) else channel.draw  # type: ignore[attr-defined]
    for bad in (np.array([5]), np.array([-1]), np.array([0.5]), np.array([[1]])):
        with pytest.raises(InputContractError):
            draw(bad, Keystream(ROOT, "x"))


def test_large_alphabets_name_slots_in_four_bytes() -> None:
    channel = _build("kary_randomized_response", 70_000, "8")
    assert isinstance(channel, SlotChannel)
    assert channel.draw(np.array([69_999], dtype=np.int32), Keystream(ROOT, "x")).dtype == np.uint32
    assert channel.report_bytes == 4


def test_reports_of_fixed_keys_never_change() -> None:
    """Known answers: phones in the field draw these bits; another sampler is another channel version."""
    slots = np.array([0, 4, 9], dtype=np.int32)
    known = {
        "kary_randomized_response": KNOWN_SLOTS,
        "optimised_unary_encoding": KNOWN_BITS,
    }
    for name, expected in known.items():
        channel = _build(name, 10, "1")
        drawn = channel.draw(slots, Keystream(ROOT, "known", name))  # type: ignore[attr-defined]
        assert (channel.version, drawn.tobytes().hex()) == expected


KNOWN_SLOTS = ("e5eba3c8090b776fc3b63905a7fe1993", "070008000900")
KNOWN_BITS = ("ff42655720130d111e59519ad27c6303", "010015012800")
