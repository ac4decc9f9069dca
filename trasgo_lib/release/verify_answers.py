"""Verification of a statistics package: sums of the statement, noise against claims, CSV against JSON.

Sensitivities are derived again from the published questions (``verify_sensitivity``); those that are stated only have
to agree.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trasgo_lib.amounts import Epsilon, Rho
from trasgo_lib.budget import (
    Cost,
    DeclaredPlanEvent,
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    GaussianEvent,
    LossEvent,
    NoisyMaxEvent,
    SparseVectorEvent,
    cost,
    event_from_json,
)
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.noise import (
    concentrated_selection_scale,
    gaussian_half_width,
    gaussian_scale,
    laplace_half_width,
    laplace_scale,
    selection_scale,
    selection_shortfall,
)
from trasgo_lib.release.answers_file import ANSWERS, ANSWERS_CSV, csv_rows
from trasgo_lib.release.package import STATEMENT
from trasgo_lib.release.verification import VerificationResult, failed, judge
from trasgo_lib.release.verify_charges import composition_of, neighbours_of, total_of, verify_charges
from trasgo_lib.release.verify_sensitivity import Moves, Question, derive, question_of
from trasgo_lib.release.verify_values import verify_values
from trasgo_lib.storage import ObjectStore


def verify_answers(
    store: ObjectStore, prefix: str, manifest: dict[str, Any], answers: dict[str, Any], statement: dict[str, Any]
) -> Iterator[VerificationResult]:
    """Check answers and statement against each other and against what noise and claims have to be.

    Args:
        store: where the package stands.
        prefix: its prefix; empty when the store's root is the package.
        manifest: the parsed manifest.
        answers: the parsed answers.
        statement: the parsed statement.
    """
    named = (manifest["dataset"], manifest["version"])
    for path, document in ((ANSWERS, answers), (STATEMENT, statement)):
        yield judge("same release", path, named, (document["dataset"], document["version"]), Reason.SCHEMA_VIOLATION)
    yield judge("same rows", ANSWERS, manifest["rows"], answers["rows"], Reason.SCHEMA_VIOLATION)
    asked = [(query["name"], query["type"]) for query in statement["queries"]]
    told = [(query["name"], query["type"]) for query in answers["queries"]]
    yield judge("same queries", ANSWERS, asked, told, Reason.SCHEMA_VIOLATION)
    yield judge(
        "same queries", "manifest.json", [name for name, _ in asked], manifest["columns"], Reason.SCHEMA_VIOLATION
    )
    for key in ("created", "library_version", "commit"):
        yield judge(f"same {key}", STATEMENT, manifest[key], statement[key], Reason.SCHEMA_VIOLATION)
    corrected = (statement["supersedes"] or {}).get("version")
    yield judge("same superseded version", STATEMENT, manifest["supersedes"], corrected, Reason.SCHEMA_VIOLATION)
    try:
        yield from _verify_costs(statement)
        yield from _verify_deltas(statement, answers["rows"])
        for query, answer in zip(statement["queries"], answers["queries"]):
            yield from _verify_question(query, statement)
            yield from verify_values(query, answer, question_of(query, statement))
    except (TrasgoError, ArithmeticError, ValueError, KeyError, TypeError) as error:
        came = f"something that cannot be computed with ({type(error).__name__})"
        yield failed("claims", STATEMENT, "questions, events and claims", came, Reason.SCHEMA_VIOLATION)
    yield _verify_csv(store, f"{prefix}/{ANSWERS_CSV}" if prefix else ANSWERS_CSV, answers)


def _verify_costs(statement: dict[str, Any]) -> Iterator[VerificationResult]:
    total = total_of(statement)
    yield from verify_charges(statement)
    required = neighbours_of(statement)
    yield judge("neighbours", STATEMENT, required, statement["neighbours"], Reason.CLAIM_NOT_CERTIFIED)
    rules = composition_of(statement)
    yield judge("composition", STATEMENT, rules, statement["composition"], Reason.CLAIM_NOT_CERTIFIED)
    for query in statement["queries"]:
        charged = cost(event_from_json(query["event"]))
        yield judge("cost of its event", query["name"], charged.to_json(), query["cost"], Reason.CLAIM_NOT_CERTIFIED)
    yield judge("sum of the queries", STATEMENT, total.to_json(), statement["spent"], Reason.CLAIM_NOT_CERTIFIED)
    cap = Cost.of(statement["epsilon_guarantee"], statement["delta_guarantee"])
    yield judge("within the guarantee", STATEMENT, True, total.fits(cap), Reason.CLAIM_NOT_CERTIFIED)
    spent = Cost.from_json(statement["account_to_date"])
    yield judge("within the account", STATEMENT, True, total.fits(spent), Reason.CLAIM_NOT_CERTIFIED)


def _verify_deltas(statement: dict[str, Any], rows: int) -> Iterator[VerificationResult]:
    """No draw may fail for one row in all of them: that would let it be published as it is."""
    charged = [*statement["queries"], *statement.get("charges", ())]
    for one in charged:
        event = event_from_json(one["event"])
        if isinstance(event, GaussianEvent | DeclaredPlanEvent):
            is_small = event.delta.fraction * rows < 1
            yield judge("delta below one in the rows", one["name"], True, is_small, Reason.CLAIM_NOT_CERTIFIED)


def _verify_question(query: dict[str, Any], statement: dict[str, Any]) -> Iterator[VerificationResult]:
    """Hold what is stated of a query's noise against what follows from the question alone."""
    name, question = query["name"], question_of(query, statement)
    bounds = {"rows": question.rows, "groups": question.groups}
    yield judge("bounds of a unit", name, bounds, query["bounds"], Reason.CLAIM_NOT_CERTIFIED)
    derived = derive(question)
    parts = [part["name"] for part in query["parts"]]
    yield judge("parts", name, list(derived), parts, Reason.CLAIM_NOT_CERTIFIED)
    numbers = sum(moves.numbers for moves in derived.values())
    yield judge("numbers", name, numbers, query["numbers"], Reason.CLAIM_NOT_CERTIFIED)
    for part in query["parts"]:
        moves = derived[part["name"]]
        where = f"{name}: {part['name']}"
        least = {"l1": str(moves.l1), "l2_squared": str(moves.l2_squared), "largest": str(moves.largest)}
        stated = {key: part["sensitivity"][key] for key in least}
        yield judge("sensitivity derived again", where, least, stated, Reason.CLAIM_NOT_CERTIFIED)
        yield from _verify_noise(part, where, moves, query)
        width = str(_half_width(part, question, len(query["parts"])))
        yield judge("half-width", where, width, part["half_width_steps"], Reason.CLAIM_NOT_CERTIFIED)
    event = event_from_json(query["event"])
    if isinstance(event, DiscreteLaplaceEvent):
        # one number has the law of its own steps; of a vector only its epsilon bounds what is lost
        steps = next(iter(derived.values())).l1 if len(derived) == numbers == 1 else 1
        yield judge("steps of its event", name, steps, event.sensitivity, Reason.CLAIM_NOT_CERTIFIED)
    whole = event.rho.units if isinstance(event, GaussianEvent) else cost(event).epsilon.units
    claims = sum(_claim(part).units for part in query["parts"])
    yield judge("claims of its parts", name, True, claims <= whole, Reason.CLAIM_NOT_CERTIFIED)


