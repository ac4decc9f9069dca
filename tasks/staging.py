"""Between the run and its workers: a unit's codes cut into tasks, and carried where workers share no disk."""

from __future__ import annotations

import math
from collections.abc import Sequence

from prefect import task

from tasks.draw import Draw, folder_of, stage_of
from tasks.policies import IDEMPOTENT_IO, at_boundary
from tasks.session import RunRef, open_session
from tasks.stores import remove_below
from trasgo_lib.data import CodesDigest, PrivateCodes, ReleasedCodes, read_batch, write_batch

ROWS_OF_A_TASK = 1 << 22
"""A unit is cut into tasks of at least so many rows: these take a good part of a second to draw, and one of Prefect's
tasks on a Dask worker costs 0.1 to 0.2 s."""


def parts_of(codes: PrivateCodes, slots: int) -> tuple[PrivateCodes, ...]:
    """A unit's codes as runs of whole batches, one a task; what is drawn does not depend on the cut.

    Args:
        codes: all codes of a unit. Each part keeps their digest, since it names the stream.
        slots: how many tasks can be at work on this unit at a time, at least 1.
    """
    batches = codes.batches
    rows = sum(batch.rows for batch in batches)
    count = max(1, min(slots, rows // ROWS_OF_A_TASK, len(batches)))
    size = math.ceil(len(batches) / count)
    return tuple(
        PrivateCodes(codes.unit, batches[start : start + size], codes.digest) for start in range(0, len(batches), size)
    )


@task(name="ship", **IDEMPOTENT_IO)
@at_boundary
def ship(ref: RunRef, units: tuple[PrivateCodes, ...], purpose: str) -> tuple[PrivateCodes, ...]:
    """Seal codes and put them into the restricted root, for workers without a shared disk.

    Args:
        ref: the run.
        units: codes in this run's work folder: private ones before the first draw, or public probes.
        purpose: ``private`` or ``probe-inputs``. Before private codes, what an earlier run left is taken away.

    Raises:
        StoreError: the store is out of reach, is full, or does not allow objects to be taken away.
    """
    session = open_session(ref)
    key, stage = session.digest_key(), stage_of(session, purpose)
    if purpose == "private":
        # a store that does not let us take away what we put is found out before anything is charged
        session.restricted.put_once(f"{session.stage_prefix}/trial", b"taken away at once\n")
        remove_below(session.restricted, session.stage_prefix)
    return tuple(
        PrivateCodes(
            codes.unit,
            tuple(stage.write(codes.unit, batch.first_row, read_batch(batch, key), key) for batch in codes.batches),
            codes.digest,
        )
        for codes in units
    )


@task(name="gather", **IDEMPOTENT_IO)
@at_boundary
def gather(ref: RunRef, draw: Draw, purpose: str, parts: Sequence[ReleasedCodes]) -> ReleasedCodes:
    """A unit's released codes as one column in the work folder, from the parts that tasks drew.

    Args:
        ref: the run.
        draw: the draw they are of.
        purpose: ``draw`` or ``probe``.
        parts: runs of batches, in row order.
    """
    session = open_session(ref)
    key, folder, stage = session.digest_key(), folder_of(session, draw, purpose), stage_of(session, purpose)
    digest, batches = CodesDigest(key), []
    for batch in (batch for part in parts for batch in part.batches):
        if session.plan.shares_disk:
            codes, stored = read_batch(batch, key), batch
        else:
            codes = stage.read(batch, key)
            stored = write_batch(folder, draw.unit, batch.first_row, codes, key)
        digest.update(codes)
        batches.append(stored)
    return ReleasedCodes(draw.unit, tuple(batches), digest.hexdigest())
