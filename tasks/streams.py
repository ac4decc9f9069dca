"""The keystream of each draw: one place for the labels, so that a run and an audit cannot draw from different words."""

from __future__ import annotations

from functools import cache

from tasks.session import Session
from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import PrivateCodes
from trasgo_lib.mechanisms import Purpose, Streams
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import UnitPlan


def stream_of_draw(
    session: Session, purpose: str, unit: UnitPlan, codes: PrivateCodes, level: Epsilon, attempt: int
) -> Keystream:
    """The words of a draw that is not coupled to any other; secret.

    Args:
        session: the run.
        purpose: ``draw`` or ``probe``.
        unit: the noise unit.
        codes: what is noised.
        level: its epsilon.
        attempt: number of this draw of the unit, from 1.
    """
    return session.stream(purpose, unit.chain_digest, level.text, attempt, codes.digest)


def streams_of_chain(session: Session, purpose: str, unit: UnitPlan, codes: PrivateCodes) -> Streams:
    """The words of every step of a chain: the same whichever level is revealed, so that levels stay coupled; secret.

    The ledger is looked at once and not for each step of each batch.

    Args:
        session: the run.
        purpose: ``draw`` or ``probe``.
        unit: the noise unit.
        codes: what is noised.
    """
    streams = session.streams(purpose)

    @cache
    def of(step: Purpose, level: Epsilon) -> Keystream:
        return streams("chain", step, unit.chain_digest, level.text, codes.digest)

    return of