def _verify_noise(
    part: dict[str, Any], where: str, moves: Moves, query: dict[str, Any]
) -> Iterator[VerificationResult]:
    """The scale against the derived sensitivity and the claim; a stated sensitivity is not asked."""
    least = _LEAST_SCALE[part["noise"]](part, moves, query)
    if part["scale"] >= least * (1 - 1e-9):
        yield judge("scale of the noise", where, "no less", "no less", Reason.CLAIM_NOT_CERTIFIED)
    else:
        required, came = f"a scale of at least {least:.9g}", f"{part['scale']:.9g}"
        yield failed("scale of the noise", where, required, came, Reason.CLAIM_NOT_CERTIFIED)
    event = event_from_json(query["event"])
    fits = part["noise"] in _NOISE_OF[type(event)] and query["type"] in _KINDS_OF[part["noise"]]
    yield judge("noise of its event", where, True, fits, Reason.CLAIM_NOT_CERTIFIED)
    if isinstance(event, SparseVectorEvent):
        cutoff = int(query["asked"].get("cutoff", 1))
        yield judge("cutoff of its event", where, cutoff, event.cutoff, Reason.CLAIM_NOT_CERTIFIED)


def _half_width(part: dict[str, Any], question: Question, parts: int) -> int:
    """What 95 % of the noise stay within, for intervals that are read together each with its share."""
    scale, kind = float(part["scale"]), part["noise"]
    if kind == "laplace":
        return laplace_half_width(scale, _SHARE_OUTSIDE / parts)
    if kind == "gaussian":
        return gaussian_half_width(scale, _SHARE_OUTSIDE / parts)
    if kind == "sparse_vector":
        claim = Epsilon.parse(part["claim"]["epsilon"])
        threshold = laplace_scale(question.kept, Epsilon(claim.units // 2))
        counts = laplace_half_width(scale, _SHARE_OUTSIDE / 2 / len(question.options))
        return laplace_half_width(threshold, _SHARE_OUTSIDE / 2) + counts
    best = int(question.asked.get("best", 1)) if question.kind == "top" else 1
    return selection_shortfall(scale, len(question.options), _SHARE_OUTSIDE / best)


def _claim(part: dict[str, Any]) -> Epsilon | Rho:
    claim = part["claim"]
    return Epsilon.parse(claim["epsilon"]) if "epsilon" in claim else Rho.parse(claim["rho"])


def _laplace(part: dict[str, Any], moves: Moves, query: dict[str, Any]) -> float:
    return laplace_scale(moves.l1, Epsilon.parse(part["claim"]["epsilon"]))


def _gaussian(part: dict[str, Any], moves: Moves, query: dict[str, Any]) -> float:
    return gaussian_scale(moves.l2_squared, Rho.parse(part["claim"]["rho"]))


def _choice(part: dict[str, Any], moves: Moves, query: dict[str, Any]) -> float:
    total = Epsilon.parse(part["claim"]["epsilon"])
    return selection_scale(moves.largest, Epsilon(total.units // moves.numbers))


def _gumbel(part: dict[str, Any], moves: Moves, query: dict[str, Any]) -> float:
    total = Rho.parse(part["claim"]["rho"])
    return concentrated_selection_scale(moves.largest, Rho(total.units // moves.numbers))


def _sparse_vector(part: dict[str, Any], moves: Moves, query: dict[str, Any]) -> float:
    claim, cutoff = Epsilon.parse(part["claim"]["epsilon"]), int(query["asked"].get("cutoff", 1))
    half = Epsilon(claim.units - claim.units // 2)
    return laplace_scale(2 * cutoff * moves.largest, half)


_SHARE_OUTSIDE = 0.05

_LEAST_SCALE: Mapping[str, Callable[[dict[str, Any], Moves, dict[str, Any]], float]] = {
    "laplace": _laplace,
    "gaussian": _gaussian,
    "exponential": _choice,
    "noisy_max": _choice,
    "gumbel": _gumbel,
    "sparse_vector": _sparse_vector,
}


_NOISE_OF: Mapping[type[LossEvent], frozenset[str]] = {
    DiscreteLaplaceEvent: frozenset({"laplace"}),
    GaussianEvent: frozenset({"gaussian", "gumbel"}),
    ExponentialMechanismEvent: frozenset({"exponential"}),
    NoisyMaxEvent: frozenset({"noisy_max"}),
    SparseVectorEvent: frozenset({"sparse_vector"}),
}
"""The noise whose loss an event stands for: a concentrated draw charged as a pure one would be charged too little."""

_ADDITIVE = frozenset({"count", "sum", "mean", "variance", "histogram", "crosstab"})
_CHOSEN = frozenset({"quantile", "median", "minimum", "maximum", "best"})
_KINDS_OF: Mapping[str, frozenset[str]] = {
    "laplace": _ADDITIVE,
    "gaussian": _ADDITIVE,
    "exponential": _CHOSEN,
    "noisy_max": frozenset({"top"}),
    "gumbel": _CHOSEN | {"top"},
    "sparse_vector": frozenset({"above"}),
}
"""The questions that a law of noise can answer: the noise of a choice does not pay for a value that leaves."""


def _verify_csv(store: ObjectStore, key: str, answers: dict[str, Any]) -> VerificationResult:
    try:
        text = store.get(key).decode("utf-8")
    except (TrasgoError, UnicodeDecodeError):
        return failed("CSV equals JSON", ANSWERS_CSV, "the answers", "a file that cannot be read", Reason.MISSING_FILE)
    rows = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))]
    return judge("CSV equals JSON", ANSWERS_CSV, True, rows == csv_rows(answers), Reason.DIGEST_MISMATCH)
