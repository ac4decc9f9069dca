"""Local mechanisms as finite integer channels, with certificates computed from the integers the sampler uses."""

from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel, checked_codes
from trasgo_lib.mechanisms.chain import Certificate, Chain, Purpose, Streams, build_chain, rebuild_chain
from trasgo_lib.mechanisms.channel import Channel, Json, Kernel, Moments
from trasgo_lib.mechanisms.draw import chi_square, draw_codes, probe_codes, reveal_codes
from trasgo_lib.mechanisms.margins import margin
from trasgo_lib.mechanisms.registry import MECHANISMS, Mechanism, build_channel, rebuild_channel
from trasgo_lib.mechanisms.selection import Candidate, Prospect, Question, choose_mechanism, compare

__all__ = [
    "MECHANISMS",
    "Candidate",
    "Certificate",
    "Chain",
    "Channel",
    "ChannelFacts",
    "Json",
    "Kernel",
    "Mechanism",
    "Moments",
    "Prospect",
    "Purpose",
    "Question",
    "Streams",
    "TableChannel",
    "build_chain",
    "build_channel",
    "checked_codes",
    "chi_square",
    "choose_mechanism",
    "compare",
    "draw_codes",
    "margin",
    "probe_codes",
    "rebuild_chain",
    "rebuild_channel",
    "reveal_codes",
]
