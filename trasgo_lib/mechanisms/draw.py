"""Drawing a noise unit batch by batch, and the probe that shows the sampler follows the published weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import BatchRef, PrivateCodes, ReleasedCodes, SealedStage
from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.mechanisms.chain import Chain, Streams
from trasgo_lib.mechanisms.channel import Channel
from trasgo_lib.noise import Keystream

_MOST_POOLS = 64
_ROWS_PER_POOL = 20
"""Pools expect about this many rows, enough for the chi-square distribution to hold far into its tail."""

_FEWEST_EXPECTED = 5.0
_ROWS_FOR_OWN_TEST = 1000
"""Inputs with this many rows are tested alone; the others are pooled."""

_WEIGHTS_LOOKED_AT = 2**21
"""Weights computed for pooled inputs; bounds the time of the probe on large domains."""


def draw_codes(
    channel: Channel, private: PrivateCodes, keystream: Keystream, place: Path | SealedStage, key: bytes
) -> ReleasedCodes:
    """Draw every batch of a noise unit and store the released codes.

    Drawing again gives the same bits and replaces the same files, so a retry is free.

    Args:
        channel: the certified channel of the unit's level.
        private: references to the private codes.
        keystream: the stream of this draw, used for nothing else.
        place: folder for the released batches (not that of the private ones), or the store that holds both.
        key: account digest key; private batches are checked against their digests with it.

    Raises:
        InputContractError: codes outside the channel's inputs.
        StoreError: a private batch is absent or was changed.
    """
    return _draw(lambda codes, row: channel.sample(codes, keystream, row), private, place, key)


def reveal_codes(
    chain: Chain, level: Epsilon, private: PrivateCodes, streams: Streams, place: Path | SealedStage, key: bytes
) -> ReleasedCodes:
    """Reveal one level of a chain and store its codes; finer levels exist in memory only, a chunk of rows at a time.

    Args:
        chain: the certified chain of the unit.
        level: the level that is revealed.
        private: references to the private codes.
        streams: keystream of each purpose and level of this chain, used for nothing else.
        place: folder for the released batches, or the store that holds them and the private ones.
        key: account digest key; private batches are checked against their digests with it.

    Raises:
        InputContractError: codes outside the chain's inputs.
        StoreError: a private batch is absent or was changed.
    """
    return _draw(lambda codes, row: chain.sample(codes, streams, level, row), private, place, key)


_TRIES_PER_BATCH = 3
"""Enough for a file system that fails for a moment; the task above tries the unit again after a second."""

_Drawn = TypeVar("_Drawn")

_Sampler = Callable[[NDArray[np.int32], int], NDArray[np.int32]]
"""Codes and the global index of the first of them; released codes."""


def _draw(sample: _Sampler, private: PrivateCodes, place: Path | SealedStage, key: bytes) -> ReleasedCodes:
    # imported late: pyarrow is needed where files are, and plan and verify touch none
    from trasgo_lib.data.store_codes import CodesDigest, read_batch, write_batch

    read = read_batch if isinstance(place, Path) else place.read
    write = partial(write_batch, place) if isinstance(place, Path) else place.write

    def draw_one(ref: BatchRef) -> tuple[BatchRef, NDArray[np.int32]]:
        released = sample(read(ref, key), ref.first_row)  # int32[rows]
        return write(private.unit, ref.first_row, released, key), released

    digest, batches = CodesDigest(key), []
    for ref in private.batches:
        stored, released = _retried(draw_one, ref)
        digest.update(released)
        batches.append(stored)
    return ReleasedCodes(unit=private.unit, batches=tuple(batches), digest=digest.hexdigest())


def _retried(draw_one: Callable[[BatchRef], _Drawn], ref: BatchRef) -> _Drawn:
    """One batch; where the disk failed it is drawn again, alone and bit for bit, before the whole unit is given up."""
    for _ in range(_TRIES_PER_BATCH - 1):
        try:
            return draw_one(ref)
        except StoreError as error:
            if error.reason is Reason.STORE_FULL:
                raise  # it stays full until someone makes room
    return draw_one(ref)


def probe_codes(channel: Channel, rows: int) -> NDArray[np.int32]:
    """Public synthetic input codes for the probe: int32[rows].

    A quarter of the rows each for the first and the last code; the rest runs evenly through every code.

    Args:
        channel: the channel to be probed.
        rows: how many, at least 4.
    """
    quarter = rows // 4
    rest = rows - 2 * quarter
    # fewer rows than codes: evenly spaced from the first to the last
    spaced = np.linspace(0, channel.inputs - 1, rest) if rest < channel.inputs else np.arange(rest) % channel.inputs
    ends = np.repeat([0, channel.inputs - 1], quarter)
    return np.concatenate([ends, np.rint(spaced)]).astype(np.int32)


def chi_square(channel: Channel, inputs: NDArray[np.int32], outputs: NDArray[np.int32]) -> float:
    """P-value of Pearson's test that outputs were drawn from the channel's weights, given the inputs.

    Outputs are pooled into runs of similar probability, counted from the input's own code upwards and around, so that
    a sampler that changes nothing lands in the first run every time. Inputs with few rows share their runs; the test
    is then conservative, since a sum of unequal multinomials varies less than one multinomial of their mean.

    Args:
        channel: the channel.
        inputs: public probe codes, int32[rows].
        outputs: released codes of the same rows.
    """
    # imported late: only the probe needs scipy
    from scipy.special import gammaincc

    order = np.argsort(inputs, kind="stable")
    distinct, starts, counts = np.unique(inputs[order], return_index=True, return_counts=True)
    groups = [
        (int(code), outputs[order[start : start + count]])
        for code, start, count in zip(distinct, starts, counts, strict=True)
    ]
    alone = [group for group in groups if len(group[1]) >= _ROWS_FOR_OWN_TEST]
    pooled = _evenly([group for group in groups if len(group[1]) < _ROWS_FOR_OWN_TEST], channel.outputs)
    tests = [_pearson(channel, [group]) for group in alone] + ([_pearson(channel, pooled)] if pooled else [])
    statistic, freedom = sum(test[0] for test in tests), sum(test[1] for test in tests)
    return float(gammaincc(freedom / 2, statistic / 2)) if freedom else 1.0


_Group = tuple[int, NDArray[np.int32]]


def _evenly(groups: list[_Group], outputs: int) -> list[_Group]:
    """At most as many groups as the work allows, evenly spaced, first and last included."""
    most = max(4, _WEIGHTS_LOOKED_AT // outputs)
    if len(groups) <= most:
        return groups
    return [groups[place] for place in np.rint(np.linspace(0, len(groups) - 1, most)).astype(int)]


def _pearson(channel: Channel, groups: list[_Group]) -> tuple[float, int]:
    """Statistic and degrees of freedom over the pools that the groups share."""
    rows = sum(len(drawn) for _, drawn in groups)
    pools = max(1, min(_MOST_POOLS, rows // _ROWS_PER_POOL))
    observed, expected = np.zeros(pools), np.zeros(pools)
    for code, drawn in groups:
        shares = np.roll(np.array(channel.weights(code), dtype=np.float64) / channel.total, -code)
        pool = np.minimum((np.cumsum(shares) - shares / 2) * pools, pools - 1).astype(np.int64)
        expected += len(drawn) * np.bincount(pool, weights=shares, minlength=pools)
        observed += np.bincount(pool[(drawn - code) % channel.outputs], minlength=pools)
    return _merged_statistic(observed, expected)


def _merged_statistic(observed: NDArray[np.float64], expected: NDArray[np.float64]) -> tuple[float, int]:
    """Pearson's statistic after neighbouring pools are merged until each expects enough rows."""
    merged: list[list[float]] = []
    for seen, wanted in zip(observed.tolist(), expected.tolist(), strict=True):
        if merged and (merged[-1][1] < _FEWEST_EXPECTED or wanted < _FEWEST_EXPECTED):
            merged[-1][0] += seen
            merged[-1][1] += wanted
        else:
            merged.append([seen, wanted])
    return sum((seen - wanted) ** 2 / wanted for seen, wanted in merged), len(merged) - 1
