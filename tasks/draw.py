"""Draw: charge a round, then noise each unit; the only place where private codes become released ones."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prefect import task

from tasks.kept_session import session_for_draw
from tasks.policies import NOISE_DRAW, PURE, at_boundary
from tasks.session import RunRef, Session, open_session
from tasks.streams import stream_of_draw, streams_of_chain
from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost
from trasgo_lib.checks import probe_rows
from trasgo_lib.data import PrivateCodes, ReleasedCodes, SealedStage, codes_digest, remove_batches
from trasgo_lib.errors import BudgetError, Reason
from trasgo_lib.mechanisms import Channel, draw_codes, probe_codes, reveal_codes
from trasgo_lib.records import Reservation

_LOGGER = logging.getLogger("trasgo")


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw of one noise unit; public.

    Args:
        unit: the noise unit.
        level: its epsilon.
        attempt: number of this draw of the unit, from 1.
        before: the level of the draw before it, 0 for the first.
    """

    unit: str
    level: Epsilon
    attempt: int
    before: Epsilon


@task(name="reserve", **PURE)
@at_boundary
def reserve(ref: RunRef, draws: tuple[Draw, ...]) -> Cost:
    """Charge all draws of a round, or none of them.

    Returns:
        What the version has been charged so far.

    Raises:
        BudgetError: the account's cap would be passed; nothing was charged and nothing is drawn.
        ConflictError: the version was charged with another plan, input or root.
    """
    session = open_session(ref)
    before = session.spent()
    session.reserve([_reservation(session, draw) for draw in draws])
    spent = session.spent()
    words = ", ".join(f"{draw.unit} {draw.level.text}" if draw.level.units else draw.unit for draw in draws)
    _LOGGER.info("reserve: %s%s", words, " (already paid)" if spent == before else f"; spent so far: {spent}")
    return spent


@task(name="draw", **NOISE_DRAW)
@at_boundary
def draw_unit(ref: RunRef, codes: PrivateCodes, draw: Draw, purpose: str = "draw") -> ReleasedCodes:
    """Noise one unit at one level; the same call gives the same bits, whoever makes it and however often.

    Args:
        ref: the run.
        codes: the unit's private codes or some of their batches, or public synthetic ones under the purpose ``probe``.
        draw: which draw.
        purpose: ``draw`` or ``probe``.
    """
    session = session_for_draw(ref)
    unit = session.plan.unit(draw.unit)
    channel = unit.channel(draw.level)
    if purpose == "probe":
        _require_synthetic(session, channel, codes)
    else:
        # Paid already by ``reserve``: asking again returns that entry, and makes an unpaid draw impossible.
        session.reserve([_reservation(session, draw)])
    key = session.digest_key()
    place = folder_of(session, draw, purpose) if session.plan.shares_disk else stage_of(session, _below(draw, purpose))
    if unit.is_chained:
        streams = streams_of_chain(session, purpose, unit, codes)
        return reveal_codes(unit.chain, draw.level, codes, streams, place, key)
    stream = stream_of_draw(session, purpose, unit, codes, draw.level, draw.attempt)
    return draw_codes(channel, codes, stream, place, key)


def folder_of(session: Session, draw: Draw, purpose: str) -> Path:
    """Where the codes of a draw stand on the run's disk."""
    return session.work / _below(draw, purpose)


def stage_of(session: Session, below: str) -> SealedStage:
    """The sealed stage objects of a version under one heading; made of secrets, so it stays in its process."""
    return SealedStage(session.restricted, f"{session.stage_prefix}/{below}", partial(session.stream, "stage"))


def _below(draw: Draw, purpose: str) -> str:
    return f"{purpose}/attempt-{draw.attempt}"


@at_boundary
def forget_draws(superseded: Sequence[ReleasedCodes]) -> None:
    """Take draws off the disk of which newer ones exist: nothing reads them again, and a rerun makes them anew.

    Args:
        superseded: released codes of the draws before.

    Raises:
        StoreError: the disk does not let them be taken away.
    """
    for codes in superseded:
        remove_batches(codes)


def _require_synthetic(session: Session, channel: Channel, codes: PrivateCodes) -> None:
    """A probe is not charged, so it draws from the public probe codes of its channel and from nothing else."""
    if codes.digest != codes_digest([probe_codes(channel, probe_rows(channel))], session.digest_key()):
        raise BudgetError.of(
            Reason.STATE_CONFLICT,
            f"probe of {codes.unit}",
            required="the public probe codes of its channel",
            came="other codes, whose draw would have to be paid for",
            fix="Nothing was drawn; report this.",
        )


def _reservation(session: Session, draw: Draw) -> Reservation:
    plan = session.plan
    unit = plan.unit(draw.unit)
    record = session.begin()
    return Reservation(
        account=plan.account,
        dataset=plan.dataset,
        version=plan.version,
        commitment=record.commitment,
        unit=draw.unit,
        chain_digest=unit.chain_digest,
        attempt=draw.attempt,
        level=draw.level.text,
        input_digest=record.input_digest or "",
        event=unit.event(draw.level, draw.before),
        max_rows=plan.max_rows,
        part=session.part,
    )
