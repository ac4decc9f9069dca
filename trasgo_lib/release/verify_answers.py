"""Verification of a statistics package: sums of the statement, noise against claims, CSV against JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trasgo_lib.amounts import Epsilon, Rho
from trasgo_lib.budget import (
    Cost,
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
from trasgo_lib.noise import concentrated_selection_scale, gaussian_scale, laplace_scale, selection_scale
from trasgo_lib.release.answers_file import ANSWERS, ANSWERS_CSV, csv_rows
from trasgo_lib.release.package import STATEMENT
from trasgo_lib.release.verification import VerificationResult, failed, judge
from trasgo_lib.release.verify_charges import total_of, verify_charges
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
    try:
        yield from _verify_costs(statement)
        for query in statement["queries"]:
            yield from _verify_noise(query, statement["max_rows"])
    except (TrasgoError, ArithmeticError, ValueError, KeyError, TypeError) as error:
        came = f"something that cannot be computed with ({type(error).__name__})"
        yield failed("claims", STATEMENT, "events, claims and sensitivities", came, Reason.SCHEMA_VIOLATION)
    yield _verify_csv(store, f"{prefix}/{ANSWERS_CSV}" if prefix else ANSWERS_CSV, answers)


def _verify_costs(statement: dict[str, Any]) -> Iterator[VerificationResult]:
    total = total_of(statement)
    yield from verify_charges(statement)
    for query in statement["queries"]:
        charged = cost(event_from_json(query["event"]))
        yield judge("cost of its event", query["name"], charged.to_json(), query["cost"], Reason.CLAIM_NOT_CERTIFIED)
    yield judge("sum of the queries", STATEMENT, total.to_json(), statement["spent"], Reason.CLAIM_NOT_CERTIFIED)
    cap = Cost.of(statement["epsilon_guarantee"], statement["delta_guarantee"])
    yield judge("within the guarantee", STATEMENT, True, total.fits(cap), Reason.CLAIM_NOT_CERTIFIED)
    spent = Cost.from_json(statement["account_to_date"])
    yield judge("within the account", STATEMENT, True, total.fits(spent), Reason.CLAIM_NOT_CERTIFIED)


def _verify_noise(query: dict[str, Any], max_rows: int) -> Iterator[VerificationResult]:
    event = event_from_json(query["event"])
    bounds = query["bounds"]
    kept = min(bounds["rows"] * bounds["groups"], max_rows)
    best = query["parts"][0]["sensitivity"]
    yield judge("bounds of a unit", query["name"], True, int(best["l1"]) >= kept, Reason.CLAIM_NOT_CERTIFIED)
    claims = 0
    for part in query["parts"]:
        least = _LEAST_SCALE[part["noise"]](part, query)
        came = "no less" if part["scale"] >= least * (1 - 1e-9) else f"{part['scale']:.9g}"
        where = f"{query['name']}: {part['name']}"
        required = f"a scale of at least {least:.9g}"
        if came == "no less":
            yield judge("scale of the noise", where, "no less", came, Reason.CLAIM_NOT_CERTIFIED)
        else:
            yield failed("scale of the noise", where, required, came, Reason.CLAIM_NOT_CERTIFIED)
        fits = part["noise"] in _NOISE_OF[type(event)]
        yield judge("noise of its event", where, True, fits, Reason.CLAIM_NOT_CERTIFIED)
        claims += _claim(part).units
    whole = event.rho.units if isinstance(event, GaussianEvent) else cost(event).epsilon.units
    yield judge("claims of its parts", query["name"], True, claims <= whole, Reason.CLAIM_NOT_CERTIFIED)


def _claim(part: dict[str, Any]) -> Epsilon | Rho:
    claim = part["claim"]
    return Epsilon.parse(claim["epsilon"]) if "epsilon" in claim else Rho.parse(claim["rho"])


def _laplace(part: dict[str, Any], query: dict[str, Any]) -> float:
    return laplace_scale(int(part["sensitivity"]["l1"]), Epsilon.parse(part["claim"]["epsilon"]))


def _gaussian(part: dict[str, Any], query: dict[str, Any]) -> float:
    return gaussian_scale(int(part["sensitivity"]["l2_squared"]), Rho.parse(part["claim"]["rho"]))


def _choice(part: dict[str, Any], query: dict[str, Any]) -> float:
    total = Epsilon.parse(part["claim"]["epsilon"])
    return selection_scale(int(part["sensitivity"]["largest"]), Epsilon(total.units // query["numbers"]))


def _gumbel(part: dict[str, Any], query: dict[str, Any]) -> float:
    total = Rho.parse(part["claim"]["rho"])
    return concentrated_selection_scale(int(part["sensitivity"]["largest"]), Rho(total.units // query["numbers"]))


def _sparse_vector(part: dict[str, Any], query: dict[str, Any]) -> float:
    claim, cutoff = Epsilon.parse(part["claim"]["epsilon"]), int(query["event"]["cutoff"])
    half = Epsilon(claim.units - claim.units // 2)
    return laplace_scale(2 * cutoff * int(part["sensitivity"]["largest"]), half)


_LEAST_SCALE: Mapping[str, Callable[[dict[str, Any], dict[str, Any]], float]] = {
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


def _verify_csv(store: ObjectStore, key: str, answers: dict[str, Any]) -> VerificationResult:
    try:
        text = store.get(key).decode("utf-8")
    except (TrasgoError, UnicodeDecodeError):
        return failed("CSV equals JSON", ANSWERS_CSV, "the answers", "a file that cannot be read", Reason.MISSING_FILE)
    rows = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))]
    return judge("CSV equals JSON", ANSWERS_CSV, True, rows == csv_rows(answers), Reason.DIGEST_MISMATCH)
