"""A training plan in words: model, sampling, sensitivity, noise and cost, before data is opened."""

from __future__ import annotations

from typing import Any

from trasgo_lib.budget import cost, event_to_json
from trasgo_lib.training.model import MODEL, TrainingPlan


def explain_training(plan: TrainingPlan, confirmed: float | None = None) -> dict[str, Any]:
    """The plan as strict JSON; all of it public.

    Args:
        plan: the compiled plan.
        confirmed: what :func:`pld_epsilon` said of it; None where it was not asked.
    """
    base = plan.base
    return {
        "format": 1,
        "dataset": base.dataset,
        "version": base.version,
        "account": base.account,
        "unit": base.privacy_unit,
        "plan_digest": base.digest,
        "cost": plan.cost.to_json(),
        "epsilon_total": base.epsilon_total.text,
        "delta_total": base.delta_total.text,
        "training": training_document(plan),
        "pld_epsilon": confirmed,
    }


def training_document(plan: TrainingPlan) -> dict[str, Any]:
    """How a model is trained, how noisy that is, why, and what it costs."""
    law, moves = plan.descent, plan.sensitivity
    return {
        "type": plan.spec.type,
        "target": plan.spec.target,
        "features": [{"name": one.name, "inputs": one.width} for one in plan.features],
        "layers": [list(shape) for shape in law.shapes],
        "parameters": law.parameters,
        "rows_declared": plan.rows,
        "kept_out": {"chances_in_2_32": 0 if plan.evaluation is None else plan.evaluation.share_units},
        "sampling": {"chances_in_2_32": law.rate_units, "expected_rows": law.expected_rows},
        "steps": law.steps,
        "clip_norm": plan.spec.clip_norm,
        "learning_rate": plan.spec.learning_rate,
        "averaged_share": law.averaged,
        "noise": {
            "law": "discrete Gaussian on every weight in every step, empty samples included",
            "multiplier": plan.event.noise_multiplier,
            "grid_bits": law.grid_bits,
            "variance": [str(law.variance.numerator), str(law.variance.denominator)],
        },
        "sensitivity": {
            "clipped": moves.clipped,
            "rounding": moves.rounding,
            "total": moves.total,
            "words": sensitivity_in_words(plan),
        },
        "charges": [{"name": name, "event": event_to_json(event)} for name, event in plan.charges],
    }


def sensitivity_in_words(plan: TrainingPlan) -> str:
    """Why one row moves the sum of a step by no more than that."""
    moves = plan.sensitivity
    return (
        f"a row that is added or taken out moves the sum of a step by its own gradient, which is clipped to the norm, "
        f"{moves.clipped} steps of the grid; rounding the sum to the grid moves each of the {plan.descent.parameters} "
        f"weights by at most 1 step more, which is {moves.rounding} in the Euclidean norm; together {moves.total}"
    )


def pld_epsilon(plan: TrainingPlan) -> float:
    """What privacy loss distributions say of the steps: a second accountant, never charged.

    It loads scipy, and takes as long as all else that a plan does (2 s of a core on the demonstration), so it is
    computed where it is asked for, and once by a training before it is charged.
    """
    from trasgo_lib.budget.composition import pld_epsilon_of_sampled_gaussian

    return pld_epsilon_of_sampled_gaussian(plan.event)


def render_training(plan: TrainingPlan, confirmed: float | None = None) -> str:
    """The plan as text for a terminal; arguments as of :func:`explain_training`."""
    base, total = plan.base, plan.cost
    return "\n".join(
        [
            f"Training {base.dataset}/{base.version}, account {base.account}, privacy unit: {base.privacy_unit}",
            f"All of it costs epsilon {total.epsilon.text} of {base.epsilon_total.text}, delta {total.delta.text} of "
            f"{base.delta_total.text}. No data was opened.",
            "",
            *_steps_in_words(plan),
            "",
            *_charges_in_words(plan, confirmed),
            "",
            "Neighbours: files with the same number of rows, in which one unit's row is replaced: one row is taken out",
            "and another put in. So this epsilon is about twice the one that libraries for add-or-remove neighbours",
            "state for the same noise. Weights are averaged over the last half of the steps, which costs nothing. The",
            "noise is keyed: a run that was killed gives the same weights and is charged once.",
        ]
    )


def _steps_in_words(plan: TrainingPlan) -> list[str]:
    law, evaluation = plan.descent, plan.evaluation
    kept_out = evaluation is not None and evaluation.share_units
    trained = f" of {plan.rows * float(plan.trained_share):.0f} rows; the others are kept out to measure accuracy"
    return [
        f"{plan.spec.type} of {plan.spec.target} ({len(plan.labels)} labels) from {len(plan.features)} columns: "
        f"{law.shapes[0][0] - 1} inputs, {law.parameters} weights",
        f"  {law.steps} steps; each draws every row by itself with probability {law.rate_units}/2^32 = "
        f"{law.rate_units / 2**32:.6g}: {law.expected_rows:.6g} expected rows{trained if kept_out else ''}",
        f"  sensitivity {plan.sensitivity.total} steps of the grid, each the clipping norm {plan.spec.clip_norm} "
        f"over 2^{law.grid_bits}:",
        f"    {sensitivity_in_words(plan)}",
        f"  noise discrete Gaussian, multiplier {plan.event.noise_multiplier}, scale "
        f"{float(law.variance) ** 0.5:.6g} steps of the grid, on every weight in every step",
        f"  sums are divided by the {law.expected_rows:.6g} expected rows, whatever the sample holds",
    ]


def _charges_in_words(plan: TrainingPlan, confirmed: float | None) -> list[str]:
    charged = {name: cost(event, plan.base.max_rows) for name, event in plan.charges}
    steps = charged[MODEL]
    second = (
        "trasgo plan --confirm asks privacy loss distributions, too."
        if confirmed is None
        else (
            f"Privacy loss distributions confirm it: {confirmed:.4f}."
            if confirmed <= steps.epsilon.decimal
            else f"Privacy loss distributions, whose bound for a replaced row is wider here, say {confirmed:.4f}."
        )
    )
    return [
        *(f"{name}: epsilon {one.epsilon.text}, delta {one.delta.text}" for name, one in charged.items()),
        f"Renyi accountant: epsilon {steps.epsilon.text} at delta {steps.delta.text}, charged. {second}",
    ]
