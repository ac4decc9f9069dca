"""From private rows to weights and a noisy accuracy: what the flow's one draw of a training does.

Weights are keyed: the same plan, root and input give the same bits. The noise of the accuracy is OpenDP's and is not,
so the caller stores both together before anything of them is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.noise.keystream import Keystream
from trasgo_lib.noise.scales import laplace_scale
from trasgo_lib.training.descent import RATE_BITS, descend
from trasgo_lib.training.features import EncodedRows, encoded
from trasgo_lib.training.model import TrainingPlan
from trasgo_lib.training.network import WEIGHT_BITS, Matrix, activations

_ROWS_AT_ONCE = 2**14


class CodedRows(Protocol):
    """Rows of declared codes, batch by batch; private in training."""

    @property
    def rows(self) -> int:
        """How many."""

    def batches(self, names: Sequence[str]) -> Any:
        """Codes of the named columns by name, int32[rows] each."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Right predictions among rows that training did not draw from.

    Args:
        rows: how many rows; public: it depends on the key and the number of rows only.
        right: how many predictions were right; noisy, unless the rows are public.
    """

    rows: int
    right: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a training has drawn.

    Args:
        digest: of the plan it was drawn for.
        rows: number of rows of the source; public.
        weights: of each layer, as whole multiples of 2**-18: int64[inputs + 1, outputs].
        measured: what its accuracy is made from, or None.
    """

    digest: str
    rows: int
    weights: tuple[NDArray[np.int64], ...]
    measured: Measured | None

    def to_json(self) -> dict[str, Any]:
        """Strict JSON."""
        measured = None if self.measured is None else {"rows": self.measured.rows, "right": self.measured.right}
        weights = [layer.tolist() for layer in self.weights]
        return {"format": 1, "digest": self.digest, "rows": self.rows, "weights": weights, "measured": measured}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Fitted:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: it is of another form.
        """
        if document.get("format") != 1:
            raise ValueError("not a stored training")
        measured = document["measured"]
        return cls(
            str(document["digest"]),
            int(document["rows"]),
            tuple(np.array(layer, dtype=np.int64) for layer in document["weights"]),
            None if measured is None else Measured(int(measured["rows"]), int(measured["right"])),
        )


def fit(
    plan: TrainingPlan,
    source: CodedRows,
    streams: Callable[..., Keystream],
    public_rows: CodedRows | None = None,
    each_step: Callable[[int], None] = lambda step: None,
) -> Fitted:
    """Train, then measure.

    Args:
        plan: the compiled plan, already paid for.
        source: private.
        streams: keystreams of this version, plan and input, by what they are for; secret.
        public_rows: rows of the public file, where accuracy is measured on one.
        each_step: told of every finished step.

    Raises:
        BudgetError: a certificate is above its claim; nothing was drawn.
    """
    rows, labels = _rows(plan, source)
    kept_out = _kept_out(plan, len(labels), streams("kept out"))
    trained = np.flatnonzero(~kept_out)
    weights = descend(
        plan.descent,
        len(trained),
        lambda places: rows.inputs(trained[places]),
        labels[trained],
        streams("sample"),
        streams("noise"),
        streams("start"),
        each_step,
    )
    measured = None
    if public_rows is not None:
        tested, answers = _rows(plan, public_rows)
        measured = Measured(len(answers), right_predictions(weights, tested, answers, np.arange(len(answers))))
    elif plan.evaluation is not None and plan.evaluation.epsilon is not None:
        measured = _measured(plan, weights, rows, labels, np.flatnonzero(kept_out))
    whole = tuple(np.rint(layer * 2.0**WEIGHT_BITS).astype(np.int64) for layer in weights)
    return Fitted(plan.base.digest, source.rows, whole, measured)


def right_predictions(
    weights: Sequence[Matrix], rows: EncodedRows, labels: NDArray[np.int64], places: NDArray[np.int64]
) -> int:
    """How many of the rows at some places get their own label; private where the rows are."""
    right = 0
    for start in range(0, len(places), _ROWS_AT_ONCE):
        now = places[start : start + _ROWS_AT_ONCE]
        _, scores = activations(weights, rows.inputs(now))
        right += int(np.count_nonzero(predicted(scores) == labels[now]))
    return right


def predicted(scores: Matrix) -> NDArray[np.int64]:
    """Code of the likeliest label of each row: int64[rows]; the first one of equals."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    likeliest: NDArray[np.int64] = scores.argmax(axis=1).astype(np.int64)
    return likeliest


def _measured(
    plan: TrainingPlan,
    weights: Sequence[Matrix],
    rows: EncodedRows,
    labels: NDArray[np.int64],
    kept_out: NDArray[np.int64],
) -> Measured:
    """A replaced row stands among the same rows as before, so the count moves by at most 1."""
    from trasgo_lib.noise.central import add_laplace

    if plan.evaluation is None or plan.evaluation.epsilon is None:
        raise ValueError("no accuracy was paid for")
    claim = plan.evaluation.epsilon
    right = right_predictions(weights, rows, labels, kept_out)
    return Measured(len(kept_out), add_laplace([right], laplace_scale(1, claim), 1, claim)[0])


def _kept_out(plan: TrainingPlan, rows: int, stream: Keystream) -> NDArray[np.bool_]:
    """Which rows training may not draw from: by keyed words, never by what a row holds."""
    share = 0 if plan.evaluation is None else plan.evaluation.share_units
    return (stream.words(0, rows) >> np.uint64(64 - RATE_BITS)) < np.uint64(share)


def _rows(plan: TrainingPlan, source: CodedRows) -> tuple[EncodedRows, NDArray[np.int64]]:
    names = [*(feature.name for feature in plan.features), plan.spec.target]
    parts: dict[str, list[NDArray[np.int32]]] = {name: [] for name in names}
    for batch in source.batches(names):
        for name in names:
            parts[name].append(batch[name])
    codes = {name: np.concatenate(found) for name, found in parts.items()}
    return encoded(plan.features, codes), codes[plan.spec.target].astype(np.int64)
