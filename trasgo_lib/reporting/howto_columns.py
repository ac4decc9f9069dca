"""The columns of a release as its how-to sees them, from ``channel.json`` and ``statement.json`` alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, Literal

_WORD = 2**64

Kind = Literal["label", "number", "date", "place"]


@dataclass(frozen=True, slots=True)
class HowtoColumn:
    """One noised column.

    Args:
        name: as in the data file.
        kind: what its values are.
        mechanism: of its noise unit.
        values: labels in order, or lower, upper and step as text; empty for places.
        has_missing: whether a missing value is a value of its own.
        is_ordered: whether labels have an order.
        is_whole: whether labels are whole numbers.
        bins: number of bins that are told apart; None where all values are.
        group: the noise unit, where it holds other columns, too.
        kept: share of the rows that keep their value, the others draw one of ``places`` evenly; None for other noise.
        places: what is drawn from.
        ends: what the least and the largest published value count as, where only these two are moved; else None.
    """

    name: str
    kind: Kind
    mechanism: str
    values: tuple[str, ...]
    has_missing: bool = False
    is_ordered: bool = False
    is_whole: bool = False
    bins: int | None = None
    group: str | None = None
    kept: Fraction | None = None
    places: int = 0
    ends: tuple[Fraction, Fraction] | None = None

    @property
    def is_scaled(self) -> bool:
        """Whether it has means: numbers and dates whose values are told apart."""
        return self.kind in ("number", "date") and self.bins is None

    @property
    def step(self) -> Fraction:
        """Distance of two neighbouring numbers."""
        return Fraction(self.values[2])


def howto_columns(channel_document: dict[str, Any]) -> tuple[HowtoColumn, ...]:
    """All noised columns in the order of ``channel.json``.

    Args:
        channel_document: the parsed ``channel.json``.
    """
    return tuple(column for unit in channel_document["units"] for column in _of_unit(unit))


def _of_unit(unit: dict[str, Any]) -> Iterator[HowtoColumn]:
    domain, mechanism = unit["domain"], unit["mechanism"]
    if domain["kind"] in ("box", "cells"):
        for column in unit["columns"]:
            yield HowtoColumn(column["name"], "place", mechanism, (), group=unit["name"])
        return
    if domain["kind"] == "product":
        margins = {each["column"]: each for each in unit["margins"]}
        for part in domain["parts"]:
            margin = margins[part["name"]]
            places, other = margin["places"], Fraction(int(margin["other"]), _WORD)
            kind, values, is_ordered, is_whole = _domain(part["domain"])
            yield HowtoColumn(
                part["name"],
                kind,
                mechanism,
                values,
                part["missing"],
                is_ordered,
                is_whole,
                part["bins"],
                unit["name"],
                1 - places * other,
                places,
            )
        return
    kind, values, is_ordered, is_whole = _domain(domain)
    kept, places = _kept(unit)
    yield HowtoColumn(
        unit["columns"][0]["name"],
        kind,
        mechanism,
        values,
        unit["missing"]["policy"] == "code",
        is_ordered,
        is_whole,
        unit["parameters"].get("bins"),
        None,
        kept,
        places,
        _ends(unit, kind),
    )


def _domain(domain: dict[str, Any]) -> tuple[Kind, tuple[str, ...], bool, bool]:
    if domain["kind"] == "category":
        return "label", tuple(domain["codes"]), domain["ordered"], domain["output"] == "integer"
    kind: Kind = "date" if domain["kind"] == "date" else "number"
    return kind, (domain["lower"], domain["upper"], str(domain["step"])), True, False


def _kept(unit: dict[str, Any]) -> tuple[Fraction | None, int]:
    """Of randomised response: the share kept, over coupled levels the product of what each rung down to it keeps."""
    parameters = unit["parameters"]
    others: Sequence[str] = parameters.get("others") or [parameters[key] for key in ("other",) if key in parameters]
    is_missing_apart = unit["missing"]["policy"] == "code" and "bins" in parameters
    if "randomized_response" not in unit["mechanism"] or not others or is_missing_apart:
        return None, 0
    places = parameters.get("bins") or unit["inputs"]
    if "revealed" in parameters:
        others = others[: len(others) - parameters["levels"].index(parameters["revealed"])]
    return prod((1 - places * Fraction(int(other), _WORD) for other in others), start=Fraction(1)), places


def _ends(unit: dict[str, Any], kind: Kind) -> tuple[Fraction, Fraction] | None:
    """What the two end values count as under clamped geometric noise, in the column's own unit."""
    decoder = unit["decoder"]
    if kind != "number" or unit["mechanism"] != "laplace" or unit["missing"]["policy"] == "code":
        return None
    if decoder["kind"] not in ("ends", "identity"):
        return None
    lower, step = Fraction(unit["domain"]["lower"]), Fraction(unit["domain"]["step"])
    codes = decoder.get("first", "0"), decoder.get("last", str(unit["domain"]["size"] - 1))
    return lower + step * Fraction(codes[0]), lower + step * Fraction(codes[1])
