"""Judging the probe: public synthetic codes sent through the sampler that drew the release.

The probe is the only check that sees whether noise is on, since comparing raw with released data would itself leak.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.checks.report import CheckResult
from trasgo_lib.mechanisms import Channel, chi_square

FALSE_ALARM = 1e-9
"""Chance that a correct sampler fails the probe of one channel. A release has some tens of channels, so a correct run
is stopped less than once in ten million, while noise switched off has a p-value far below it."""

LEAST_ROWS = 200_000
"""Fewest probe rows: enough for a chi-square whose pooled cells are full, and drawn in a fraction of a second."""

_MOST_ROWS = 1 << 22
_CHANGES_TO_SEE = 60.0
"""A channel must be expected to change this many probe rows: a sampler that changes none then has a p-value below
e**-60 in the exact law, and stays below ``FALSE_ALARM`` in the chi-square approximation."""


def probe_rows(channel: Channel) -> int:
    """How many probe rows make a missing noise visible in this channel.

    Args:
        channel: the published channel.

    Returns:
        At least 200,000; more where the channel rarely changes a code (large epsilon), at most 4,194,304.
    """
    change = _change_probability(channel)
    needed = math.ceil(_CHANGES_TO_SEE / change) if change > 0.0 else _MOST_ROWS
    return max(LEAST_ROWS, min(needed, _MOST_ROWS))


def judge_probe(unit: str, channel: Channel, inputs: NDArray[np.int32], outputs: NDArray[np.int32]) -> CheckResult:
    """Whether probe outputs follow the published channel.

    Args:
        unit: noise unit, for the result.
        channel: the channel that the release publishes.
        inputs: int32[rows] synthetic codes; public.
        outputs: int32[rows] what the draw task made of them under the purpose ``probe``; public.

    Returns:
        Passed when there are at least 200,000 rows and the chi-square p-value (sparse cells pooled) is above 1e-9.
    """
    limit = f"p-value of at least {FALSE_ALARM:g} over at least {LEAST_ROWS} probe rows"
    fault = _shape_fault(channel, inputs, outputs)
    if fault is not None:
        return CheckResult(name="probe", column=unit, passed=False, observed=fault, limit=limit)
    p_value = float(chi_square(channel, inputs, outputs))
    changed = int(np.count_nonzero(inputs != outputs))
    observed = f"p-value {p_value:.3g} over {len(inputs)} probe rows, {changed} of them changed"
    return CheckResult(name="probe", column=unit, passed=p_value >= FALSE_ALARM, observed=observed, limit=limit)


def _shape_fault(channel: Channel, inputs: NDArray[np.int32], outputs: NDArray[np.int32]) -> str | None:
    if len(inputs) != len(outputs):
        return f"{len(outputs)} outputs for {len(inputs)} probe rows"
    if len(inputs) < LEAST_ROWS:
        return f"only {len(inputs)} probe rows"
    if int(outputs.min()) < 0 or int(outputs.max()) >= channel.outputs:
        return "an output that the channel cannot produce"
    return None


def _change_probability(channel: Channel) -> float:
    """Least chance, over a few inputs, that an output differs from its input."""
    last = channel.inputs - 1
    chances = []
    for code in sorted({0, last // 2, last}):
        weights = channel.weights(code)
        chances.append(1 - weights[code] / channel.total if code < len(weights) else 1.0)
    return min(chances)
