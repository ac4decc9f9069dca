"""What a person looks at before an approval, and what a version waits for; no wrapping key, no orchestrator."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.places import VersionPlan, open_records, publication_terms, require_release
from tasks.stores import open_root
from tasks.waiting import WaitingPackage, read_waiting, verified
from trasgo_lib.config import holds_area
from trasgo_lib.errors import ConfigError, ConflictError, Reason, WaitingError
from trasgo_lib.records import Event, Publication, Records, State, VersionRecord, waiting_of
from trasgo_lib.release import STATEMENT, release_prefix
from trasgo_lib.release.answers_file import ANSWERS, holds_answers
from trasgo_lib.release.collection_file import holds_counts, point_estimates
from trasgo_lib.release.model_file import MODEL, holds_a_model
from trasgo_lib.storage import ObjectStore
from trasgo_lib.training import read_product


@dataclass(frozen=True, slots=True)
class Review:
    """A version as someone who did not run it sees it.

    Args:
        plan: the compiled plan.
        records: ledger and lifecycle.
        record: the version.
        life: its events.
        publication: how far it is on its way to the public.
        awaits: why it is not public; None when it waits for nothing.
        verb: the command that makes it.
        options: what follows the file in that command, with a blank before it.
    """

    plan: VersionPlan
    records: Records
    record: VersionRecord
    life: tuple[Event, ...]
    publication: Publication
    awaits: WaitingError | None
    verb: str
    options: str = ""

    @property
    def restricted(self) -> ObjectStore:
        """The restricted root, to be read."""
        spec = self.plan.config.publish.restricted_s3
        return open_root(self.plan.restricted_root, spec, private=True, create=False)

    def to_json(self) -> dict[str, object]:
        """Where the version stands, for machines."""
        found = self.publication
        return {
            "release": f"{self.record.dataset}/{self.record.version}",
            "state": self.record.state.value,
            "plan_digest": self.record.plan_digest,
            "manifest_sha256": self.record.manifest_digest,
            "root_destroyed": not self.record.wrapped_root,
            "awaits": None if self.awaits is None else str(self.awaits.reason),
            "approvals": {
                "required": found.terms.approvals,
                "given": [{"actor": one.actor, "at": one.at, "reason": one.reason} for one in found.approvals],
                "barred": sorted(found.runners | set(found.terms.service_accounts)) if found.terms.approvals else [],
            },
            "embargo": found.terms.embargo,
            "embargo_missed": found.missed,
            "superseded_by": _superseded_by(self.life),
            "events": [_row(event) for event in self.life],
        }


@dataclass(frozen=True, slots=True)
class Dossier:
    """What an approval is of.

    Args:
        waiting: the packaged files.
        statement: ``statement.json`` of the package.
        losses: the restricted losses; none for answers, models and collections.
        checks: the output checks; none for answers, models and collections.
        answers: ``data/answers.json`` of the package; None for others.
        model: ``data/model.json`` of the package; None for others.
    """

    waiting: WaitingPackage
    statement: dict[str, Any]
    losses: dict[str, Any]
    checks: list[dict[str, Any]]
    answers: dict[str, Any] | None = None
    model: dict[str, Any] | None = None

    def evidence(self) -> dict[str, str]:
        """What was looked at, for the record."""
        if holds_counts(self.waiting.manifest):
            return {"estimates": self._estimates()}
        if self.answers is not None:
            asked = self.answers["queries"]
            numbers = sum(len(query["cells"]) for query in asked)
            return {"answers": f"{len(asked)} questions, {numbers} numbers and choices"}
        if self.model is not None:
            weights = sum(len(row) for layer in self.model["layers"] for row in layer)
            measured = "no accuracy" if self.model["accuracy"] is None else "an accuracy"
            return {"model": f"{weights} weights and {measured}"}
        passed = sum(bool(check["passed"]) for check in self.checks)
        return {
            "checks": f"{passed} of {len(self.checks)} passed",
            "reason_of_stop": str(self.losses.get("reason", "")),
        }

    def _estimates(self) -> str:
        told, levels = [], self.statement["linkage"]["levels"]
        if self.statement["versions"]:
            told.append(f"{self.statement['reports']} reports; shown: {', '.join(map(_cells_shown, levels))}")
        if (found := point_estimates(self.statement)) is not None:
            told.append(f"{found['reports']} points; shown: {_cells_shown(found['linkage'])}")
        return "; ".join(told)


def _cells_shown(level: dict[str, Any]) -> str:
    return f"{level['shown']} cells of resolution {level['resolution']}"


def open_review(config: Path, window: str | None = None) -> Review:
    """A version as it stands, from its file.

    Args:
        config: the file.
        window: first day of a collection's window; None for the last one that is over, and for other files.

    Raises:
        ConfigError: the file is wrong, or has no windows.
        ConflictError: the version was never begun.
        StoreError: the ledger is out of reach.
    """
    if holds_area(config):
        plan, verb, options = _window_of(config, window)
    else:
        if window is not None:
            raise _no_windows()
        product = read_product(config)
        plan, verb, options = product.base, product.verb, ""
        require_release(product.base)
    records = open_records(plan, create=False)
    record = records.version(plan.dataset, plan.version)
    if record is None:
        raise ConflictError.of(
            Reason.NOTHING_TO_RESUME,
            f"version {plan.dataset}/{plan.version}",
            required="a version that was begun",
            came="none",
            fix=f"Start it with: trasgo {verb}",
        )
    found = records.publication(plan.dataset, plan.version)
    over = record.state in (State.PUBLISHED, State.SUPERSEDED, State.WITHDRAWN)
    awaits = None if over else waiting_of(record, found, records.now())
    return Review(plan, records, record, records.events(plan.dataset, plan.version), found, awaits, verb, options)


def _window_of(config: Path, window: str | None) -> tuple[VersionPlan, str, str]:
    # late: only who looks at a collection waits for H3
    from tasks.collection_life import reviewed

    plan, name = reviewed(config, window)
    return plan, "collect run", f" --window {name}"


def _no_windows() -> ConfigError:
    return ConfigError.of(
        Reason.BAD_PARAMETER, "--window", required="a collection file", came="another file", fix="Leave --window out."
    )


def open_dossier(review: Review) -> Dossier:
    """What waits, verified; the release file must be the one that it was packaged under.

    Raises:
        ConflictError: nothing waits, the release file differs from the one of the run, or the files were changed.
        VerificationError: what waits does not verify.
    """
    plan, record = review.plan, review.record
    if review.publication.package is None or review.record.state not in (State.CHECKED, State.HELD, State.APPROVED):
        raise _differs(record, "a packaged version that waits", f"one that is {record.state.value}")
    if plan.digest != record.plan_digest:
        raise _differs(record, "the plan it was packaged with", "another plan")
    if publication_terms(plan) != review.publication.terms:
        raise _differs(record, "the approvals and the embargo on record", "others: run it once more to record them")
    store, prefix = review.restricted, release_prefix(plan.dataset, plan.version)
    waiting = read_waiting(store, plan.dataset, plan.version)
    if waiting.digest != review.publication.package:
        raise _differs(record, "the files that were packaged", "other files")
    verified(store, waiting.prefix).require()
    statement = json.loads(store.get(f"{waiting.prefix}/{STATEMENT}"))
    if holds_counts(waiting.manifest):
        return Dossier(waiting, statement, {}, [])
    if holds_answers(waiting.manifest):
        return Dossier(waiting, statement, {}, [], answers=json.loads(store.get(f"{waiting.prefix}/{ANSWERS}")))
    if holds_a_model(waiting.manifest):
        return Dossier(waiting, statement, {}, [], model=json.loads(store.get(f"{waiting.prefix}/{MODEL}")))
    return Dossier(
        waiting,
        statement,
        json.loads(store.get(f"{prefix}/losses.json")),
        json.loads(store.get(f"{prefix}/checks.json"))["checks"]["results"],
    )


def _differs(record: VersionRecord, required: str, came: str) -> ConflictError:
    return ConflictError.of(
        Reason.STATE_CONFLICT,
        f"version {record.dataset}/{record.version}",
        required=required,
        came=came,
        fix="Nothing was approved. See: trasgo status CONFIG",
    )


def _superseded_by(life: tuple[Event, ...]) -> str | None:
    return next((event.evidence.get("superseded_by") for event in life if event.state is State.SUPERSEDED), None)


def _row(event: Event) -> dict[str, object]:
    return {
        "seq": event.seq,
        "kind": event.kind,
        "state": event.state.value,
        "actor": event.actor,
        "reason": event.reason,
        "at": event.at,
        "hash": event.hash,
    }
