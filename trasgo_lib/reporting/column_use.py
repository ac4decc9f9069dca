"""What an analyst can and cannot do with each column, from its channel and the number of rows alone.

No value is looked at, raw or released: errors are those of values that are spread evenly over the declared domain, as
the analysis room would state them. How wide an answer may be before that room warns or refuses is repeated here, since
it lies above this one; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import CategoryDomain, DateDomain, Domain, NumberDomain, ProductDomain
from trasgo_lib.estimation import NORMAL_95, decode, expectation
from trasgo_lib.mechanisms import margin

if TYPE_CHECKING:
    from trasgo_lib.mechanisms import Channel
    from trasgo_lib.reporting.facts import ReleaseFacts

WIDE = 0.25
"""An interval that takes up this part of everything possible is given with a warning."""

FEWEST_ROWS = 30
"""With fewer rows nothing is answered."""

MOST_CODES = 2048
"""Above so many values undoing the noise takes too long for a report, unless the noise has a structure."""

_EXACT = 1e-6
"""Largest bias, in terms of the range of a function, that counts as what float64 leaves of zero."""

_STRUCTURED = ("laplace", "randomized_response", "kary_randomized_response", "binned_randomized_response")

Verdict = Literal["yes", "roughly", "no"]
Kind = Literal["mean", "share", "variance", "correlation"]


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """One column that was noised and can be asked about; halves of points are not.

    Args:
        name: its name in the release.
        unit: its noise unit.
        domain: its own declared domain.
        channel: from its private codes to its released ones.
    """

    name: str
    unit: str
    domain: Domain
    channel: Channel


@dataclass(frozen=True, slots=True)
class Question:
    """One question to one column, and how well it is answered.

    Args:
        column: the column.
        kind: what is asked for.
        what: the same in words.
        unit: unit of the figures; empty for shares and correlations.
        noise_error: standard error from the noise alone.
        draw_error: standard error from the draw of the rows alone, which a release without noise would have too.
        bias: by how much the decoder may be off whatever the number of rows.
        possible: width of everything that the answer could be.
        rows: rows of the release.
    """

    column: str
    kind: Kind
    what: str
    unit: str
    noise_error: float
    draw_error: float
    bias: float
    possible: float
    rows: int

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval: noise, draw of the rows and bias together."""
        return NORMAL_95 * sqrt(self.noise_error**2 + self.draw_error**2) + self.bias

    @property
    def verdict(self) -> Verdict:
        """Whether the answer is given, given with a warning, or withheld."""
        if self.rows < FEWEST_ROWS:
            return "no"
        covered = 2 * self.half_width / self.possible
        return "no" if covered >= 1 else "roughly" if covered > WIDE else "yes"

    @property
    def is_hidden_by_bins(self) -> bool:
        """Whether what the decoder may be off alone covers everything possible, whatever the number of rows."""
        return 2 * self.bias >= self.possible

    @property
    def worth(self) -> float:
        """How many rows without noise tell as much; a bias is not counted."""
        both = self.noise_error**2 + self.draw_error**2
        return self.rows * self.draw_error**2 / both if both else float(self.rows)


def published_columns(facts: ReleaseFacts) -> tuple[PublishedColumn, ...]:
    """The columns that can be asked about, in release order."""
    found: dict[str, PublishedColumn] = {}
    for unit in facts.plan.units:
        channel = facts.published_channel(unit.name)
        if isinstance(unit.domain, ProductDomain):
            for part in unit.domain.parts:
                own = margin(channel, unit.domain, part.name)
                found[part.name] = PublishedColumn(part.name, unit.name, part.domain, own)
        elif unit.type != "point":
            found[unit.name] = PublishedColumn(unit.name, unit.name, unit.domain, channel)
    return tuple(found[column.name] for column in facts.plan.columns if column.name in found)


