"""Every transcript of an adaptive run on a tiny domain, with its exact probability for every raw file.

A transcript is all that anyone can see: each reveal with its codes, in order, the loop's last word, and whether the
version was published, held by the loop or stopped by an output check. Laws come from the integer matrices of the real
chains and channels, decisions from the real ``next_step``, charges from the real loss events; so a transcript's weight
for a raw file is an exact integer, and what a run tells about one privacy unit is a quotient of two such integers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise, product
from math import prod
from typing import Any, NamedTuple, Protocol

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.budget import Cost, cost
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop import Continue, History, PredictedLoss, RoundEntry, Stop, first_step, next_step
from trasgo_lib.mechanisms import Chain, Channel
from trasgo_lib.plan import Target, UnitPlan

Codes = tuple[int, ...]
RawFile = tuple[Codes, ...]
"""By row, the code of every unit, in plan order."""

UP = Context(prec=80, rounding=ROUND_CEILING)
DOWN = Context(prec=80, rounding=ROUND_FLOOR)
ODDS_BITS = 160


class Law(NamedTuple):
    """Of one unit in one row: by released codes, one for each level looked at, the weight for every input code."""

    weights: Mapping[Codes, tuple[int, ...]]
    bits: int
    """Weights of one input sum to ``2**bits``."""


class Source(Protocol):
    """Where a unit's released codes come from."""

    @property
    def inputs(self) -> int: ...

    def law(self, levels: tuple[Epsilon, ...]) -> Law:
        """The joint law of these rising levels; finer levels and those in between are summed out."""


class ChainSource:
    """The integer matrices of a chain, as ``Chain.sample`` runs them."""

    def __init__(self, chain: Chain) -> None:
        self.chain, self.inputs = chain, chain.coupling.top.inputs
        self._laws: dict[tuple[Epsilon, ...], Law] = {}

    def law(self, levels: tuple[Epsilon, ...]) -> Law:
        if levels not in self._laws:
            self._laws[levels] = self._law({self.chain.rung(level) for level in levels})
        return self._laws[levels]

    def _law(self, rungs: set[int]) -> Law:
        top, steps = self.chain.coupling.top, self.chain.coupling.steps
        rows = [top.weights(code) for code in range(top.inputs)]
        states = len(rows[0])
        place = self._released(states)
        bits = top.total.bit_length() - 1
        found: dict[tuple[Codes, int], list[int]] = {}
        for state in range(states):
            path = (place[state],) if len(steps) in rungs else ()
            found[path, state] = [row[state] for row in rows]
        for rung in range(len(steps) - 1, min(rungs) - 1, -1):
            kernel = [steps[rung].weights(state) for state in range(states)]
            bits += steps[rung].total.bit_length() - 1
            below: dict[tuple[Codes, int], list[int]] = {}
            for (path, state), weights in found.items():
                for after, share in enumerate(kernel[state]):
                    longer = (place[after], *path) if rung in rungs else path
                    known = below.setdefault((longer, after), [0] * len(weights))
                    for at, weight in enumerate(weights):
                        known[at] += weight * share
            found = below
        merged: dict[Codes, list[int]] = {}
        for (path, _), weights in found.items():
            known = merged.setdefault(path, [0] * len(weights))
            for at, weight in enumerate(weights):
                known[at] += weight
        return Law({path: tuple(weights) for path, weights in merged.items()}, bits)

    def _released(self, states: int) -> list[int]:
        import numpy as np

        return self.chain.coupling.released(np.arange(states, dtype=np.int32)).tolist()


class ChannelSource:
    """One fresh draw of one channel."""

    def __init__(self, channel: Channel) -> None:
        self.inputs, self._channel = channel.inputs, channel

    def law(self, levels: tuple[Epsilon, ...]) -> Law:
        (_,) = levels
        rows = [self._channel.weights(code) for code in range(self.inputs)]
        weights = {(code,): tuple(row[code] for row in rows) for code in range(self._channel.outputs)}
        return Law(weights, self._channel.total.bit_length() - 1)


