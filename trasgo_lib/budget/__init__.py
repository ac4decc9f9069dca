"""Loss events and what they cost, apart from each other."""

from trasgo_lib.budget.accounting import Cost, cost, event_from_json, event_to_json
from trasgo_lib.budget.events import ApproximateEvent, GeoEvent, LossEvent, PureEvent, RevealEvent

__all__ = [
    "ApproximateEvent",
    "Cost",
    "GeoEvent",
    "LossEvent",
    "PureEvent",
    "RevealEvent",
    "cost",
    "event_from_json",
    "event_to_json",
]
