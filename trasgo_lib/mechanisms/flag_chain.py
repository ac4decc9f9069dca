"""Chains of numbers with a missing code: flag and value are coarsened together, and only their reading is released.

The state of a row is a pair: a flag, kept by binary randomised response, and a value, which for a missing row started
from the fill code. Both step down side by side, each by its own kernel and its own word; a level releases "missing" or
the value, as its flag says. Whoever sees levels 1 to h sees functions of the pair at level h, so the certificate is
that of the pair, over the inputs 0..N and missing and all 2 (N + 1) pairs: with V the values' product, F the flags',

    largest log-ratio  =  max(between rows of V,  F + largest |log-ratio| of any row of V and the fill row).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import Domain
from trasgo_lib.mechanisms.base import TableKernel
from trasgo_lib.mechanisms.calibration import SLACK, meets
from trasgo_lib.mechanisms.certificate import rounded_up
from trasgo_lib.mechanisms.channel import Json
from trasgo_lib.mechanisms.coarse_channel import CoarseChannel
from trasgo_lib.mechanisms.coupling import Coupling, Ladder, level_facts, unreachable_step
from trasgo_lib.mechanisms.fixed_point import CONTEXT
from trasgo_lib.mechanisms.krr import other_weight
from trasgo_lib.mechanisms.missing import FlaggedChannel
from trasgo_lib.mechanisms.parameters import StoredParameters, read_fill, refused
from trasgo_lib.mechanisms.rotation_chain import RotationProduct, descend, products
from trasgo_lib.mechanisms.shift import ShiftChannel

_WORD = 1 << 64
_LEAST_LEFT = Decimal("1e-6")
"""A flag that gets less than the smallest epsilon says nothing."""


@dataclass(frozen=True, slots=True)
class Sides:
    """What one level of the value chain proves; upper bounds, not yet rounded.

    Args:
        between: largest log-ratio between any two inputs.
        fill: largest log-ratio between any input and the fill code, in either direction.
    """

    between: Decimal
    fill: Decimal


FillSides = Callable[[Domain, Mapping[str, Json], int], Sequence[Sides]]
"""Sides of every rung, lowest first, of the value chain with these parameters and a fill code."""


class _Drawn(Protocol):
    @property
    def inputs(self) -> int: ...

    @property
    def digest(self) -> str: ...

    def weights(self, code: int) -> tuple[int, ...]: ...

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None: ...


def _drawn_pair(
    value: _Drawn,
    other: int,
    flags: NDArray[np.bool_],
    codes: NDArray[np.int32],
    words: NDArray[np.uint64],
    out: NDArray[np.int32],
) -> None:
    value.draw_into(codes, np.ascontiguousarray(words[1::2]), out)
    flipped = words[0::2] < np.uint64(other)
    np.add(out, np.int32(value.inputs), out=out, where=flags ^ flipped)


def _pair_row(row: tuple[int, ...], other: int, flag: bool) -> tuple[int, ...]:
    value, missing = (other, _WORD - other) if flag else (_WORD - other, other)
    return (*(value * weight for weight in row), *(missing * weight for weight in row))


class FlaggedTop(TableKernel):
    """From codes, the missing one last, to pairs of flag and value; a pair's state is its value plus N + 1 if flagged.

    Args:
        value: channel of the numbers at the top level.
        flip: weight of a flipped flag out of 2**64.
        fill: code that a missing row carries.
    """

    words_per_row = 2

    def __init__(self, value: _Drawn, flip: int, fill: int) -> None:
        super().__init__(value.inputs + 1, 2 * value.inputs)
        self._value, self._flip, self._fill = value, flip, fill

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over pairs for one input: integers >= 1 that sum to 2**128."""
        missing = self._checked_code(code) == self._value.inputs
        return _pair_row(self._value.weights(self._fill if missing else code), self._flip, missing)

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write one chunk of pairs: int32[rows], uint64[2 * rows] -> ``out``, int32[rows]."""
        missing = codes == self._value.inputs
        _drawn_pair(self._value, self._flip, missing, np.where(missing, np.int32(self._fill), codes), words, out)

    def _table_bytes(self) -> Iterator[bytes]:
        yield self._value.digest.encode("ascii")
        yield self._flip.to_bytes(8, "little")
        yield self._fill.to_bytes(8, "little")


class FlaggedStep(TableKernel):
    """From pairs to pairs: flag and value each take their own step.

    Args:
        value: the values' kernel.
        flip: weight of a flipped flag out of 2**64.
    """

    words_per_row = 2

    def __init__(self, value: _Drawn, flip: int) -> None:
        super().__init__(2 * value.inputs)
        self._value, self._flip = value, flip

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over pairs for one pair: integers >= 0 that sum to 2**128."""
        flag, place = divmod(self._checked_code(code), self._value.inputs)
        return _pair_row(self._value.weights(place), self._flip, bool(flag))

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write one chunk of pairs: int32[rows], uint64[2 * rows] -> ``out``, int32[rows]."""
        flags = codes >= self._value.inputs
        places = np.where(flags, codes - np.int32(self._value.inputs), codes)
        _drawn_pair(self._value, self._flip, flags, places, words, out)

    def _table_bytes(self) -> Iterator[bytes]:
        yield self._value.digest.encode("ascii")
        yield self._flip.to_bytes(8, "little")


def _certificate(sides: Sides, flags: RotationProduct) -> Decimal:
    with localcontext(CONTEXT):
        return max(sides.between, flags.certificate + sides.fill)


def search_flagged(
    name: str,
    search: Callable[..., dict[str, Json]],
    fill_sides: FillSides,
    domain: Domain,
    ladder: Ladder,
    /,
    *,
    missing: bool = False,
    fill: object = None,
    **own: object,
) -> dict[str, Json]:
    """Parameters of a chain of numbers, with the flags' weights where a missing value is one more code.

    The value chain keeps every whole claim; its flag gets what the fill row leaves of it.

    Raises:
        ConfigError: what ``search`` refuses, a fill code outside the domain, or one that leaves nothing to the flag.
    """
    solved = search(domain, ladder, **own)
    if not missing:
        return solved
    place = read_fill(name, fill, domain.size)
    sides = fill_sides(domain, solved, place)
    with localcontext(CONTEXT):
        left = [claim.decimal - SLACK - side.fill for claim, side in zip(ladder.claims, sides, strict=True)]
    if min(left) < _LEAST_LEFT:
        raise refused(
            f"{name} fill",
            "a fill code that leaves part of epsilon to the missing flag",
            f"code {place} of 0..{domain.size - 1}",
            "Declare two values as a category." if domain.size == 2 else "Choose a code near the middle.",
        )
    top = other_weight(2, left[-1])
    flips = descend(RotationProduct.of(2, (top,)), left[-2::-1])
    ran = () if flips is None else products(RotationProduct.of(2, (top,)), flips)[::-1]
    for rung, claim in enumerate(ladder.claims):
        if not ran or not meets(_certificate(sides[rung], ran[rung]), claim):
            raise unreachable_step(name, claim)
    return {**solved, "missing": "code", "fill": place, "flips": [str(flip) for flip in (top, *(flips or ()))]}


def couple_flagged(
    name: str,
    couple: Callable[[Domain, Mapping[str, Json]], Coupling],
    fill_sides: FillSides,
    domain: Domain,
    parameters: Mapping[str, Json],
    /,
) -> Coupling:
    """The coupled levels of stored parameters, with or without a missing code.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: some level's integers prove less than its claim.
    """
    own = {key: parameters[key] for key in ("missing", "fill", "flips") if key in parameters}
    inner = {key: value for key, value in parameters.items() if key not in own}
    values = couple(domain, inner)
    if not own:
        return values
    stored = StoredParameters(name, own)
    if stored.text("missing") != "code":
        raise refused(f"{name} missing", "code", "another text", "The channel file is damaged.")
    fill, flips = stored.integer("fill", below=domain.size), stored.integers("flips", below=_WORD // 2)
    claims = Ladder.read(name, StoredParameters(name, inner).texts("levels")).claims
    if len(flips) != len(claims) or min(flips) < 1:
        raise refused(f"{name} flips", f"{len(claims)} numbers from 1", str(len(flips)), "The channel file is damaged.")
    ran = products(RotationProduct.of(2, flips[:1]), flips[1:])[::-1]
    sides, channels, size = fill_sides(domain, inner, fill), list[FlaggedChannel](), domain.size
    for claim, side, flags, value in zip(claims, sides, ran, values.channels, strict=True):
        apart = (1 + Fraction(value.difference)) * (1 + Fraction(flags.difference)) - 1
        certificate = _certificate(side, flags)
        facts = level_facts(
            name, value.version, (size + 1, size + 1), parameters, claim, certificate, rounded_up(apart)
        )
        channels.append(FlaggedChannel(facts, cast(ShiftChannel | CoarseChannel, value), flags.nominal_other, fill))
    steps = tuple(
        FlaggedStep(cast(TableKernel, step), flip) for step, flip in zip(values.steps, reversed(flips[1:]), strict=True)
    )
    released = np.minimum(np.arange(2 * size, dtype=np.int32), np.int32(size))
    return Coupling(
        FlaggedTop(cast(ShiftChannel | CoarseChannel, values.channels[-1]), flips[0], fill),
        steps,
        tuple(channels),
        released,
    )