class Independent:
    """Levels that come from several sources without a common draw."""

    def __init__(self, parts: Mapping[Epsilon, Source]) -> None:
        self.inputs = next(iter(parts.values())).inputs
        self._parts, self._laws = parts, dict[tuple[Epsilon, ...], Law]()

    def law(self, levels: tuple[Epsilon, ...]) -> Law:
        if levels not in self._laws:
            sources = list(dict.fromkeys(self._parts[level] for level in levels))
            laws = [source.law(tuple(one for one in levels if self._parts[one] is source)) for source in sources]
            weights = {}
            for chosen in product(*(law.weights.items() for law in laws)):
                coming = {source: iter(path) for source, (path, _) in zip(sources, chosen, strict=True)}
                path = tuple(next(coming[self._parts[level]]) for level in levels)
                weights[path] = tuple(prod(each) for each in zip(*(of for _, of in chosen), strict=True))
            self._laws[levels] = Law(weights, sum(law.bits for law in laws))
        return self._laws[levels]


class SharedUniforms:
    """A mutant: every level is drawn from its own channel, all of them with the same word, by inversion."""

    def __init__(self, chain: Chain) -> None:
        self._chain, self.inputs = chain, chain.coupling.top.inputs

    def law(self, levels: tuple[Epsilon, ...]) -> Law:
        channels = [self._chain.channel(level) for level in levels]
        merged: dict[Codes, list[int]] = {}
        for code in range(self.inputs):
            ends = [self._ends(channel.weights(code)) for channel in channels]
            cuts = sorted({0, *(end for each in ends for end in each)})
            for low, high in pairwise(cuts):
                path = tuple(sum(end <= low for end in each) for each in ends)
                merged.setdefault(path, [0] * self.inputs)[code] += high - low
        return Law({path: tuple(weights) for path, weights in merged.items()}, channels[0].total.bit_length() - 1)

    @staticmethod
    def _ends(row: Sequence[int]) -> list[int]:
        ends, total = [], 0
        for weight in row:
            total += weight
            ends.append(total)
        return ends


@dataclass(frozen=True)
class TinyPlan:
    """A plan as the loop sees it, with the product's own units."""

    units: tuple[UnitPlan, ...]
    epsilon_total: Epsilon
    delta_total: Delta = field(default=Delta(0))
    geo_total: Geo = field(default=Geo(0))
    max_rows: int = 1
    max_rounds: int = 100
    on_unmet: str = "hold"
    composition: str = "chain"


def tiny_unit(
    name: str, mechanism: str, domain: Any, ladder: str, ceiling: str | None = "0.05", chained: bool = True, **own: Any
) -> UnitPlan:
    rungs = tuple(Epsilon.parse(level) for level in ladder.split())
    return UnitPlan(
        name=name,
        type="number" if domain.kind == "number" else "category",
        columns=(name,),
        domain=domain,
        mechanism=mechanism,
        parameters=tuple(sorted(own.items())),
        missing="code" if own.get("missing") else "error",
        fill=None,
        missing_codes=(),
        date_format=None,
        outside="reject",
        rungs=rungs,
        delta=Delta.parse(own.get("delta", "0"), zero=True),
        geo=Geo(0),
        target=None if ceiling is None else Target("tvd", ceiling),
        bins=domain.size if domain.kind == "number" else None,
        draws_at_most=len(rungs),
        is_chained=chained,
        chain_digest="0" * 64,
    )


def source_of(unit: UnitPlan) -> Source:
    if unit.is_chained:
        return ChainSource(unit.chain)
    return Independent({level: ChannelSource(unit.channel(level)) for level in unit.rungs})


class Look(NamedTuple):
    """One reveal: the codes of all rows of one unit at one level."""

    unit: str
    level: Epsilon
    codes: Codes


Newest = Mapping[str, Look]


class Found(NamedTuple):
    """The loss of one unit, from whatever the policy looks at."""

    value: float | None
    interval: tuple[float, float] | None = None
    is_mendable: bool = True


Losses = Callable[[Newest, RawFile | None], Mapping[str, Found]]
Expected = Callable[[Newest], Mapping[str, tuple[PredictedLoss, ...]]]


def arbitrary_losses(*choices: float | None) -> Losses:
    """Losses that are some function of the newest released codes and of nothing else."""

    def find(newest: Newest, _: RawFile | None) -> Mapping[str, Found]:
        found = {}
        for name, look in newest.items():
            others = sorted((other.unit, other.codes) for other in newest.values())
            value = choices[_hashed("loss", look.unit, look.level.text, others) % len(choices)]
            found[name] = Found(value, None if value is None else (value / 2, value))
        return found

    return find


