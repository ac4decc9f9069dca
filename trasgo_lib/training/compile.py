"""compile: a training file with model, sampling, noise and cost resolved, before data is opened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from math import isqrt
from pathlib import Path

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget import ApproximateEvent, SampledGaussianEvent, event_to_json
from trasgo_lib.config import KeyPath, LoadedTraining, ModelSpec, TrainingConfig, closest, load_training
from trasgo_lib.data import CategoryDomain, DateDomain, NumberDomain
from trasgo_lib.errors import BudgetError, Reason
from trasgo_lib.noise.discrete_gaussian import LARGEST_SIGMA
from trasgo_lib.plan import FaultCollector, ReleasePlan, UnitPlan, canonical_digest, compile_source
from trasgo_lib.plan.public_file import why_not_public
from trasgo_lib.training.calibration import least_noise
from trasgo_lib.training.descent import RATE_BITS, Descent
from trasgo_lib.training.features import Feature
from trasgo_lib.training.model import Evaluation, Sensitivity, TrainingPlan
from trasgo_lib.training.network import MOST_HIDDEN, MOST_INPUTS, MOST_LABELS, shapes

AVERAGED = 0.5
"""Weights are averaged over the last half of the steps: free, and it removes most of the noise of single steps (Adult,
epsilon 1: 0.5 to 1.5 points of accuracy)."""

_TABLE_DELTA = Delta(1)
"""1e-15, the smallest delta there is: what the noise table lacks is below 2**-100 a draw, and there are at most 2**40
draws, so even times ``1 + e**epsilon`` for an epsilon of 4 it is a thousandth of that."""

_MOST_DRAWS = 2**40
_LARGEST_EPSILON = 4
_MOST_WORDS = 2**58
_FINEST_GRID_BITS = 20
_BATCH = "Begin with a sample of about the root of 10 times the rows."
_EXACT = Context(prec=80)


@dataclass(frozen=True, slots=True)
class _Columns:
    """What a model is made of."""

    features: tuple[Feature, ...]
    labels: tuple[str, ...]


def read_training(path: Path) -> tuple[LoadedTraining, TrainingPlan]:
    """Read and compile a training file; opens no data.

    Raises:
        ConfigError: all faults at once, each with line, column, key, what was required, what came, what to do.
    """
    loaded = load_training(path)
    return loaded, compile_training(loaded)


def compile_training(loaded: LoadedTraining) -> TrainingPlan:
    """Resolve a training file.

    Args:
        loaded: a file of the right shape; public.

    Raises:
        ConfigError: all faults at once.
    """
    faults, config = FaultCollector(loaded.loaded), loaded.config
    base = compile_source(loaded.loaded, faults)
    _check_unit(config, faults)
    _check_delta(config, faults)
    evaluation = _evaluation(config, loaded, base, faults)
    rate = _rate(config, evaluation, faults)
    columns = None if base is None else _columns(config.model, base, faults)
    faults.raise_all()
    if base is None or columns is None:
        raise ValueError("columns at fault are refused above")
    plan = _plan(config, base, columns, evaluation, rate, faults)
    faults.raise_all()
    if plan is None:
        raise ValueError("noise that cannot be made is refused above")
    _check_totals(plan, config, faults)
    faults.raise_all()
    return replace(plan, base=replace(base, digest=_digest(plan)))


def _check_unit(config: TrainingConfig, faults: FaultCollector) -> None:
    unit = config.privacy.unit
    if unit != "row" and unit.max_rows > 1:
        faults.add(
            Reason.NOT_BUILT_YET,
            ("privacy", "unit", "max_rows"),
            required="one row per privacy unit: gradients are clipped by row, and m of them would cost m times as much",
            came=str(unit.max_rows),
            fix="Train on a file with one row for each unit, made from the others beforehand.",
        )


def _check_delta(config: TrainingConfig, faults: FaultCollector) -> None:
    delta = Delta.parse(config.model.delta, zero=True)
    path: KeyPath = ("model", "delta")
    if delta.units <= _TABLE_DELTA.units:
        required = f"a delta above {_TABLE_DELTA.text}: Gaussian noise has one"
        faults.add(Reason.BAD_AMOUNT, path, required=required, came=delta.text, fix='Write delta: "1e-6".')
    elif delta.fraction * config.rows >= 1:
        came = f"{delta.text}, which lets one record in {config.rows} be published as it is"
        fix = "Use a delta far below it."
        faults.add(Reason.BAD_AMOUNT, path, required=f"less than 1/{config.rows}", came=came, fix=fix)
    if Epsilon.parse(config.model.epsilon).fraction > _LARGEST_EPSILON:
        required, fix = f"at most {_LARGEST_EPSILON}", "Lower it: more says little about one row's protection."
        faults.add(Reason.BAD_AMOUNT, ("model", "epsilon"), required=required, came=config.model.epsilon, fix=fix)


def _evaluation(
    config: TrainingConfig, loaded: LoadedTraining, base: ReleasePlan | None, faults: FaultCollector
) -> Evaluation | None:
    spec = config.evaluation
    if spec is None:
        return None
    if spec.public_file is None:
        share = int(Fraction(spec.share) * 2**RATE_BITS)
        if not 0 < share < 2**RATE_BITS:
            path: KeyPath = ("evaluation", "share")
            faults.add(Reason.BAD_PARAMETER, path, required="a share below 1", came=spec.share, fix="Lower it.")
            share = 1 << (RATE_BITS - 1)  # only so that further faults are found
        return Evaluation(share, None if spec.epsilon is None else Epsilon.parse(spec.epsilon), None)
    path, file = ("evaluation", "public_file"), loaded.loaded.resolve(spec.public_file)
    restricted = None if base is None or "://" in base.restricted_root else Path(base.restricted_root)
    why = None if base is None else why_not_public(file, base.source_path, restricted)
    if why is not None:
        fix = "Name a file of public rows, or measure on rows kept out of training, with an epsilon."
        faults.add(Reason.BAD_PARAMETER, path, required="a file that is public", came=why, fix=fix)
    elif not file.is_file():
        faults.add(Reason.FILE_UNREADABLE, path, required="a file", came="none", fix="Correct the path.")
    return Evaluation(0, None, file)


def _rate(config: TrainingConfig, evaluation: Evaluation | None, faults: FaultCollector) -> int:
    """Units of 2**-32 of the sampling rate, rounded down."""
    spec, kept_out = config.model, 0.0 if evaluation is None else evaluation.share
    if spec.sampling_rate is not None:
        key, rate = "sampling_rate", Fraction(spec.sampling_rate)
    else:
        key, rate = "expected_batch", Fraction(spec.expected_batch or 0) / Fraction(config.rows * (1 - kept_out))
    units = int(rate * 2**RATE_BITS)
    if not 0 < units <= 2**RATE_BITS:
        rows, written = config.rows * (1 - kept_out), getattr(spec, key)
        required = f"a sample of more than no row and at most the {int(rows)} that training may draw from"
        came = f"{written}, a sample of {'more' if units else 'none'}"
        faults.add(Reason.BAD_PARAMETER, ("model", key), required=required, came=came, fix=_BATCH)
    if config.rows * spec.steps > _MOST_WORDS:
        required, came = f"rows times steps of at most {_MOST_WORDS}", "more"
        faults.add(Reason.BAD_PARAMETER, ("model", "steps"), required=required, came=came, fix="Use fewer steps.")
    return units


def _columns(spec: ModelSpec, base: ReleasePlan, faults: FaultCollector) -> _Columns | None:
    before, units = len(faults.found), {unit.name: unit for unit in base.units}
    target = _unit(spec.target, ("model", "target"), units, faults)
    features = []
    for place, name in enumerate(spec.features):
        path: KeyPath = ("model", "features", place)
        unit = _unit(name, path, units, faults)
        if name == spec.target or name in spec.features[:place]:
            required, came = "each column once, and not the target", f"`{name}`"
            faults.add(Reason.DUPLICATE_COLUMN, path, required=required, came=came, fix="Remove it.")
        if unit is not None:
            features.append(_feature(unit))
    labels = () if target is None else _labels(target, faults)
    inputs = sum(feature.width for feature in features)
    if inputs > MOST_INPUTS:
        required, fix = f"at most {MOST_INPUTS} inputs", "Coarsen labels by a hierarchy, or leave columns out."
        faults.add(Reason.BAD_PARAMETER, ("model", "features"), required=required, came=str(inputs), fix=fix)
    for place, width in enumerate(spec.hidden):
        if not 1 <= width <= MOST_HIDDEN:
            required, path = f"1 to {MOST_HIDDEN}", ("model", "hidden", place)
            faults.add(Reason.BAD_PARAMETER, path, required=required, came=str(width), fix="Correct it.")
    return None if len(faults.found) > before else _Columns(tuple(features), labels)


def _unit(name: str, path: KeyPath, units: dict[str, UnitPlan], faults: FaultCollector) -> UnitPlan | None:
    found = units.get(name)
    if found is None:
        required = f"a declared column that is not dropped ({', '.join(units)})"
        fix = f"{closest(name, units)}Correct the name, or declare the column with a domain."
        faults.add(Reason.UNKNOWN_NAME, path, required=required, came=f"`{name}`", fix=fix)
    return found


def _feature(unit: UnitPlan) -> Feature:
    is_number = isinstance(unit.domain, NumberDomain | DateDomain)
    return Feature(unit.name, "number" if is_number else "category", unit.domain.size, unit.missing == "code")


def _labels(unit: UnitPlan, faults: FaultCollector) -> tuple[str, ...]:
    domain = unit.domain
    if isinstance(domain, CategoryDomain) and unit.missing != "code" and 2 <= domain.size <= MOST_LABELS:
        return tuple(domain.codes)
    required = f"a category of 2 to {MOST_LABELS} labels without a code for missing values"
    came = f"a {unit.type} of {domain.size} values" + (" with missing: code" if unit.missing == "code" else "")
    fix = "Declare it so, or predict another column."
    faults.add(Reason.BAD_PARAMETER, ("model", "target"), required=required, came=came, fix=fix)
    return ()


def _plan(
    config: TrainingConfig,
    base: ReleasePlan,
    columns: _Columns,
    evaluation: Evaluation | None,
    rate: int,
    faults: FaultCollector,
) -> TrainingPlan | None:
    spec = config.model
    event = _event(spec, rate, faults)
    if event is None:
        return None
    found = shapes(sum(feature.width for feature in columns.features), spec.hidden, len(columns.labels))
    parameters = sum(rows * outputs for rows, outputs in found)
    sensitivity = _sensitivity(Fraction(event.noise_multiplier), parameters)
    if sensitivity is None or parameters * spec.steps > _MOST_DRAWS:
        required, came = "fewer weights or less noise", f"{parameters} weights, {event.noise_multiplier} times the clip"
        fix = "Use fewer features, smaller layers, a larger epsilon or fewer steps."
        faults.add(Reason.BAD_PARAMETER, ("model", "features"), required=required, came=came, fix=fix)
        return None
    trained = 1.0 if evaluation is None else 1 - evaluation.share
    descent = Descent(
        shapes=found,
        rate_units=rate,
        steps=spec.steps,
        clip_norm=float(spec.clip_norm),
        grid_bits=sensitivity.clipped.bit_length() - 1,
        variance=(Fraction(event.noise_multiplier) * sensitivity.total) ** 2,
        expected_rows=rate / 2.0**RATE_BITS * config.rows * trained,
        learning_rate=float(spec.learning_rate),
        averaged=AVERAGED,
    )
    table = ApproximateEvent(Epsilon(0), _TABLE_DELTA)
    return TrainingPlan(
        base, spec, config.rows, columns.features, columns.labels, descent, sensitivity, event, table, evaluation
    )


def _event(spec: ModelSpec, rate: int, faults: FaultCollector) -> SampledGaussianEvent | None:
    """The least noise that keeps the epsilon, for a delta less what the table of the noise takes."""
    delta = Delta(Delta.parse(spec.delta).units - _TABLE_DELTA.units)
    try:
        return least_noise(Epsilon.parse(spec.epsilon), delta, rate_text(rate), spec.steps)
    except BudgetError as error:
        fault = error.faults[0]
        path: KeyPath = ("model", "epsilon")
        faults.add(Reason.BAD_AMOUNT, path, required=fault.required, came=fault.came, fix=fault.fix)
        return None


def rate_text(units: int) -> str:
    """A sampling rate as exact decimal text."""
    return format(_EXACT.divide(Decimal(units), Decimal(1 << RATE_BITS)).normalize(_EXACT), "f")


def _sensitivity(multiplier: Fraction, parameters: int) -> Sensitivity | None:
    """The finest grid whose noise a table holds; None when even the coarsest one is too wide."""
    rounding = isqrt(parameters - 1) + 1
    for bits in range(_FINEST_GRID_BITS, 0, -1):
        found = Sensitivity(1 << bits, rounding)
        if multiplier * found.total <= LARGEST_SIGMA:
            return found
    return None


def _check_totals(plan: TrainingPlan, config: TrainingConfig, faults: FaultCollector) -> None:
    spent, most = plan.cost, plan.base
    for key, asked, cap in (
        ("epsilon_total", spent.epsilon, most.epsilon_total),
        ("delta_total", spent.delta, most.delta_total),
    ):
        if asked.units > cap.units:
            required = f"at least {asked.text}, for training and evaluation"
            fix = "Raise it, or spend less."
            faults.add(Reason.OVER_TOTAL, ("privacy", key), required=required, came=cap.text, fix=fix)


def _digest(plan: TrainingPlan) -> str:
    """Everything that fixes the law of what is published."""
    law, evaluation = plan.descent, plan.evaluation
    return canonical_digest(
        {
            "format": 1,
            "source": plan.base.digest,
            "model": plan.spec.model_dump(mode="json"),
            "rows": plan.rows,
            "events": [[name, event_to_json(event)] for name, event in plan.charges],
            "noise": [str(law.variance), law.grid_bits, law.rate_units],
            "averaged": law.averaged.hex(),
            "evaluation": None if evaluation is None else [evaluation.share_units, evaluation.public_file is not None],
        }
    )
