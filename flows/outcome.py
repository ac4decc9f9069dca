"""What a run ends with, read back from records and restricted root: the same after a run and after a no-op."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tasks.session import Session
from tasks.wholeness import require_nothing_lost
from trasgo_lib.budget import Cost
from trasgo_lib.errors import ConflictError, Fault, Reason, TargetsNotMetError, WaitingError
from trasgo_lib.records import State, VersionRecord, waiting_of
from trasgo_lib.release import MANIFEST, release_prefix

_OVER = (State.PUBLISHED, State.SUPERSEDED, State.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A version at the end of a run.

    Args:
        release: ``<dataset>/<version>``.
        state: its lifecycle state.
        public: URI of its public files, or None when it has none.
        restricted: URI of its restricted files.
        already_published: whether this run found it finished.
        spent: what it was charged, in total.
        spent_by_unit: the same by noise unit.
        rounds: rounds of the loop.
        restricted_losses: ``losses.json``, private; None when there is none.
        manifest_digest: SHA-256 of the manifest, or None.
        waiting: why a packaged version is not published yet; None for others.
    """

    release: str
    state: State
    public: str | None
    restricted: str
    already_published: bool
    spent: Cost
    spent_by_unit: dict[str, Cost]
    rounds: int
    restricted_losses: dict[str, Any] | None
    manifest_digest: str | None
    waiting: WaitingError | None = None

    @property
    def reason(self) -> str:
        """Why the loop stopped: ``met``, ``unmet`` or ``exhausted``."""
        return str((self.restricted_losses or {}).get("reason", ""))

    def to_json(self) -> dict[str, object]:
        """What ``trasgo run --json`` ends with; losses computed from raw data are null here."""
        last = {entry["unit"]: entry for entry in (self.restricted_losses or {}).get("rounds", [])}
        geo = {unit: cost.geo.text for unit, cost in self.spent_by_unit.items() if cost.geo.units}
        return {
            "release": self.release,
            "state": self.state.value,
            "public": self.public,
            "restricted": self.restricted,
            "already_published": self.already_published,
            "spent": {
                "total": self.spent.epsilon.text,
                "delta": self.spent.delta.text,
                "geo_per_km": self.spent.geo.text,
                "units": {unit: cost.epsilon.text for unit, cost in self.spent_by_unit.items()},
                "geo_per_km_units": geo,
            },
            "rounds": self.rounds,
            "losses": {unit: self._public_loss(entry) for unit, entry in last.items()},
            "reason": self.reason,
            "manifest_sha256": self.manifest_digest,
            "awaits": None if self.waiting is None else str(self.waiting.reason),
        }

    def _public_loss(self, entry: dict[str, Any]) -> dict[str, object]:
        """What machines may read: an estimate from released data, or null; and met or not met."""
        is_public = (self.restricted_losses or {}).get("loss_from") == "released"
        return {
            "estimate": entry["loss"] if is_public else None,
            "interval": entry["interval"] if is_public else None,
            "met": entry["met"],
        }

    def require_published_in_public(self) -> None:
        """Stop when the version waits or is held; says nothing of its losses, for orchestrators.

        Raises:
            WaitingError: approvals are missing, the embargo has not ended, or it ended without approvals.
            TargetsNotMetError: it is held.
        """
        if self.waiting is not None:
            raise self.waiting
        if self.state is State.HELD:
            raise TargetsNotMetError.of(
                Reason.TARGET_NOT_MET,
                self.release,
                required="every loss target within epsilon_total",
                came="a version that is held",
                fix=f"Read the report in {self.restricted}; another target is another version, charged in full.",
            )

    def require_published(self) -> None:
        """Stop when the version is packaged and waits, or is held.

        Raises:
            WaitingError: approvals are missing, the embargo has not ended, or it ended without approvals.
            TargetsNotMetError: one fault for each target that is not met; private texts.
        """
        if self.waiting is not None:
            raise self.waiting
        if self.state is not State.HELD:
            return
        shortfalls = (self.restricted_losses or {}).get("shortfalls", [])
        raise TargetsNotMetError(
            *(
                Fault(
                    reason=Reason.TARGET_NOT_MET,
                    where=shortfall["unit"],
                    required="its loss target within epsilon_total",
                    came=shortfall["missing"],
                    fix="Publish a new version with another target, total or mechanism; it is charged in full.",
                )
                for shortfall in shortfalls
            )
        )


def outcome_of(session: Session, *, already: bool) -> Outcome:
    """Read what a version has become.

    Args:
        session: the run.
        already: whether this run found it finished.
    """
    plan = session.plan
    record = session.begin()
    prefix = release_prefix(plan.dataset, plan.version)
    losses_key = f"{prefix}/losses.json"
    losses = json.loads(session.restricted.get(losses_key)) if session.restricted.exists(losses_key) else None
    by_unit: dict[str, Cost] = {unit.name: Cost.zero() for unit in plan.units}
    for entry in session.records.charges_of(plan.dataset, plan.version):
        if entry.reservation is not None:
            by_unit[entry.reservation.unit] = by_unit.get(entry.reservation.unit, Cost.zero()) + entry.loss
    published = record.state in _OVER
    return Outcome(
        release=prefix,
        state=record.state,
        public=session.public.uri(prefix) if published else None,
        restricted=session.restricted.uri(prefix),
        already_published=already and published,
        spent=session.spent(),
        spent_by_unit=by_unit,
        rounds=max((entry["round"] for entry in (losses or {}).get("rounds", [])), default=0),
        restricted_losses=losses,
        manifest_digest=session.public.digest(f"{prefix}/{MANIFEST}") if published else None,
        waiting=None if published else waiting_of(record, session.publication(), session.records.now()),
    )


def finished(session: Session) -> VersionRecord | None:
    """The version's record when it is over (published or held) with this very plan and input; None when there is work.

    A packaged version that waits is not over; its plan and input are compared all the same.

    Raises:
        ConflictError: it is over, or was charged, with another plan or input.
        StoreError: it is published, and files of it are gone.
    """
    record = session.version()
    if record is None:
        return None
    session.require_same_plan()
    waits = record.state not in _OVER and session.publication().package is not None
    if record.state is not State.HELD and record.state not in _OVER and not waits:
        return None
    if record.plan_digest != session.plan.digest:
        raise _conflict(record, Reason.PLAN_CHANGED, "plan")
    if record.input_digest != session.source_digest():
        raise _conflict(record, Reason.INPUT_CHANGED, "input")
    require_nothing_lost(session)
    return None if waits else record


def _conflict(record: VersionRecord, reason: Reason, what: str) -> ConflictError:
    return ConflictError.of(
        reason,
        f"version {record.dataset}/{record.version}",
        required=f"the {what} it was {record.state.value} with",
        came=f"another {what}",
        fix="A version is immutable. Give the corrected release a new version; it is drawn afresh and charged in full.",
    )
