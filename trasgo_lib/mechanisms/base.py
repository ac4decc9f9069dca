"""What all integer channels share: facts, checked and chunked sampling, moments, digest.

A mechanism's class supplies its rows (``weights``), how words become outputs (``_draw``), the bytes that fix its table
and two linear maps (``expectation`` and ``invert``). Everything else follows here.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import rfc8785
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget.events import LossEvent
from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.mechanisms.channel import Json, Kernel, Moments
from trasgo_lib.noise import CHUNK_ROWS, Keystream


@dataclass(frozen=True, slots=True)
class ChannelFacts:
    """The public facts of a built channel.

    Args:
        name: registry name.
        version: version of the mechanism's definition.
        inputs: number of input codes, the missing code included.
        outputs: number of output codes.
        certified_epsilon: rounded up to 1e-6; at most the claim.
        certified_delta: 0 for pure channels.
        event: loss event of one draw, at the claim.
        parameters: strict JSON from which the whole weight table follows.
        difference: bound on the relative difference between a weight and the law that draws follow.
    """

    name: str
    version: int
    inputs: int
    outputs: int
    certified_epsilon: Decimal
    certified_delta: Decimal
    event: LossEvent
    parameters: Mapping[str, Json]
    difference: Decimal = Decimal(0)


def checked_codes(codes: NDArray[np.int32], inputs: int) -> NDArray[np.int32]:
    """The codes as int32[rows], all within ``0..inputs-1``.

    Args:
        codes: integer array of one dimension; private.
        inputs: number of input codes.

    Raises:
        InputContractError: with the number of rows outside; never a value.
    """
    array = np.asarray(codes)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputContractError.of(
            Reason.WRONG_TYPE,
            "codes",
            required="a one-dimensional array of whole numbers",
            came=f"{array.ndim} dimensions of {array.dtype.name}",
            fix="Encode the column with its domain.",
        )
    if len(array) and (array.min() < 0 or array.max() >= inputs):
        raise InputContractError.of(
            Reason.OUT_OF_DOMAIN,
            "codes",
            required=f"codes from 0 to {inputs - 1}",
            came="codes outside that range",
            fix="Encode the column with the domain of this channel.",
            rows=int(((array < 0) | (array >= inputs)).sum()),
        )
    return array.astype(np.int32, copy=False)


Draw = Callable[[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]], None]
"""Writes one chunk of outputs: int32[rows], uint64[rows * words_per_row] -> ``out``, int32[rows]."""


def sample_rows(
    table: Kernel, draw: Draw, codes: NDArray[np.int32], keystream: Keystream, first_row: int
) -> NDArray[np.int32]:
    """Draw outputs chunk by chunk: int32[rows] -> int32[rows].

    Args:
        table: what is drawn from.
        draw: its chunk of outputs.
        codes: private input codes.
        keystream: the stream of this draw, used for nothing else.
        first_row: global index of the first row.

    Raises:
        InputContractError: a code outside ``0..inputs-1``; nothing is drawn.
    """
    private, per_row = checked_codes(codes, table.inputs), table.words_per_row
    released = np.empty(len(private), dtype=np.int32)
    for start in range(0, len(private), CHUNK_ROWS):
        chunk = private[start : start + CHUNK_ROWS]
        words = keystream.words((first_row + start) * per_row, len(chunk) * per_row)
        draw(chunk, words, released[start : start + CHUNK_ROWS])
    return released


class TableKernel(ABC):
    """Base of every kernel in this room; see ``Kernel`` for the meaning of each member.

    Args:
        codes: number of input codes.
        outputs: number of output codes; as many by default.
    """

    words_per_row: int = 1

    def __init__(self, codes: int, outputs: int | None = None) -> None:
        self.inputs = codes
        self.outputs = codes if outputs is None else outputs

    @property
    def total(self) -> int:
        """What each row of weights sums to."""
        return 1 << (64 * self.words_per_row)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the weights, hex."""
        summary = hashlib.sha256(type(self).__name__.encode("ascii"))
        for part in self._table_bytes():
            summary.update(len(part).to_bytes(8, "big"))
            summary.update(part)
        return summary.hexdigest()

    def sample(self, codes: NDArray[np.int32], keystream: Keystream, first_row: int = 0) -> NDArray[np.int32]:
        """Draw outputs: int32[rows] -> int32[rows]; see ``Channel.sample``.

        Args:
            codes: released or unreleased codes of the level above.
            keystream: the stream of this step, used for nothing else.
            first_row: global index of the first row.

        Raises:
            InputContractError: a code outside ``0..inputs-1``; nothing is drawn.
        """
        return sample_rows(self, self.draw_into, codes, keystream, first_row)

    def _checked_code(self, code: int) -> int:
        if not 0 <= code < self.inputs:
            raise IndexError(f"input codes go from 0 to {self.inputs - 1}")
        return code

    @abstractmethod
    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 0 that sum to ``total``."""

    @abstractmethod
    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write one chunk of outputs: int32[rows], uint64[rows * words_per_row] -> ``out``, int32[rows]."""

    @abstractmethod
    def _table_bytes(self) -> Iterator[bytes]:
        """Bytes that fix every weight, little-endian words, for the digest."""


