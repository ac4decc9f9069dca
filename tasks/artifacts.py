"""What a run shows in the orchestrator's interface: how far it is, losses of released data by round, where it lies.

Artifacts are stored by the orchestrator, so they hold public facts only: under ``loss_from: original`` a loss is left
out, as everywhere else. They are for eyes; a run does not fail because one could not be put.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable
from typing import ParamSpec
from uuid import UUID

from prefect.artifacts import (
    create_link_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from tasks.session import Session
from trasgo_lib.loop import History
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.release import MANIFEST, release_prefix

P = ParamSpec("P")

INGESTED, PROBED, CHECKED, DONE = 10.0, 70.0, 85.0, 100.0
"""Percent at the end of a stage. Rounds lie between the first two; how many there will be is not known before."""

_ROUNDS_SPAN = 50.0


def _for_eyes_only(show: Callable[P, None]) -> Callable[P, None]:
    @functools.wraps(show)
    def shown(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            show(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 whatever the orchestrator's interface lacks, the release goes on
            logging.getLogger("trasgo").warning("an artifact could not be put: %s", type(error).__name__)

    return shown


class Progress:
    """The progress of one run, as one artifact.

    Args:
        plan: the compiled plan; public.
    """

    def __init__(self, plan: ReleasePlan) -> None:
        self._plan = plan
        self._artifact: UUID | None = None

    @_for_eyes_only
    def at(self, percent: float) -> None:
        """Say that the run is so far."""
        if self._artifact is None:
            description = f"{self._plan.dataset}/{self._plan.version}: share of the stages that are done"
            made = create_progress_artifact(percent, artifact_key("progress", self._plan), description)
            self._artifact = made if isinstance(made, UUID) else None
            return
        update_progress_artifact(self._artifact, percent)

    def after_round(self, number: int) -> None:
        """Say that a round is over; each one takes half of what is left for rounds.

        Args:
            number: the round, from 1.
        """
        self.at(INGESTED + _ROUNDS_SPAN * (1 - 0.5**number))


@_for_eyes_only
def show_rounds(plan: ReleasePlan, history: History) -> None:
    """Put the table of rounds: levels, losses estimated from released data, met or not met.

    Args:
        plan: the compiled plan; public.
        history: every round; private under ``loss_from: original``, where the losses are left out.
    """
    table = round_rows(plan, history)
    words = "losses are estimates from released data" if plan.loss_from == "released" else "losses are not shown"
    create_table_artifact(table, artifact_key("rounds", plan), f"{plan.dataset}/{plan.version}: {words}")


def round_rows(plan: ReleasePlan, history: History) -> list[dict[str, object]]:
    """The table of rounds, one row a noise unit and round.

    Args:
        plan: the compiled plan; public.
        history: every round.
    """
    is_public = plan.loss_from == "released"
    targets = {unit.name: unit.target for unit in plan.units}
    rows: list[dict[str, object]] = []
    for number, entries in enumerate(history.rounds, 1):
        for entry in entries:
            target = targets[entry.unit]
            low, high = (entry.interval or (None, None)) if is_public else (None, None)
            rows.append(
                {
                    "round": number,
                    "unit": entry.unit,
                    "level": entry.level.text,
                    "target": "" if target is None else f"{target.loss} <= {target.ceiling}",
                    "loss": entry.loss if is_public and target is not None else None,
                    "low": low if target is not None else None,
                    "high": high if target is not None else None,
                    "met": entry.met if target is not None else None,
                }
            )
    return rows


@_for_eyes_only
def show_release(session: Session) -> None:
    """Put a link to a published release.

    Args:
        session: the run.
    """
    plan = session.plan
    prefix = release_prefix(plan.dataset, plan.version)
    digest = session.public.digest(f"{prefix}/{MANIFEST}")
    uri = session.public.uri(prefix)
    create_link_artifact(uri, prefix, artifact_key("release", plan), f"manifest sha256 {digest}; trasgo verify {uri}")


def artifact_key(kind: str, plan: ReleasePlan) -> str:
    """A key as the orchestrator wants it: lower-case letters, digits and dashes."""
    name = re.sub(r"[^a-z0-9]+", "-", f"{plan.dataset}-{plan.version}".lower()).strip("-")
    return f"rehearsal-{kind}-{name}" if plan.is_rehearsal else f"{kind}-{name}"