def arbitrary_predictions(plan: TinyPlan) -> Expected:
    """Promises that are some function of the newest released codes; they make the loop jump over rungs."""

    def expect(newest: Newest) -> Mapping[str, tuple[PredictedLoss, ...]]:
        promised = {}
        for unit in plan.units:
            look = newest[unit.name]
            highs = {rung: (0.01, 0.5)[_hashed("promise", look, rung.text) % 2] for rung in unit.rungs}
            promised[unit.name] = tuple(
                PredictedLoss(rung, Estimate(high / 2, 0.0, high, 0.1)) for rung, high in highs.items()
            )
        return promised

    return expect


def _hashed(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "big")


@dataclass(frozen=True)
class Transcript:
    """Everything seen of one run.

    Args:
        looks: every reveal, in order.
        ending: the loop's reason and sentences, and what became of the version.
    """

    looks: tuple[Look, ...]
    ending: tuple[str, ...]

    def of(self, unit: str) -> tuple[Look, ...]:
        return tuple(look for look in self.looks if look.unit == unit)

    def levels(self, unit: str) -> tuple[Epsilon, ...]:
        return tuple(look.level for look in self.of(unit))


def charged(plan: TinyPlan, transcript: Transcript) -> Cost:
    """What the ledger is charged on this path: each reveal's own loss event, as the draw task makes it."""
    total = Cost.zero()
    for unit in plan.units:
        before = Epsilon(0)
        for level in transcript.levels(unit.name):
            total, before = total + cost(unit.event(level, before), plan.max_rows), level
    return total


@dataclass(frozen=True)
class Run:
    """A plan, its sources and what steers it, over a given number of rows."""

    plan: TinyPlan
    rows: int
    losses: Losses
    expected: Expected | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)
    gate: Callable[[Newest, RawFile | None], bool] = lambda _newest, _raw: True
    reads_raw: bool = False

    @cached_property
    def source(self) -> Mapping[str, Source]:
        return {unit.name: self.sources.get(unit.name) or source_of(unit) for unit in self.plan.units}

    @cached_property
    def raw_files(self) -> tuple[RawFile, ...]:
        row = product(*(range(self.source[unit.name].inputs) for unit in self.plan.units))
        return tuple(product(tuple(row), repeat=self.rows))

    @cached_property
    def transcripts(self) -> tuple[Transcript, ...]:
        """Every transcript of a run whose decisions read released codes only."""
        assert not self.reads_raw
        return tuple(self.walk(None))

    def walk(self, raw: RawFile | None) -> Iterator[Transcript]:
        """Every transcript that can come of a raw file; None where decisions may not see it."""
        return self._after(first_step(self.plan), (), History(), raw)

    def _after(
        self, step: Continue | Stop, looks: tuple[Look, ...], history: History, raw: RawFile | None
    ) -> Iterator[Transcript]:
        newest = {look.unit: look for look in looks}
        if isinstance(step, Stop):
            yield Transcript(looks, (step.reason, *self._sentences(step), self._fate(step, newest, raw)))
            return
        for codes in product(*(self._outputs(name) for name, _ in step.levels)):
            new = tuple(Look(name, level, of) for (name, level), of in zip(step.levels, codes, strict=True))
            known = {**newest, **{look.unit: look for look in new}}
            entries = self._entries((*looks, *new), known, raw)
            longer = history.append(entries)
            predictions = None if self.expected is None else self.expected(known)
            yield from self._after(next_step(self.plan, longer, predictions), (*looks, *new), longer, raw)

    def _outputs(self, unit: str) -> Iterator[Codes]:
        source = self.source[unit]
        first = next(one for one in self.plan.units if one.name == unit).rungs[:1]
        return product(sorted({code for (code,) in source.law(first).weights}), repeat=self.rows)

    def _entries(self, looks: Sequence[Look], newest: Newest, raw: RawFile | None) -> Iterator[RoundEntry]:
        losses = self.losses(newest, raw)
        for unit in self.plan.units:
            found = losses[unit.name] if unit.target is not None else Found(None)
            yield RoundEntry.judged(
                unit.name,
                newest[unit.name].level,
                sum(look.unit == unit.name for look in looks),
                found.value,
                unit.target,
                source="released",
                interval=found.interval,
                is_mendable=found.is_mendable,
            )

    @staticmethod
    def _sentences(stop: Stop) -> Iterator[str]:
        return (shortfall.message for shortfall in stop.shortfalls)

    def _fate(self, stop: Stop, newest: Newest, raw: RawFile | None) -> str:
        if stop.shortfalls and self.plan.on_unmet == "hold":
            return "held"
        return "published" if self.gate(newest, raw) else "stopped by a check"

    def laws(self, transcript: Transcript, row: int) -> list[tuple[int, ...]]:
        """By unit, the weights of what was seen of one row, for every input code."""
        found = []
        for unit in self.plan.units:
            looks = transcript.of(unit.name)
            law = self.source[unit.name].law(tuple(look.level for look in looks))
            path = tuple(look.codes[row] for look in looks)
            found.append(law.weights.get(path, (0,) * self.source[unit.name].inputs))
        return found

    def bits(self, transcript: Transcript) -> int:
        units = (unit.name for unit in self.plan.units)
        return self.rows * sum(self.source[name].law(transcript.levels(name)).bits for name in units)

    def weight(self, transcript: Transcript, raw: RawFile) -> int:
        """Its probability for a raw file, times ``2**bits``."""
        laws = (self.laws(transcript, row) for row in range(self.rows))
        return prod(law[code] for of, codes in zip(laws, raw, strict=True) for law, code in zip(of, codes, strict=True))