class TableChannel(ABC):
    """Base of every channel in this room; see ``Channel`` for the meaning of each member."""

    words_per_row: int = 1

    def __init__(self, facts: ChannelFacts) -> None:
        self._facts = facts

    @property
    def facts(self) -> ChannelFacts:
        """All public facts at once."""
        return self._facts

    @property
    def name(self) -> str:
        """Registry name."""
        return self._facts.name

    @property
    def version(self) -> int:
        """Version of the mechanism's definition."""
        return self._facts.version

    @property
    def inputs(self) -> int:
        """Number of input codes, the missing code included."""
        return self._facts.inputs

    @property
    def outputs(self) -> int:
        """Number of output codes."""
        return self._facts.outputs

    @property
    def total(self) -> int:
        """What each row of weights sums to."""
        return 1 << (64 * self.words_per_row)

    @property
    def certified_epsilon(self) -> Decimal:
        """The least epsilon the integers prove, rounded up to 1e-6."""
        return self._facts.certified_epsilon

    @property
    def certified_delta(self) -> Decimal:
        """The delta that goes with the certified epsilon."""
        return self._facts.certified_delta

    @property
    def difference(self) -> Decimal:
        """Bound on the relative difference between a weight and the law that draws follow."""
        return self._facts.difference

    @property
    def event(self) -> LossEvent:
        """The loss event of one draw, at the claim."""
        return self._facts.event

    @property
    def parameters(self) -> Mapping[str, Json]:
        """Everything from which the weight table follows, as strict JSON."""
        return dict(self._facts.parameters)

    @property
    def support(self) -> Sequence[int]:
        """All output codes: every input can produce each of them."""
        return range(self.outputs)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over name, version, parameters and the weights, hex."""
        head: dict[str, Any] = {"name": self.name, "version": self.version, "parameters": dict(self.parameters)}
        summary = hashlib.sha256(rfc8785.dumps(head))
        for part in self._table_bytes():
            summary.update(part)
        return summary.hexdigest()

    @cached_property
    def table_digest(self) -> str:
        """SHA-256 over the weights alone, hex: channels that claim differently and draw alike have the same."""
        summary = hashlib.sha256()
        for part in self._table_bytes():
            summary.update(part)
        return summary.hexdigest()

    @property
    def scores(self) -> NDArray[np.float64] | None:
        """Unbiased decoder in code steps, or None; see ``Channel.scores``."""
        return None

    @property
    def score_bias(self) -> float:
        """Largest distance, in code steps, between an input and the expected score of its output; 0 when unbiased."""
        return 0.0

    @cached_property
    def moments(self) -> Moments | None:
        """Mean and variance of the decoded score for each input, given that a value is released; None for labels."""
        scores = self.scores
        if scores is None:
            return None
        is_value = ~np.isnan(scores)
        known = np.where(is_value, scores, 0.0)
        released = self.expectation(is_value.astype(np.float64))
        mean = self.expectation(known) / released
        variance = self.expectation(known**2) / released - mean**2
        return Moments(mean=mean, variance=np.maximum(variance, 0.0))

    def sample(self, codes: NDArray[np.int32], keystream: Keystream, first_row: int = 0) -> NDArray[np.int32]:
        """Draw outputs: int32[rows] -> int32[rows]; row r uses words ``(first_row + r) * words_per_row`` onwards.

        Args:
            codes: private input codes.
            keystream: the stream of this draw, used for nothing else.
            first_row: global index of the first row.

        Raises:
            InputContractError: a code outside ``0..inputs-1``; nothing is drawn.
        """
        return sample_rows(self, self._draw, codes, keystream, first_row)

    def coarsen(self, level: Epsilon | str) -> Kernel | None:
        """None, where no kernel turns these outputs into those of a lower level."""
        return None

    def _checked_code(self, code: int) -> int:
        if not 0 <= code < self.inputs:
            raise IndexError(f"input codes go from 0 to {self.inputs - 1}")
        return code

    @abstractmethod
    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 1 that sum to ``total``."""

    @abstractmethod
    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output, for each input: float64[outputs] -> float64[inputs]."""

    @abstractmethod
    def invert(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Unbiased input frequencies from output frequencies: float64[outputs] -> float64[inputs]."""

    @abstractmethod
    def _draw(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write one chunk of outputs: int32[rows], uint64[rows * words_per_row] -> ``out``, int32[rows]."""

    @abstractmethod
    def _table_bytes(self) -> Iterator[bytes]:
        """Bytes that fix every weight, little-endian words, for the digest."""
