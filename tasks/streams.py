"""The keystream of each draw: one place for the labels, so that a run and an audit cannot draw from different words."""

from __future__ import annotations

from tasks.session import Session
from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import PrivateCodes
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


def stream_of_chain(
    session: Session, purpose: str, unit: UnitPlan, codes: PrivateCodes, step: str, level: Epsilon
) -> Keystream:
    """The words of one step of a chain: the same whichever level is revealed, so that levels stay coupled; secret."""
    return session.stream(purpose, "chain", step, unit.chain_digest, level.text, codes.digest)
