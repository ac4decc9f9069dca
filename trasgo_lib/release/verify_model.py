"""Verification of a published model: charges from their events, noise against claims, weights against what is stated.

The accountant runs again from the stated parameters, in exact decimals: who verifies trusts no figure of the package.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod
from typing import Any

from trasgo_lib.budget import (
    ApproximateEvent,
    Cost,
    DiscreteLaplaceEvent,
    SampledGaussianEvent,
    cost,
    event_from_json,
)
from trasgo_lib.data import CategoryDomain, domain_from_description
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.noise import laplace_half_width, laplace_scale
from trasgo_lib.noise.discrete_gaussian import MISSING_AT_MOST
from trasgo_lib.release.manifest import MANIFEST
from trasgo_lib.release.model_file import CARD, COMPOSITION, MODEL, card_text
from trasgo_lib.release.package import STATEMENT
from trasgo_lib.release.verification import VerificationResult, failed, judge
from trasgo_lib.storage import ObjectStore

_RATE = 2**32
_NOT_CERTIFIED = Reason.CLAIM_NOT_CERTIFIED


def verify_model(
    store: ObjectStore, prefix: str, manifest: dict[str, Any], model: dict[str, Any], statement: dict[str, Any]
) -> Iterator[VerificationResult]:
    """Check model, statement and card against each other, and the noise against what was claimed and charged.

    Args:
        store: where the package stands.
        prefix: its prefix; empty when the store's root is the package.
        manifest: the parsed manifest.
        model: the parsed model.
        statement: the parsed statement.
    """
    named = (manifest["dataset"], manifest["version"])
    for path, document in ((MODEL, model), (STATEMENT, statement)):
        yield judge("same release", path, named, (document["dataset"], document["version"]), Reason.SCHEMA_VIOLATION)
    for key in ("rows", "created", "library_version", "commit"):
        yield judge(f"same {key}", STATEMENT, manifest[key], statement[key], Reason.SCHEMA_VIOLATION)
    corrected = (statement["supersedes"] or {}).get("version")
    yield judge("same superseded version", STATEMENT, manifest["supersedes"], corrected, Reason.SCHEMA_VIOLATION)
    yield judge("composition", STATEMENT, COMPOSITION, statement["composition"], _NOT_CERTIFIED)
    yield judge(
        "column that is predicted", MANIFEST, [model["target"]["name"]], manifest["columns"], Reason.SCHEMA_VIOLATION
    )
    # gradients are clipped by row; and the accountant's work grows with the rows of a unit
    yield judge("rows of a unit", STATEMENT, 1, statement["max_rows"], _NOT_CERTIFIED)
    if statement["max_rows"] != 1:
        return
    try:
        yield from _verify_costs(statement)
        yield from _verify_noise(statement)
        yield from _verify_weights(model, statement["training"])
        yield from _verify_accuracy(model["accuracy"], statement)
    except (TrasgoError, ArithmeticError, ValueError, KeyError, TypeError, IndexError) as error:
        came = f"something that cannot be computed with ({type(error).__name__})"
        yield failed("claims", STATEMENT, "events, noise and sensitivities", came, Reason.SCHEMA_VIOLATION)
        return
    yield _verify_card(store, f"{prefix}/{CARD}" if prefix else CARD, model, statement)


def _verify_costs(statement: dict[str, Any]) -> Iterator[VerificationResult]:
    total = Cost.zero()
    for charge in statement["charges"]:
        charged = cost(event_from_json(charge["event"]), statement["max_rows"])
        yield judge("cost of its event", charge["name"], charged.to_json(), charge["cost"], _NOT_CERTIFIED)
        total += charged
    yield judge("sum of the charges", STATEMENT, total.to_json(), statement["spent"], _NOT_CERTIFIED)
    cap = Cost.of(statement["epsilon_guarantee"], statement["delta_guarantee"])
    yield judge("within the guarantee", STATEMENT, True, total.fits(cap), _NOT_CERTIFIED)
    spent = Cost.from_json(statement["account_to_date"])
    yield judge("within the account", STATEMENT, True, total.fits(spent), _NOT_CERTIFIED)
    yield judge(
        "delta below one in the rows", STATEMENT, True, total.delta.fraction * statement["rows"] < 1, _NOT_CERTIFIED
    )


def _verify_noise(statement: dict[str, Any]) -> Iterator[VerificationResult]:
    training = statement["training"]
    steps, table = (event_from_json(charge["event"]) for charge in statement["charges"][:2])
    kinds = isinstance(steps, SampledGaussianEvent) and isinstance(table, ApproximateEvent)
    yield judge("events of a training", STATEMENT, True, kinds, _NOT_CERTIFIED)
    if not isinstance(steps, SampledGaussianEvent) or not isinstance(table, ApproximateEvent):
        return
    said = (training["steps"], training["noise"]["multiplier"], training["sampling"]["chances_in_2_32"])
    charged = (steps.steps, steps.noise_multiplier, int(Fraction(steps.rate) * _RATE))
    yield judge("steps, noise and rate as charged", STATEMENT, charged, said, _NOT_CERTIFIED)
    moves, parameters = training["sensitivity"], training["parameters"]
    holds = (
        moves["clipped"] == 2 ** training["noise"]["grid_bits"]
        and moves["rounding"] ** 2 >= parameters
        and moves["total"] == moves["clipped"] + moves["rounding"]
    )
    yield judge("sensitivity of a step", STATEMENT, True, holds, _NOT_CERTIFIED)
    variance = Fraction(*(int(text) for text in training["noise"]["variance"]))
    least = (Fraction(steps.noise_multiplier) * moves["total"]) ** 2
    yield judge("scale of the noise", STATEMENT, True, variance >= least, _NOT_CERTIFIED)
    # e**epsilon < 3**ceil(epsilon); from 100 on no delta below one is enough
    charged_epsilon = cost(steps).epsilon
    draws = steps.steps * parameters * (1 + 3 ** min(int(-(-charged_epsilon.fraction // 1)), 100))
    yield judge(
        "delta of the noise's table", STATEMENT, True, table.delta.fraction >= draws * MISSING_AT_MOST, _NOT_CERTIFIED
    )


def _verify_weights(model: dict[str, Any], training: dict[str, Any]) -> Iterator[VerificationResult]:
    found = [[len(layer), len(layer[0])] for layer in model["layers"]]
    even = all(len(row) == len(layer[0]) for layer in model["layers"] for row in layer)
    yield judge(
        "shape of the weights", MODEL, training["layers"], found if even else "uneven rows", Reason.SCHEMA_VIOLATION
    )
    count = sum(prod(shape) for shape in training["layers"])
    yield judge("number of weights", STATEMENT, count, training["parameters"], _NOT_CERTIFIED)
    inputs = [{"name": one["name"], "inputs": one["inputs"]} for one in model["features"]]
    yield judge("same features", MODEL, training["features"], inputs, Reason.SCHEMA_VIOLATION)
    for one in model["features"]:
        domain = domain_from_description(one["domain"])
        width = (domain.size if isinstance(domain, CategoryDomain) else 1) + int(one["has_missing"])
        yield judge("inputs of its domain", one["name"], width, one["inputs"], Reason.SCHEMA_VIOLATION)
    labels = len(model["target"]["labels"])
    told = (
        model["type"],
        model["target"]["name"],
        sum(one["inputs"] for one in inputs) + 1,
        1 if labels == 2 else labels,
    )
    stated = (training["type"], training["target"], training["layers"][0][0], training["layers"][-1][1])
    yield judge("same kind of model", MODEL, stated, told, Reason.SCHEMA_VIOLATION)


def _verify_accuracy(accuracy: dict[str, Any] | None, statement: dict[str, Any]) -> Iterator[VerificationResult]:
    """An accuracy of private rows stands beside a charge for it, with that charge's interval; a public one has none."""
    rest = [event_from_json(charge["event"]) for charge in statement["charges"][2:]]
    paid = rest[0] if len(rest) == 1 and isinstance(rest[0], DiscreteLaplaceEvent) else None
    is_paid = paid is not None and paid.sensitivity == 1
    is_private = accuracy is not None and accuracy["measured_on"] == "rows_kept_out"
    holds = is_paid if is_private else not rest or (is_paid and accuracy is None)
    yield judge("accuracy was paid for", MODEL, True, holds, _NOT_CERTIFIED)
    if accuracy is None:
        return
    width = laplace_half_width(laplace_scale(1, paid.epsilon)) if is_private and paid is not None else 0
    ends = (accuracy["right"], accuracy["right"] - width, accuracy["right"] + width)
    shares = [min(max(end / accuracy["rows"], 0.0), 1.0) for end in ends]
    told = [accuracy[name] for name in ("share", "low", "high")]
    yield judge("share of right predictions, and its interval", MODEL, shares, told, Reason.SCHEMA_VIOLATION)
    are_rows = statement["training"]["kept_out"]["chances_in_2_32"] > 0 and accuracy["rows"] <= statement["rows"]
    yield judge("rows kept out", MODEL, True, are_rows or not is_private, Reason.SCHEMA_VIOLATION)


def _verify_card(store: ObjectStore, key: str, model: dict[str, Any], statement: dict[str, Any]) -> VerificationResult:
    try:
        text = store.get(key).decode("utf-8")
    except (TrasgoError, UnicodeDecodeError):
        return failed("card", CARD, "the model card", "a file that cannot be read", Reason.MISSING_FILE)
    return judge(
        "card says what the documents say", CARD, True, text == card_text(model, statement), Reason.DIGEST_MISMATCH
    )
