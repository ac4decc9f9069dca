"""Verification of what a statement says beside its amounts: the numbers in its words, and which targets were met."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from trasgo_lib.errors import Reason
from trasgo_lib.release.verification import VerificationResult, judge

_NUMBER = r"(\d+(?:\.\d+)?)"
_CAP = re.compile(rf"at most (?:epsilon )?{_NUMBER}(?:, delta {_NUMBER})?(?:, geo epsilon {_NUMBER} per km)? in all")
"""Statements from before ``epsilon`` stood here name that amount alone."""

_LAST_DIGIT = Decimal("0.001")
"""A loss is stated with four digits, so by this much, in terms of itself, its end may seem above a ceiling it met."""


def verify_stated(statement: dict[str, Any], suffix: str) -> Iterator[VerificationResult]:
    """Hold the words and the targets of a statement against its amounts.

    Args:
        statement: the parsed ``statement.json``.
        suffix: what the amounts' names end with.
    """
    yield from _verify_words(statement, suffix)
    for unit in statement["units"]:
        yield from _verify_target(unit, covers_selection=statement["guarantee_covers_selection"])
        yield from _verify_rounds(unit)


def _verify_words(statement: dict[str, Any], suffix: str) -> Iterator[VerificationResult]:
    """The amounts in the paragraph that people sign, each in its place and no other."""
    words = statement["in_words"]
    stated = {
        "odds": re.findall(rf"e\^{_NUMBER}(?!\.?\d| more)", words),
        "kilometres": re.findall(rf"e\^{_NUMBER} more for every kilometre", words),
        "probability": re.findall(rf"probability {_NUMBER}", words),
        "cap": [amount for found in _CAP.findall(words) for amount in found if amount],
    }
    spent = {name: statement[f"{name}_realised{suffix}"] for name in ("epsilon", "delta", "geo_per_km")}
    wanted = {
        "odds": [spent["epsilon"]],
        "kilometres": [] if _is_zero(spent["geo_per_km"]) else [spent["geo_per_km"]],
        "probability": [] if _is_zero(spent["delta"]) else [spent["delta"]],
        "cap": [statement[f"epsilon_guarantee{suffix}"]],
    }
    if "at most epsilon " in words:
        others = (statement[f"{name}_guarantee{suffix}"] for name in ("delta", "geo_per_km"))
        wanted["cap"] += [amount for amount in others if not _is_zero(amount)]
    for name, amounts in wanted.items():
        yield judge(f"words: {name}", "statement.json", amounts, stated[name], Reason.CLAIM_NOT_CERTIFIED)


def _is_zero(amount: str) -> bool:
    return not amount.strip("0.")


def _verify_rounds(unit: dict[str, Any]) -> Iterator[VerificationResult]:
    """Every draw has its round, later draws have later rounds, and the last one's loss is the published one."""
    if "rounds" not in unit:
        return
    rounds = [entry["round"] for entry in unit["rounds"]]
    yield judge("rounds", unit["name"], len(unit["draws"]), len(rounds), Reason.SCHEMA_VIOLATION)
    yield judge("order of rounds", unit["name"], sorted(set(rounds)), rounds, Reason.SCHEMA_VIOLATION)
    yield judge(
        "loss of the last round", unit["name"], unit["loss"], unit["rounds"][-1]["loss"], Reason.SCHEMA_VIOLATION
    )


def _verify_target(unit: dict[str, Any], *, covers_selection: bool) -> Iterator[VerificationResult]:
    """A loss lies in its interval, and where it is public a target is met exactly when the upper end says so."""
    target, loss = unit["target"], unit["loss"]
    try:
        ends = None if loss is None else [Decimal(loss[name]) for name in ("low", "value", "high")]
        ceiling = None if target is None else Decimal(target["ceiling"])
    except InvalidOperation:
        yield judge("target", unit["name"], "numbers", "other text", Reason.SCHEMA_VIOLATION)
        return
    if ends is not None:
        yield judge("interval of the loss", unit["name"], sorted(ends), ends, Reason.SCHEMA_VIOLATION)
    if ceiling is None or not covers_selection:
        return
    high = None if ends is None else ends[-1]
    near = high is not None and abs(high - ceiling) <= _LAST_DIGIT * high
    if not near:
        met = high is not None and high <= ceiling
        yield judge("target met", unit["name"], met, target["met"], Reason.SCHEMA_VIOLATION)
