"""``statement.json``: the privacy claim of a release, for machines, with its words beside its numbers.

Where losses were measured on raw data, every privacy amount's name ends with ``_draws_only``, so that no program can
take it for the loss of everything that left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trasgo_lib.budget import Cost, LocalEvent, LossEvent, event_from_json, event_to_json
from trasgo_lib.errors import BudgetError, Reason
from trasgo_lib.release.corrections import supersedes_document
from trasgo_lib.reporting import DrawOutcome, ReleaseFacts, wording

if TYPE_CHECKING:
    from trasgo_lib.plan.selection import MechanismSelection

_TYPE = "type"
"""Key of a stored loss event that names what was done."""


def statement_document(facts: ReleaseFacts) -> dict[str, Any]:
    """The statement's content, format 1.

    Args:
        facts: what the run states about itself.
    """
    plan = facts.plan
    suffix, superseded = wording.claim_suffix(plan), supersedes_document(plan)
    return {
        "format": 1,
        "dataset": plan.dataset,
        "version": plan.version,
        "created": facts.created,
        **({"rehearsal": True} if plan.is_rehearsal else {}),
        **({} if superseded is None else {"supersedes": superseded}),
        "in_words": wording.in_plain_words(facts),
        "trust_model": wording.TRUST_MODEL,
        "privacy_unit": {
            "unit": plan.privacy_unit,
            "max_rows": plan.max_rows,
            "in_words": wording.privacy_unit(plan),
        },
        "neighbours": wording.neighbours(plan),
        "composition": plan.composition,
        "loss_from": plan.loss_from,
        "guarantee_covers_selection": wording.covers_selection(plan),
        "selection": wording.selection(plan),
        **amounts(facts.guarantee, "_guarantee", suffix),
        **amounts(facts.realised, "_realised", suffix),
        "account_to_date": {
            "account": plan.account,
            **amounts(facts.account_to_date, "", suffix),
            "in_words": wording.account_words(plan),
        },
        "units": [_unit(facts, name, suffix) for name in (unit.name for unit in plan.units)],
        "public_columns": [column.name for column in plan.columns if column.role == "public"],
        "geo": wording.geo_words() if any(unit.geo.units for unit in plan.units) else None,
        "row_order": {"policy": plan.row_order, "in_words": wording.row_order(plan)},
        "not_covered": list(wording.not_covered(plan)),
        "computational_assumption": wording.COMPUTATIONAL_ASSUMPTION,
        "library_version": facts.library_version,
        "commit": facts.commit,
    }


def amounts(cost: Cost, middle: str, suffix: str) -> dict[str, str]:
    """The amounts of a cost under the names a statement gives them, as decimal text; a rho only where there is one."""
    return {
        f"epsilon{middle}{suffix}": cost.epsilon.text,
        f"delta{middle}{suffix}": cost.delta.text,
        f"geo_per_km{middle}{suffix}": cost.geo.text,
        **({f"rho{middle}{suffix}": cost.rho.text} if cost.rho.units else {}),
    }


def draw_document(event: LossEvent, suffix: str) -> dict[str, str]:
    """The loss event of one draw; its amounts carry the suffix like all others."""
    return {key if key == _TYPE else key + suffix: value for key, value in event_to_json(event).items()}


def read_draw(document: dict[str, str], suffix: str) -> LocalEvent:
    """Read what :func:`draw_document` wrote.

    Raises:
        BudgetError: for an event that is no draw of a channel, or amounts under another name.
        AmountError: for an amount that is not exact.
    """
    bare = {key: value for key, value in document.items() if key == _TYPE}
    bare |= {key.removesuffix(suffix): value for key, value in document.items() if key.endswith(suffix)}
    # what carries another name is dropped here, and an event that lacks an amount is refused there
    event = event_from_json(bare)
    if not isinstance(event, LocalEvent):
        raise BudgetError.of(
            Reason.UNKNOWN_NAME,
            "loss event",
            required="the draw of a local channel",
            came=type(event).__name__,
            fix="This is not the statement of a release.",
        )
    return event


def read_amounts(document: dict[str, Any], middle: str, suffix: str) -> Cost:
    """Read what :func:`amounts` wrote.

    Raises:
        AmountError: for a text that is not an exact amount.
        KeyError: when one of the three is absent.
    """
    names = (f"epsilon{middle}{suffix}", f"delta{middle}{suffix}", f"geo_per_km{middle}{suffix}")
    return Cost.of(*(document[name] for name in names))


def _unit(facts: ReleaseFacts, name: str, suffix: str) -> dict[str, Any]:
    outcome = facts.outcome(name)
    target = facts.plan.unit(name).target
    return {
        "name": name,
        "mechanism": facts.published_channel(name).name,
        "mechanism_selection": _mechanism_selection(facts.plan.unit(name).selection),
        "draws": [draw_document(event, suffix) for event in facts.draws(name)],
        **amounts(facts.charged(name), "_charged", suffix),
        "target": None if target is None else {"loss": target.loss, "ceiling": target.ceiling, "met": outcome.met},
        # a loss is public only where it was estimated from released data
        "loss": _loss(outcome.estimate),
        **({"rounds": [_round(draw) for draw in outcome.draws]} if outcome.draws else {}),
    }


def _round(draw: DrawOutcome) -> dict[str, Any]:
    """In which round a draw was made, what it was predicted to lose and what it is estimated to have lost."""
    return {"round": draw.round, "predicted": _loss(draw.predicted), "loss": _loss(draw.estimate)}


def _mechanism_selection(found: MechanismSelection | None) -> dict[str, Any] | None:
    """How ``auto`` came to the mechanism, from public knowledge alone; None where the release file names it."""
    if found is None:
        return None
    return {
        "from": "public prior" if found.digest else "only candidate",
        "source": found.source or None,
        "prior_sha256": found.digest or None,
        "loss": found.loss,
        "candidates": [str(prospect.candidate) for prospect in found.prospects],
        "in_words": found.in_words,
    }


def _loss(estimate: tuple[float, float, float] | None) -> dict[str, str] | None:
    if estimate is None:
        return None
    return {name: f"{value:.4g}" for name, value in zip(("value", "low", "high"), estimate, strict=True)}
