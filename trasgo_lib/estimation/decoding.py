"""Decoders: functions of the released code whose expectation is a wanted function of the private one.

``decode(channel, f)`` gives g with ``E[g(output) | input i] = f(i)``. Three forms are tried, and each is checked
against the channel's own expectation, so a wrong guess about a channel's structure costs time and never truth:

1. the inverse applied to f itself, right where the inverse is symmetric (randomised response);
2. a tridiagonal inverse, read off with three probes (clamped geometric noise of any size);
3. the whole inverse, column by column, up to ``MOST_CODES`` outputs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms import Channel, TableChannel

MOST_CODES = 4096
"""Up to here a whole inverse is formed: 16.8 million entries, 128 MB, one column at a time."""

_KEPT_FLOATS = 2**14
"""Decoders of functions up to this size are kept for the next question: 128 KB each, and half the time of most."""

_EXACT = 1e-8
"""Largest bias, in terms of the range of the function, that counts as what float64 leaves of zero."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoders of some functions.

    Args:
        values: float64[outputs, functions].
        bias: float64[functions], largest distance between a function and the expectation of its decoder.
    """

    values: NDArray[np.float64] = field(repr=False)
    bias: NDArray[np.float64] = field(repr=False)


def expectation(channel: Channel, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected value of functions of the output, for each input: float64[outputs, m] -> float64[inputs, m].

    Args:
        channel: any channel; one without a structured expectation has at most ``MOST_CODES`` inputs.
        values: by output code, one column a function.
    """
    if isinstance(channel, TableChannel):
        return np.stack([channel.expectation(np.ascontiguousarray(column)) for column in values.T], axis=1)
    return transition(channel) @ values


def transition(channel: Channel) -> NDArray[np.float64]:
    """The channel as a matrix: float64[inputs, outputs], rows sum to 1."""
    total = float(channel.total)
    return np.array([[weight / total for weight in channel.weights(code)] for code in range(channel.inputs)])


def decode(channel: Channel, functions: NDArray[np.float64]) -> Decoded | None:
    """Decoders of functions of the input code.

    Args:
        channel: the channel of the released codes; public.
        functions: float64[inputs, m], finite.

    Returns:
        The decoders with their bias, or None where the channel is too large for the only form that fits it.
    """
    if functions.size > _KEPT_FLOATS:
        return _decode(channel, functions)
    exact = np.ascontiguousarray(functions, dtype=np.float64)
    return _decode_kept(cast(Hashable, channel), exact.tobytes(), int(exact.shape[1]))


@lru_cache(maxsize=128)
def _decode_kept(channel: Hashable, functions: bytes, width: int) -> Decoded | None:
    found = _decode(cast(Channel, channel), np.frombuffer(functions).reshape(-1, width))
    if found is not None:
        found.values.flags.writeable = found.bias.flags.writeable = False
    return found


def _decode(channel: Channel, functions: NDArray[np.float64]) -> Decoded | None:
    if channel.inputs == channel.outputs:
        for attempt in (_symmetric, _tridiagonal):
            first = functions[:, :1]
            if not _is_exact(first, _checked(channel, first, attempt(channel, first))):
                continue  # a form that does not fit is known by one function
            found = _checked(channel, functions, attempt(channel, functions))
            if _is_exact(functions, found):
                return found
    if channel.outputs > MOST_CODES:
        return None
    return _checked(channel, functions, _whole(channel, functions))


def _is_exact(functions: NDArray[np.float64], found: Decoded) -> bool:
    return bool((found.bias <= _EXACT * np.maximum(1.0, np.abs(functions).max(axis=0))).all())


def _checked(channel: Channel, functions: NDArray[np.float64], values: NDArray[np.float64]) -> Decoded:
    return Decoded(values, np.abs(expectation(channel, values) - functions).max(axis=0))


def _symmetric(channel: Channel, functions: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([channel.invert(column) for column in functions.T], axis=1)


def _tridiagonal(channel: Channel, functions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Transposed inverse from the images of three combs: teeth three apart do not touch in a tridiagonal matrix."""
    size = channel.outputs
    images = np.zeros((3, size))
    for comb in range(3):
        teeth = np.zeros(size)
        teeth[comb::3] = 1.0
        images[comb] = channel.invert(teeth)
    place = np.arange(size)
    decoded = np.zeros((size, functions.shape[1]))
    for offset in (-1, 0, 1):
        source = place + offset  # entry (source, place) of the inverse
        inside = (source >= 0) & (source < size)
        entries = images[place[inside] % 3, source[inside]]
        decoded[inside] += entries[:, None] * functions[source[inside]]
    return decoded


def _whole(channel: Channel, functions: NDArray[np.float64]) -> NDArray[np.float64]:
    decoded = np.empty((channel.outputs, functions.shape[1]))
    unit = np.zeros(channel.outputs)
    for code in range(channel.outputs):
        unit[code] = 1.0
        decoded[code] = channel.invert(unit) @ functions
        unit[code] = 0.0
    return decoded


def present_codes(channel: Channel) -> NDArray[np.float64] | None:
    """What each input code counts as a number, NaN for the missing code; None for labels and points."""
    scores = channel.scores
    if scores is None:
        return None
    codes = np.arange(channel.inputs, dtype=np.float64)
    if channel.inputs == channel.outputs:
        codes[np.isnan(scores)] = np.nan
    return codes
