"""``binned_randomized_response``: randomised response over equal bins of a number; each bin is released as its middle.

From epsilon 1 up it keeps more correlation than clamped Laplace noise on most shapes, because nothing is lost at the
ends. The number of bins is declared: it may not be chosen by looking at the data. Source: Kairouz, Bonawitz and Ramage
2016 for the response over bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import Domain, EqualBins
from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel, TableKernel
from trasgo_lib.mechanisms.calibration import SLACK, is_beyond_words, loss_event, meets, refuse_claim, require_certified
from trasgo_lib.mechanisms.channel import Channel, Json, Kernel
from trasgo_lib.mechanisms.coupling import Coupling, Ladder, level_facts, lower_claim, unreachable_step
from trasgo_lib.mechanisms.krr import other_weight
from trasgo_lib.mechanisms.krr_chain import assemble_rotations, read_rotations, solve_rotations
from trasgo_lib.mechanisms.parameters import StoredParameters, read_epsilon, refused
from trasgo_lib.mechanisms.rotation_chain import RotationProduct, rotate, rotation_table
from trasgo_lib.noise import AliasTable

NAME = "binned_randomized_response"
VERSION = 1

_WORD = 1 << 64


class BinTable(TableKernel):
    """From codes to bins: the bin of the code, or one of the others.

    Args:
        bins: int32[inputs], the bin of every code; the missing code, where there is one, has the last bin alone.
        other: weight of each bin but the true one, out of 2**64.
    """

    def __init__(self, bins: NDArray[np.int32], other: int) -> None:
        super().__init__(len(bins), int(bins[-1]) + 1)
        self.bins, self.other = bins, other
        self.keep = _WORD - (self.outputs - 1) * other

    @cached_property
    def _alias(self) -> AliasTable:
        return rotation_table(self.outputs, self.other)

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over bins for one input: integers >= 1 that sum to 2**64."""
        row = [self.other] * self.outputs
        row[self.bins[self._checked_code(code)]] = self.keep
        return tuple(row)

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write one chunk of bins: int32[rows], uint64[rows] -> ``out``, int32[rows]."""
        rotate(self._alias, self.outputs, self.bins[codes], words, out)

    def table_bytes(self) -> Iterator[bytes]:
        """Bytes that fix every weight."""
        yield self.bins.astype("<i4").tobytes()
        yield self.other.to_bytes(8, "little")

    def _table_bytes(self) -> Iterator[bytes]:
        yield from self.table_bytes()


class BinnedKernel(TableKernel):
    """From released codes to released codes: keep the bin's representative, or draw that of another bin.

    Args:
        table: from codes to bins.
        representatives: int32[bins], the released code of every bin.
    """

    def __init__(self, table: BinTable, representatives: NDArray[np.int32]) -> None:
        super().__init__(table.inputs)
        self._table, self._representatives = table, representatives

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: at least 1 at representatives, 0 elsewhere."""
        row = [0] * self.outputs
        for place, weight in zip(self._representatives.tolist(), self._table.weights(code), strict=True):
            row[place] = weight
        return tuple(row)

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write one chunk of outputs: int32[rows], uint64[rows] -> ``out``, int32[rows]."""
        self._table.draw_into(codes, words, out)
        self._representatives.take(out, out=out, mode="clip")

    def _table_bytes(self) -> Iterator[bytes]:
        yield from self._table.table_bytes()
        yield self._representatives.astype("<i4").tobytes()


class BinnedChannel(TableChannel):
    """From codes to representatives of bins; other output codes have weight 0.

    Args:
        facts: public facts.
        bins: int32[inputs], the bin of every code.
        representatives: int32[bins], the released code of every bin.
        other: weight of each bin but the true one, out of 2**64.
        values: how many leading codes are numbers that have scores; 0 for labels.
    """

    def __init__(
        self,
        facts: ChannelFacts,
        bins: NDArray[np.int32],
        representatives: NDArray[np.int32],
        other: int,
        values: int,
    ) -> None:
        super().__init__(facts)
        self._table = BinTable(bins, other)
        self._released = BinnedKernel(self._table, representatives)
        self._representatives = representatives
        self._values = values
        self._counts = np.bincount(bins)

    @property
    def support(self) -> Sequence[int]:
        """Representatives of the bins: every input can produce each of them."""
        return tuple(self._representatives.tolist())

    @property
    def other(self) -> int:
        """Weight of each bin but the true one, out of 2**64."""
        return self._table.other

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: at least 1 at representatives, 0 elsewhere; they sum to 2**64."""
        return self._released.weights(code)

    def coarsen(self, level: Epsilon | str) -> Kernel | None:
        """Keep the released representative or draw another, solved so that the product meets the lower level."""
        claim, states = lower_claim(self.name, level, self.event), self._table.outputs
        other = RotationProduct.of(states, (self.other,)).step_to(claim.decimal - SLACK)
        if other is None:
            raise unreachable_step(self.name, claim)
        return BinnedKernel(BinTable(self._table.bins, other), self._representatives)

    @property
    def _kept(self) -> float:
        return (self._table.keep - self._table.other) / _WORD

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output, for each input."""
        known = values[self._representatives]
        by_bin: NDArray[np.float64] = self._table.other / _WORD * known.sum() + self._kept * known
        return by_bin[self._table.bins]

    @cached_property
    def scores(self) -> NDArray[np.float64] | None:
        """Decoder of numbers: its mean is the representative of the input's bin, given that a value is released."""
        if not self._values:
            return None
        middles = self._representatives[self._representatives < self._values].astype(np.float64)
        kept = self._kept / (self._kept + len(middles) * self._table.other / _WORD)
        scores = (np.arange(self._values) - (1 - kept) * middles.mean()) / kept
        return np.append(scores, np.full(self.outputs - self._values, np.nan))

    @property
    def score_bias(self) -> float:
        """Largest distance, in code steps, between a code and the representative of its bin."""
        places = np.arange(self._values)
        if not len(places):
            return 0.0
        return float(np.abs(self._representatives[self._table.bins[places]] - places).max())

    def invert(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Unbiased shares of bins, spread evenly over the codes of each: nothing tells codes of one bin apart."""
        outputs = np.asarray(histogram, dtype=np.float64)[self._representatives]
        shares = (outputs - self._table.other / _WORD * outputs.sum()) / self._kept
        frequencies: NDArray[np.float64] = (shares / self._counts)[self._table.bins]
        return frequencies

    def _draw(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        self._released.draw_into(codes, words, out)

    def _table_bytes(self) -> Iterator[bytes]:
        yield self._table.bins.astype("<i4").tobytes()
        yield self._representatives.astype("<i4").tobytes()
        yield self._table.other.to_bytes(8, "little")


def bin_tables(bins: EqualBins, missing: bool) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The bin of every code and the code of every bin, with one more of each for a missing value.

    Args:
        bins: bins of the domain's codes.
        missing: whether a missing value is one more code, alone in its bin.
    """
    if not missing:
        return bins.of_codes, bins.representatives
    return (
        np.append(bins.of_codes, np.int32(bins.count)),
        np.append(bins.representatives, np.int32(bins.size)),
    )


def _other_for(codes: int, claim: Epsilon) -> int | None:
    if is_beyond_words(claim):
        return None
    other = other_weight(codes, claim.decimal - SLACK)
    return other if meets(RotationProduct.of(codes, (other,)).certificate, claim) else None


def _solved(bins: EqualBins, claim: Epsilon, missing: bool) -> int:
    other = _other_for(bins.count + missing, claim)
    if other is None:
        codes = bins.count + missing
        refuse_claim(NAME, codes, claim, lambda trial: _other_for(codes, trial) is not None)
    return other


def _shape(domain: Domain, bins: EqualBins, missing: bool) -> dict[str, Json]:
    return {"codes": domain.size, "bins": bins.count} | ({"missing": "code"} if missing else {})


def _read_shape(stored: StoredParameters, domain: Domain) -> tuple[EqualBins, bool]:
    stored.require_size(domain.size)
    bins = EqualBins(domain.size, stored.integer("bins", below=2**31))
    missing = stored.has("missing")
    if missing and stored.text("missing") != "code":
        raise refused("missing", "code", "another text", "The channel file is damaged.")
    return bins, missing


def build_binned(domain: Domain, epsilon: object, *, bins: object = None, missing: bool = False) -> Channel:
    """Randomised response over equal bins of a number or date domain.

    Args:
        domain: declared domain.
        epsilon: decimal text.
        bins: how many, 2 to the size of the domain; public.
        missing: whether a missing value is one more code.

    Raises:
        ConfigError: no such number of bins, or an epsilon that 64-bit weights cannot realise.
    """
    claim, cut = read_epsilon(NAME, epsilon), EqualBins(domain.size, bins)  # type: ignore[arg-type]
    other = _solved(cut, claim, missing)
    return rebuild_binned(domain, {"epsilon": claim.text, **_shape(domain, cut, missing), "other": str(other)})


def rebuild_binned(domain: Domain, parameters: Mapping[str, Json]) -> Channel:
    """The channel of stored parameters, without a search.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: the weights prove less than the claim.
    """
    stored = StoredParameters(NAME, parameters)
    claim, (bins, missing) = read_epsilon(NAME, stored.text("epsilon")), _read_shape(stored, domain)
    states, size = bins.count + missing, domain.size + missing
    other = stored.integer("other", below=-(-_WORD // states))
    stored.finish()
    if other == 0:
        raise refused(f"{NAME} parameters.other", "1 or more", "0", "The channel file is damaged.")
    facts = ChannelFacts(
        name=NAME,
        version=VERSION,
        inputs=size,
        outputs=size,
        certified_epsilon=require_certified(RotationProduct.of(states, (other,)).certificate, claim, NAME),
        certified_delta=Decimal(0),
        event=loss_event(claim),
        parameters=dict(parameters),
    )
    return BinnedChannel(facts, *bin_tables(bins, missing), other, domain.size)


def search_binned(domain: Domain, ladder: Ladder, *, bins: object = None, missing: bool = False) -> dict[str, Json]:
    """Parameters of the chain: the weights of the top level and of every kernel.

    Raises:
        ConfigError: no such number of bins, or a claim that words cannot realise.
    """
    cut = EqualBins(domain.size, bins)  # type: ignore[arg-type]
    others = solve_rotations(NAME, cut.count + missing, _solved(cut, ladder.top, missing), ladder)
    return {"levels": ladder.texts, **_shape(domain, cut, missing), "others": others}


def couple_binned(domain: Domain, parameters: Mapping[str, Json]) -> Coupling:
    """The coupled levels of stored parameters.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: some level's integers prove less than its claim.
    """
    stored = StoredParameters(NAME, parameters)
    ladder, (bins, missing) = Ladder.read(NAME, stored.texts("levels")), _read_shape(stored, domain)
    states, size = bins.count + missing, domain.size + missing
    others = read_rotations(stored, states, len(ladder.claims))
    stored.finish()
    of_codes, representatives = bin_tables(bins, missing)

    def channel(claim: Epsilon, product: RotationProduct, difference: Decimal) -> BinnedChannel:
        facts = level_facts(NAME, VERSION, (size, size), parameters, claim, product.certificate, difference)
        return BinnedChannel(facts, of_codes, representatives, product.nominal_other, domain.size)

    steps, channels = assemble_rotations(states, others, ladder, channel)
    return Coupling(BinTable(of_codes, others[0]), steps, channels, representatives)
