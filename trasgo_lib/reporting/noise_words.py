"""How much noise a published channel adds, in the words and units of its column."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, DateDomain, Domain, NumberDomain, ProductDomain
from trasgo_lib.reporting.figures import figure_text

if TYPE_CHECKING:
    from trasgo_lib.mechanisms import Channel

_SMALL_BIAS = 2e-3
"""Share of the range up to which a decoder's bias goes without saying; a gaussian's is a thousandth."""


def domain_words(domain: Domain) -> str:
    """The declared domain in a few words; public.

    Raises:
        TypeError: for a domain this library does not know.
    """
    if isinstance(domain, NumberDomain):
        unit = f" {domain.unit}" if domain.unit else ""
        return f"{domain.lower} to {domain.upper}{unit} in steps of {domain.step}"
    if isinstance(domain, DateDomain):
        return (
            f"{domain.lower} to {domain.upper} in steps of {domain.step} {'day' if str(domain.step) == '1' else 'days'}"
        )
    if isinstance(domain, CategoryDomain):
        return f"{domain.size} codes"
    if isinstance(domain, (BoxDomain, CellsDomain)):
        return f"{domain.size} cells"
    if isinstance(domain, ProductDomain):
        return f"{domain.size} combinations"
    raise TypeError(f"no words for a {type(domain).__name__}")


def noise_words(domain: Domain, channel: Channel) -> str:
    """Standard deviation of the noise in the column's unit, or the chance that a label is kept.

    Args:
        domain: the declared domain.
        channel: the published channel.
    """
    moments = channel.moments
    middle = (domain.size - 1) // 2
    if moments is not None and isinstance(domain, (NumberDomain, DateDomain)):
        step = Fraction(domain.step) if isinstance(domain, NumberDomain) else Fraction(str(domain.step))
        unit = (f" {domain.unit}" if domain.unit else "") if isinstance(domain, NumberDomain) else " days"
        spread = sqrt(float(moments.variance[middle])) * float(step)
        moved = channel.score_bias * float(step)
        may_be_off = (
            f", and may be off by {figure_text(moved)}{unit} on average" if _is_biased(channel, domain.size) else ""
        )
        return f"a decoded value has a standard deviation of {spread:.4g}{unit}{may_be_off}"
    keep = channel.weights(middle)[middle] / channel.total
    what = "cell" if isinstance(domain, (BoxDomain, CellsDomain)) else "label"
    what = "combination" if isinstance(domain, ProductDomain) else what
    return f"{what} kept with probability {keep:.4f}"


def _is_biased(channel: Channel, size: int) -> bool:
    """Whether the decoder trades more than the usual thousandth of the range for less noise."""
    return channel.score_bias > _SMALL_BIAS * (size - 1)
