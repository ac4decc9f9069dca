"""``randomized_response`` and ``kary_randomized_response``: keep the code, or release one of the others.

The true code has weight ``K``, every other code ``q``, with ``K / q`` as close to ``exp(epsilon)`` as integers allow
from below. One table of offsets serves every input: output = (input + offset) mod k. Source: Warner 1965; Kairouz,
Bonawitz and Ramage 2016.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel
from trasgo_lib.mechanisms.calibration import (
    SLACK,
    is_beyond_words,
    loss_event,
    meets,
    refuse_claim,
    require_certified,
)
from trasgo_lib.mechanisms.certificate import log_ratio
from trasgo_lib.mechanisms.channel import Channel, Json, Kernel
from trasgo_lib.mechanisms.coupling import lower_claim, unreachable_step
from trasgo_lib.mechanisms.fixed_point import CONTEXT
from trasgo_lib.mechanisms.parameters import StoredParameters, read_epsilon, refused
from trasgo_lib.mechanisms.rotation_chain import RotationKernel, RotationProduct, rotate, rotation_table
from trasgo_lib.noise import AliasTable

BINARY_NAME = "randomized_response"
KARY_NAME = "kary_randomized_response"
VERSION = 1

_WORD = 1 << 64
_ORDERED_KINDS = frozenset({"number", "date"})


class RotationChannel(TableChannel):
    """Randomised response over k codes.

    Args:
        facts: public facts; inputs equal outputs.
        other: weight of each code but the true one, out of 2**64.
        values: how many leading codes are numbers that have scores; 0 for labels.
    """

    def __init__(self, facts: ChannelFacts, other: int, values: int) -> None:
        super().__init__(facts)
        self._other = other
        self._keep = _WORD - (facts.inputs - 1) * other
        self._values = values

    @cached_property
    def _alias(self) -> AliasTable:
        return rotation_table(self.inputs, self._other)

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 1 that sum to 2**64."""
        row = [self._other] * self.outputs
        row[self._checked_code(code)] = self._keep
        return tuple(row)

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output, for each input."""
        other, kept = self._other / _WORD, (self._keep - self._other) / _WORD
        expected: NDArray[np.float64] = other * values.sum() + kept * values
        return expected

    @cached_property
    def scores(self) -> NDArray[np.float64] | None:
        """Unbiased decoder for numbers and dates: codes pushed away from the middle; None for labels.

        With a missing code: given that a value is released, NaN for the missing code.
        """
        if not self._values:
            return None
        codes = np.arange(self._values, dtype=np.float64)
        released = self._keep + (self._values - 1) * self._other  # weight of releasing a value, given a value
        kept = (self._keep - self._other) / released
        scores = (codes - (1 - kept) * codes.mean()) / kept
        return np.append(scores, np.full(self.outputs - self._values, np.nan))

    def invert(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Unbiased input frequencies from output frequencies, in closed form."""
        outputs = np.asarray(histogram, dtype=np.float64)
        other, kept = self._other / _WORD, (self._keep - self._other) / _WORD
        frequencies: NDArray[np.float64] = (outputs - other * outputs.sum()) / kept
        return frequencies

    @property
    def other(self) -> int:
        """Weight of each code but the true one, out of 2**64."""
        return self._other

    def coarsen(self, level: Epsilon | str) -> Kernel | None:
        """Keep the released code or draw afresh, solved so that the product meets the lower level."""
        claim = lower_claim(self.name, level, self.event)
        other = RotationProduct.of(self.inputs, (self._other,)).step_to(claim.decimal - SLACK)
        if other is None:
            raise unreachable_step(self.name, claim)
        return RotationKernel(self.inputs, other)

    def _draw(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        rotate(self._alias, self.outputs, codes, words, out)

    def _table_bytes(self) -> Iterator[bytes]:
        yield self._other.to_bytes(8, "little")
        yield self._keep.to_bytes(8, "little")


def is_numeric(domain: Domain) -> bool:
    """Whether codes of this domain stand for places on a scale, so that scores mean something."""
    return domain.kind in _ORDERED_KINDS or domain.describe().get("ordered") is True


def other_weight(codes: int, level: Decimal) -> int:
    """The least weight of the other codes whose ratio to the true code's is at most ``exp(level)``."""
    odds = CONTEXT.add(CONTEXT.exp(level), Decimal(codes - 1))
    return int(CONTEXT.divide(Decimal(_WORD), odds)) + 1


def _certificate(codes: int, other: int) -> Decimal:
    keep = _WORD - (codes - 1) * other
    return log_ratio(max(keep, other), min(keep, other))


def _assemble(name: str, domain: Domain, codes: int, claim: Epsilon, other: int) -> RotationChannel:
    facts = ChannelFacts(
        name=name,
        version=VERSION,
        inputs=codes,
        outputs=codes,
        certified_epsilon=require_certified(_certificate(codes, other), claim, name),
        certified_delta=Decimal(0),
        event=loss_event(claim),
        parameters={"epsilon": claim.text, "codes": codes, "other": str(other)},
    )
    return RotationChannel(facts, other, domain.size if is_numeric(domain) else 0)


def _other_for(codes: int, claim: Epsilon) -> int | None:
    if is_beyond_words(claim):
        return None
    other = other_weight(codes, CONTEXT.subtract(claim.decimal, SLACK))
    return other if meets(_certificate(codes, other), claim) else None


def require_binary(name: str, domain: Domain) -> None:
    """Refuse the binary form on any but two codes.

    Raises:
        ConfigError: another number of codes.
    """
    if name == BINARY_NAME and domain.size != 2:
        raise refused(f"{name} domain", "two codes", f"{domain.size} codes", f"Use {KARY_NAME}.")


def build_randomized_response(name: str, domain: Domain, epsilon: object, *, missing: bool = False) -> Channel:
    """Randomised response over the domain's codes.

    Args:
        name: ``randomized_response`` (two codes) or ``kary_randomized_response``.
        domain: declared domain.
        epsilon: decimal text.
        missing: whether a missing value is one more code, treated like the others.

    Raises:
        ConfigError: more than two codes for the binary form, or an epsilon that 64-bit weights cannot realise.
    """
    require_binary(name, domain)
    claim, codes = read_epsilon(name, epsilon), domain.size + missing
    other = _other_for(codes, claim)
    if other is None:
        refuse_claim(name, codes, claim, lambda trial: _other_for(codes, trial) is not None)
    return _assemble(name, domain, codes, claim, other)


def rebuild_randomized_response(name: str, domain: Domain, parameters: Mapping[str, Json]) -> Channel:
    """The channel of stored parameters, without a search.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: the weights prove less than the claim.
    """
    stored = StoredParameters(name, parameters)
    require_binary(name, domain)
    codes = stored.integer("codes", below=2**31)
    if codes not in (domain.size, domain.size + 1):
        raise refused(f"{name} parameters.codes", f"{domain.size}, or one more", str(codes), "Use its own domain.")
    claim, other = read_epsilon(name, stored.text("epsilon")), stored.integer("other", below=_WORD // (codes - 1))
    stored.finish()
    if other == 0:
        raise refused(f"{name} parameters.other", "1 or more", "0", "The channel file is damaged.")
    return _assemble(name, domain, codes, claim, other)
