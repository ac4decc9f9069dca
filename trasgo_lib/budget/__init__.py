"""Loss events and what they cost, apart from each other.

``trasgo_lib.budget.composition`` reports what events add up to under every rule; it is imported by those who ask, since
it loads dp-accounting and with it scipy.
"""

from trasgo_lib.budget.accounting import Cost, cost
from trasgo_lib.budget.events import (
    ApproximateEvent,
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    GaussianEvent,
    GeoEvent,
    LaplaceEvent,
    LocalEvent,
    LossEvent,
    NoisyMaxEvent,
    PartitionEvent,
    PureEvent,
    RevealEvent,
    SampledGaussianEvent,
    SparseVectorEvent,
)
from trasgo_lib.budget.filters import BasicFilter, RenyiFilter, ZcdpFilter
from trasgo_lib.budget.renyi import epsilon_of_rho, rho_within, sampled_gaussian_within
from trasgo_lib.budget.stored import event_from_json, event_to_json

__all__ = [
    "ApproximateEvent",
    "BasicFilter",
    "Cost",
    "DiscreteLaplaceEvent",
    "ExponentialMechanismEvent",
    "GaussianEvent",
    "GeoEvent",
    "LaplaceEvent",
    "LocalEvent",
    "LossEvent",
    "NoisyMaxEvent",
    "PartitionEvent",
    "PureEvent",
    "RenyiFilter",
    "RevealEvent",
    "SampledGaussianEvent",
    "SparseVectorEvent",
    "ZcdpFilter",
    "cost",
    "epsilon_of_rho",
    "event_from_json",
    "event_to_json",
    "rho_within",
    "sampled_gaussian_within",
]
