"""The stored form of loss events: a type and decimal texts; ledgers outlive versions, so no form ever changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from trasgo_lib.amounts import Delta, Epsilon, Geo, Rho
from trasgo_lib.budget.events import (
    ApproximateEvent,
    DeclaredPlanEvent,
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    FixedPartitionEvent,
    GaussianEvent,
    GeoEvent,
    LaplaceEvent,
    LossEvent,
    NoisyMaxEvent,
    PartitionEvent,
    PureEvent,
    RevealEvent,
    SampledGaussianEvent,
    SparseVectorEvent,
)
from trasgo_lib.errors import BudgetError, Reason


def _epsilon(text: object) -> Epsilon:
    return Epsilon.parse(text)


def _epsilon_or_zero(text: object) -> Epsilon:
    return Epsilon.parse(text, zero=True)


def _delta(text: object) -> Delta:
    return Delta.parse(text, zero=True)


def _geo(text: object) -> Geo:
    return Geo.parse(text)


def _rho(text: object) -> Rho:
    return Rho.parse(text)


def _count(text: object) -> int:
    if not isinstance(text, str) or not text.isascii() or not text.isdecimal():
        raise _unknown_event("a count that is no whole number")
    return int(text)


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise _unknown_event("a parameter that is no text")
    return text


def _parts(text: object) -> tuple[tuple[str, tuple[LossEvent, ...]], ...]:
    try:
        stored = json.loads(_text(text))
        return tuple((_text(name), tuple(event_from_json(event) for event in events)) for name, events in stored)
    except (ValueError, TypeError, RecursionError):
        raise _unknown_event("parts of another form") from None


def _draws(text: object) -> tuple[LossEvent, ...]:
    try:
        return tuple(event_from_json(event) for event in json.loads(_text(text)))
    except (ValueError, TypeError, RecursionError):
        raise _unknown_event("draws of another form") from None


_FORMS: Mapping[str, tuple[type[LossEvent], Mapping[str, Callable[[object], Any]]]] = {
    "pure": (PureEvent, {"epsilon": _epsilon_or_zero}),
    "approximate": (ApproximateEvent, {"epsilon": _epsilon_or_zero, "delta": _delta}),
    "geo": (GeoEvent, {"geo": _geo}),
    "reveal": (RevealEvent, {"level": _epsilon, "before": _epsilon_or_zero, "delta": _delta}),
    "laplace": (LaplaceEvent, {"epsilon": _epsilon}),
    "discrete_laplace": (DiscreteLaplaceEvent, {"epsilon": _epsilon, "sensitivity": _count}),
    "gaussian": (GaussianEvent, {"rho": _rho, "delta": _delta}),
    "exponential_mechanism": (ExponentialMechanismEvent, {"epsilon": _epsilon}),
    "noisy_max": (NoisyMaxEvent, {"epsilon": _epsilon}),
    "sparse_vector": (SparseVectorEvent, {"epsilon": _epsilon, "cutoff": _count}),
    "sampled_gaussian": (
        SampledGaussianEvent,
        {"rate": _text, "noise_multiplier": _text, "steps": _count, "delta": _delta},
    ),
    "partition": (PartitionEvent, {"name": _text, "parts": _parts}),
    "fixed_partition": (FixedPartitionEvent, {"name": _text, "parts_per_unit": _count, "parts": _parts}),
    "declared_plan": (DeclaredPlanEvent, {"epsilon": _epsilon, "delta": _delta, "events": _draws}),
}
"""Each stored type with its event and how its parameters are read, in the order of the event's fields."""

_NAMES: Mapping[type[LossEvent], str] = {kind: name for name, (kind, _) in _FORMS.items()}


def event_to_json(event: LossEvent) -> dict[str, str]:
    """A loss event as strict JSON: its type and its parameters as text.

    Raises:
        BudgetError: for an event type without a stored form.
    """
    name = _NAMES.get(type(event))
    if name is None:
        raise _unknown_event(type(event).__name__)
    written = {key: str(getattr(event, key)) for key in _FORMS[name][1]}
    if isinstance(event, PartitionEvent | FixedPartitionEvent):
        written["parts"] = _parts_text(event)
    if isinstance(event, DeclaredPlanEvent):
        written["events"] = _compact([event_to_json(one) for one in event.events])
    return {"type": name, **written}


def event_from_json(document: Mapping[str, str]) -> LossEvent:
    """Read what :func:`event_to_json` wrote.

    Raises:
        BudgetError: for an unknown type, or parameters that do not belong to it.
        AmountError: for an amount that is not exact.
    """
    rest = dict(document)
    kind, readers = _FORMS.get(str(rest.pop("type", "")), (None, {}))
    if kind is None or set(rest) != set(readers):
        raise _unknown_event(", ".join(f"{key}={value}" for key, value in sorted(document.items())) or "nothing")
    return kind(**{key: read(rest[key]) for key, read in readers.items()})


def _parts_text(event: PartitionEvent | FixedPartitionEvent) -> str:
    parts = [[name, [event_to_json(one) for one in events]] for name, events in event.parts]
    return _compact(parts)


def _compact(document: object) -> str:
    return json.dumps(document, ensure_ascii=True, separators=(",", ":"), sort_keys=True)


def _unknown_event(came: str) -> BudgetError:
    known = "; ".join(f"{name} ({', '.join(readers)})" for name, (_, readers) in _FORMS.items())
    return BudgetError.of(
        Reason.UNKNOWN_NAME,
        "loss event",
        required=f"one of {known}",
        came=came,
        fix="Use a version of trasgo that knows this event.",
    )