def verdicts(facts: ReleaseFacts) -> dict[str, dict[str, Verdict]]:
    """Whether each kind of question is answered, by column; columns without figures are left out.

    Args:
        facts: what the run states about itself.
    """
    found: dict[str, dict[str, Verdict]] = {}
    for column in published_columns(facts):
        for one in questions(column, facts.rows):
            found.setdefault(column.name, {})[one.kind] = one.verdict
    return found


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as a function of the private code, whose mean is the answer."""

    kind: Kind
    what: str
    unit: str
    function: NDArray[np.float64]
    possible: float


def questions(column: PublishedColumn, rows: int) -> Iterator[Question]:
    """What a column can be asked, with errors at a number of rows; nothing where undoing the noise takes too long.

    Args:
        column: the column.
        rows: rows of the release.
    """
    asked = [one for one in _asked(column) if one.possible > 0]
    if not asked or (column.channel.outputs > MOST_CODES and column.channel.name not in _STRUCTURED):
        return
    size, inputs = column.domain.size, column.channel.inputs
    wanted = np.zeros((inputs, len(asked)))  # a missing value, where it is a code, contributes nothing
    wanted[:size] = np.stack([one.function for one in asked], axis=1)
    found = decode(column.channel, wanted)
    if found is None:
        return
    means, squares = (expectation(column.channel, found.values**power)[:size] for power in (1, 2))
    noises, draws = np.maximum(squares - means**2, 0.0).mean(axis=0), wanted[:size].var(axis=0)
    for one, noise, draw, bias in zip(asked, noises.tolist(), draws.tolist(), found.bias.tolist(), strict=True):
        span = float(np.ptp(one.function))
        off = bias if bias > _EXACT * span else 0.0
        if one.kind == "correlation":
            # of two columns noised alike that hardly go together: both carry signal and noise, and errors multiply;
            # on a scale from -1 to 1, what either decoder is off moves the product, and the spreads divide it
            off = ((1 + off / (span / 2)) ** 2 - 1) * (span / 2) ** 2 / draw
            noise, draw = ((noise + draw) / draw) ** 2 - 1, 1.0
        errors = sqrt(noise / rows), sqrt(draw / rows)
        yield Question(column.name, one.kind, one.what, one.unit, *errors, off, one.possible, rows)


def _asked(column: PublishedColumn) -> Iterator[_Asked]:
    size = column.domain.size
    values, unit = _values(column.domain)
    if values is not None:
        span = float(np.ptp(values))
        centred = values - (values.max() + values.min()) / 2
        yield _Asked("mean", "mean", unit, centred, span)
        if size <= MOST_CODES:
            squares = centred**2
            yield _Asked(
                "variance", "variance", f"{unit} squared" if unit else "", squares - squares.mean(), span**2 / 4
            )
            yield _Asked("share", *_part(column, centred), 1.0)
    elif size > 1:
        yield _Asked("share", "share of one label", "", (np.arange(size) == 0).astype(np.float64), 1.0)
    ranks = _ranks(column.domain)
    if ranks is not None and 1 < size <= MOST_CODES:
        yield _Asked("correlation", "correlation with a column noised alike", "", ranks - ranks.mean(), 2.0)


def _part(column: PublishedColumn, centred: NDArray[np.float64]) -> tuple[str, str, NDArray[np.float64]]:
    """Which share of a number is asked for: that of a bin where bins are all that can be told apart."""
    support = list(column.channel.support)
    size = column.domain.size
    present = [code for code in support if code < size]
    if len(present) == size:
        return "share of the upper half of the range", "", (centred > 0).astype(np.float64)
    kept = np.zeros((column.channel.outputs, len(present)))
    kept[present, np.arange(len(present))] = 1.0
    nearest = expectation(column.channel, kept)[:size].argmax(axis=1)  # int[size], the bin that a code is kept in
    return "share of one bin", "", (nearest == len(present) - 1).astype(np.float64)


def _values(domain: Domain) -> tuple[NDArray[np.float64] | None, str]:
    """What codes count as in a mean, and the unit."""
    if isinstance(domain, NumberDomain):
        return domain.values.astype(np.float64), domain.unit
    if isinstance(domain, DateDomain):
        return domain.values.astype("datetime64[D]").astype(np.float64), "days"
    if isinstance(domain, CategoryDomain) and domain.output == "integer":
        return np.array([float(Decimal(label)) for label in domain.codes]), ""
    return None, ""


def _ranks(domain: Domain) -> NDArray[np.float64] | None:
    """What codes count as in a correlation; None for labels without an order."""
    values, _ = _values(domain)
    if values is None and isinstance(domain, CategoryDomain) and (domain.ordered or domain.size == 2):
        return np.arange(domain.size, dtype=np.float64)
    return values


@dataclass(frozen=True, slots=True)
class CentralComparison:
    """One statistic from this release, and from a central table that spends the same epsilon on it alone.

    Args:
        question: the statistic.
        epsilon: what the column's draws cost one row, in nats.
        central_error: standard error of the noise under central Laplace noise at that epsilon.
    """

    question: Question
    epsilon: str
    central_error: float

    @property
    def ratio(self) -> float:
        """Noise here by noise there."""
        return self.question.noise_error / self.central_error


def central_comparison(question: Question, epsilon: Epsilon, rows: int) -> CentralComparison | None:
    """What the same epsilon gives when the office adds noise to the finished figure.

    One row moves a mean by at most the range over the rows, and a share by one over the rows; Laplace noise of that
    scale over epsilon has a deviation of the square root of 2 times its scale.

    Args:
        question: a mean or a share; for others there is no such simple law.
        epsilon: what the column's draws cost one row, in nats, above 0.
        rows: rows of the release.
    """
    if question.kind not in ("mean", "share") or not epsilon.units:
        return None
    error = sqrt(2) * question.possible / (rows * float(epsilon.fraction))
    return CentralComparison(question, epsilon.text, error)