class Ratio(NamedTuple):
    """A quotient of two probabilities; infinite where ``low`` is 0."""

    high: int
    low: int

    def __gt__(self, other: object) -> bool:
        assert isinstance(other, Ratio)
        return self.high * other.low > other.high * self.low

    @property
    def log(self) -> Decimal:
        """Natural logarithm, rounded up."""
        if not self.low:
            return Decimal("Infinity")
        return UP.divide(Decimal(self.high), Decimal(self.low)).ln(UP).next_plus(UP)


NOTHING = Ratio(1, 1)


def odds(epsilon: Epsilon) -> int:
    """``e**epsilon`` times ``2**ODDS_BITS``, rounded down."""
    return int(DOWN.multiply(epsilon.decimal.exp(DOWN).next_minus(DOWN), Decimal(1 << ODDS_BITS)))


def worst_by_charge(run: Run, charge: Callable[[TinyPlan, Transcript], Cost] = charged) -> dict[Cost, Ratio]:
    """By what a path was charged, the largest quotient over neighbouring raw files.

    Decisions that read released codes cancel, and so do the rows that two neighbours share. What is left of a
    quotient is one factor for each unit and row that differs, so its maximum is a product of maxima.
    """
    worst: dict[Cost, Ratio] = {}
    for transcript in run.transcripts:
        rows = []
        for row in range(run.rows):
            laws = run.laws(transcript, row)
            rows.append(Ratio(prod(max(law) for law in laws), prod(min(law) for law in laws)))
        groups = combinations(rows, min(run.plan.max_rows, run.rows))
        found = [Ratio(prod(one.high for one in group), prod(one.low for one in group)) for group in groups]
        _keep(worst, charge(run.plan, transcript), *found)
    return worst


def _keep(worst: dict[Cost, Ratio], paid: Cost, *found: Ratio) -> None:
    for ratio in found:
        if ratio > worst.get(paid, NOTHING):
            worst[paid] = ratio
    worst.setdefault(paid, NOTHING)


View = Callable[[Transcript], Hashable]


def seen_by_raw_file(run: Run, view: View | None = None) -> Mapping[Hashable, tuple[dict[RawFile, int], Transcript]]:
    """Without any shortcut: the weight of everything that can be seen, for every raw file, all over one total.

    Also checks that the weights of every raw file sum to that total: no transcript is missing.
    """
    walks = {raw: tuple(run.walk(raw)) for raw in run.raw_files} if run.reads_raw else None
    bits = max(run.bits(one) for one in (run.transcripts if walks is None else sum(walks.values(), ())))
    found: dict[Hashable, tuple[dict[RawFile, int], Transcript]] = {}
    for raw in run.raw_files:
        total = 0
        for transcript in run.transcripts if walks is None else walks[raw]:
            weight = run.weight(transcript, raw) << (bits - run.bits(transcript))
            known, _ = found.setdefault(transcript if view is None else view(transcript), ({}, transcript))
            known[raw] = known.get(raw, 0) + weight
            total += weight
        assert total == 1 << bits
    return found


