"""Margins of a group: what randomised response over a product does to each of its columns.

Over k combinations every one but the true one has weight q. A column with m places keeps each of its own places fixed
in ``k / m`` combinations, so a place other than the true one has weight ``q k / m``, whatever the other columns hold:
the margin is randomised response over m places, in the same integers.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from trasgo_lib.data import ProductDomain
from trasgo_lib.mechanisms.base import TableChannel
from trasgo_lib.mechanisms.binned import BinnedChannel
from trasgo_lib.mechanisms.certificate import log_ratio, published, rounded_up
from trasgo_lib.mechanisms.channel import Channel
from trasgo_lib.mechanisms.krr import RotationChannel, is_numeric
from trasgo_lib.mechanisms.parameters import refused

_WORD = 1 << 64


def margin(channel: Channel, domain: ProductDomain, part: str) -> TableChannel:
    """The channel of one column of a group, from its own codes to its own released codes.

    It is a decoder, not a draw of its own: the group's draw releases all columns at once and is charged once. Its
    certificate is that of the column alone, at most that of the group.

    Args:
        channel: ``kary_randomized_response`` over the group, single or a level of a chain.
        domain: the group's domain.
        part: name of the column.

    Raises:
        ConfigError: another mechanism or domain, or no such column.
    """
    if not isinstance(channel, RotationChannel) or channel.inputs != domain.size:
        raise refused("group", "kary_randomized_response over its own domain", channel.name, "Use the group's channel.")
    own, places = domain.part(part), domain.places(part)
    of_codes, representatives = domain.tables(part)
    other = channel.other * (domain.size // places)
    proven = published(log_ratio(_WORD - (places - 1) * other, other) + _loss(channel.difference))
    facts = replace(
        channel.facts,
        inputs=len(of_codes),
        outputs=len(of_codes),
        certified_epsilon=min(proven, channel.certified_epsilon),
        parameters={**channel.parameters, "margin": part},
    )
    values = own.domain.size if is_numeric(own.domain) else 0
    if own.bins is None:
        return RotationChannel(facts, other, values)
    return BinnedChannel(facts, of_codes, representatives, other, values)


def kept_share(channel: Channel) -> float:
    """The share of rows whose combination a group's channel keeps; the others are drawn afresh from all combinations.

    Raises:
        ConfigError: another mechanism.
    """
    if not isinstance(channel, RotationChannel):
        raise refused("group", "kary_randomized_response", channel.name, "Use the group's channel.")
    return (_WORD - channel.inputs * channel.other) / _WORD


def _loss(difference: Decimal) -> Decimal:
    """What a relative difference of every weight can add to a log-ratio."""
    share = Fraction(difference)
    return rounded_up(2 * share / (1 - share))
