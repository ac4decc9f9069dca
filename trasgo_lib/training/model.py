"""A compiled training: everything that is known of it before data is opened. All public."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import (
    ApproximateEvent,
    Cost,
    DiscreteLaplaceEvent,
    LossEvent,
    SampledGaussianEvent,
    cost,
)
from trasgo_lib.config import ModelSpec
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.training.descent import RATE_BITS, Descent
from trasgo_lib.training.features import Feature

MODEL, TABLE, ACCURACY = "model", "noise table", "accuracy"
"""Under which names a training is charged: its steps, what the table of the noise lacks, and the measured accuracy."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one row can move the noised sum of a step, in steps of the noise's grid, Euclidean.

    Args:
        clipped: the clipping norm.
        rounding: what rounding the sum to the grid can add: the root of the number of weights, rounded up.
    """

    clipped: int
    rounding: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.clipped + self.rounding


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the published accuracy is measured on.

    Args:
        share_units: rows kept out of training have this many chances in 2**32; 0 for a public file.
        epsilon: of the count of right predictions among them; None for a public file.
        public_file: a file of public rows, or None.
    """

    share_units: int
    epsilon: Epsilon | None
    public_file: Path | None

    @property
    def share(self) -> float:
        """Share of the rows that is kept out of training."""
        return self.share_units / 2.0**RATE_BITS


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """A training file, resolved.

    Args:
        base: source, columns, privacy and places, by the rules of release files; its units have no mechanism.
        spec: the model as the file says it.
        rows: declared number of rows.
        features: in the order of the file.
        labels: of the target, in code order.
        descent: the law of the training.
        sensitivity: of the sum of a step.
        event: what all steps together may tell of one privacy unit.
        table_event: what the finite table of the noise may add to delta.
        evaluation: what accuracy is measured on, or None.
    """

    base: ReleasePlan
    spec: ModelSpec
    rows: int
    features: tuple[Feature, ...]
    labels: tuple[str, ...]
    descent: Descent
    sensitivity: Sensitivity
    event: SampledGaussianEvent
    table_event: ApproximateEvent
    evaluation: Evaluation | None

    @property
    def charges(self) -> tuple[tuple[str, LossEvent], ...]:
        """Every charge under its name, in the order in which they are made."""
        found: list[tuple[str, LossEvent]] = [(MODEL, self.event), (TABLE, self.table_event)]
        if self.evaluation is not None and self.evaluation.epsilon is not None:
            found.append((ACCURACY, DiscreteLaplaceEvent(self.evaluation.epsilon)))
        return tuple(found)

    @property
    def cost(self) -> Cost:
        """What all of it costs one privacy unit: basic composition."""
        total = Cost.zero()
        for _, event in self.charges:
            total += cost(event, self.base.max_rows)
        return total

    @property
    def trained_share(self) -> Fraction:
        """Share of the rows that training may draw from."""
        kept_out = 0 if self.evaluation is None else self.evaluation.share_units
        return 1 - Fraction(kept_out, 1 << RATE_BITS)