def neighbours(run: Run) -> Iterator[tuple[RawFile, RawFile]]:
    """Ordered pairs of raw files that differ in the rows of one privacy unit."""
    for first, second in product(run.raw_files, repeat=2):
        if 1 <= sum(one != other for one, other in zip(first, second, strict=True)) <= run.plan.max_rows:
            yield first, second


def worst_by_enumeration(
    run: Run, charge: Callable[[TinyPlan, Transcript], Cost] = charged, view: View | None = None
) -> dict[Cost, Ratio]:
    """As ``worst_by_charge``, from the probabilities themselves; decisions may read anything."""
    pairs, worst = tuple(neighbours(run)), dict[Cost, Ratio]()
    for weights, transcript in seen_by_raw_file(run, view).values():
        quotients = (Ratio(weights.get(first, 0), weights.get(second, 0)) for first, second in pairs)
        _keep(worst, charge(run.plan, transcript), *(ratio for ratio in quotients if ratio.high))
    return worst


def passed(worst: Mapping[Cost, Ratio]) -> dict[Cost, Decimal]:
    """Charges that some path's log-ratio is above, with that log-ratio."""
    return {paid: ratio.log for paid, ratio in worst.items() if ratio.log > paid.epsilon.decimal}


def excess(run: Run, charge: Callable[[TinyPlan, Transcript], Cost] = charged) -> Fraction:
    """Largest over neighbours of the sum over transcripts of ``P - e**charged P'`` where positive; rounded up."""
    found = seen_by_raw_file(run)
    factors = [odds(charge(run.plan, transcript).epsilon) for _, transcript in found.values()]
    weights = [of for of, _ in found.values()]
    total = sum(of.get(run.raw_files[0], 0) for of in weights)
    worst = 0
    for first, second in neighbours(run):
        over = (
            (of.get(first, 0) << ODDS_BITS) - factor * of.get(second, 0)
            for of, factor in zip(weights, factors, strict=True)
        )
        worst = max(worst, sum(max(0, gap) for gap in over))
    return Fraction(worst, total << ODDS_BITS)


def excess_of_any_policy(units: Sequence[UnitPlan], looks: int) -> Fraction:
    """As ``excess``, for the worst of all policies: after every look it stops, or looks at any higher level of a unit.

    By backward induction over everything that can have been seen of one row, so no policy is left out.

    Args:
        units: chained units; each is first looked at on its lowest rung, as ``first_step`` does.
        looks: most levels looked at, over all units together.
    """
    sources = {unit.name: ChainSource(unit.chain) for unit in units}
    bits = sum(sources[unit.name].law(unit.rungs).bits for unit in units)
    seen_first = tuple((unit.rungs[0],) for unit in units)
    inputs = list(product(*(range(source.inputs) for source in sources.values())))

    def weight(levels: tuple[tuple[Epsilon, ...], ...], paths: tuple[Codes, ...], codes: Codes) -> int:
        laws = [source.law(of) for source, of in zip(sources.values(), levels, strict=True)]
        found = prod(law.weights[path][code] for law, path, code in zip(laws, paths, codes, strict=True))
        return found << (bits - sum(law.bits for law in laws))

    def value(
        levels: tuple[tuple[Epsilon, ...], ...], paths: tuple[Codes, ...], left: int, pair: tuple[Codes, Codes]
    ) -> int:
        paid = sum((of[-1] for of in levels), Epsilon(0))
        first, second = (weight(levels, paths, codes) for codes in pair)
        best = max(0, (first << ODDS_BITS) - odds(paid) * second)
        for at, unit in enumerate(units if left else ()):
            for rung in unit.rungs:
                if rung > levels[at][-1]:
                    higher = (*levels[:at], (*levels[at], rung), *levels[at + 1 :])
                    following = (
                        value(higher, (*paths[:at], (*paths[at], code), *paths[at + 1 :]), left - 1, pair)
                        for code in range(unit.chain.channel(rung).outputs)
                    )
                    best = max(best, sum(following))
        return best

    starts = list(product(*(source.law(of).weights for source, of in zip(sources.values(), seen_first, strict=True))))
    worst = max(
        sum(value(seen_first, paths, looks - len(units), (one, other)) for paths in starts)
        for one in inputs
        for other in inputs
        if one != other
    )
    return Fraction(worst, 1 << (bits + ODDS_BITS))
