"""Mobile collection: devices noise their own H3 cell; the office counts, estimates and publishes.

How the parts meet (all pure; no clock, no randomness but keys that are passed in):

``loaded, plan = read_collection(path)`` reads a collection file (``configs/demo/city-heatmap.yaml``). ``plan.versions``
are the accepted ways of reporting, each an ``alphabet`` with a ``channel`` over it and a ``tag`` (alphabet version,
channel version); ``plan.version_of(tag)`` is None for an unknown tag. ``plan.windows`` tells windows (named by their
first day, "2026-01-05"): ``of(day)``, ``is_window(text)``, ``is_open(window, today)``. ``plan.alphabets`` are coarse to
fine; ``alphabet.to_json()``, ``alphabet.names()``, ``alphabet.nobody``, ``alphabet.other``; ``channel.to_json()``.

On a device ``Client(plan, device_key, state).report(latitude, longitude, day)`` gives a ``Report`` (``to_json()`` for
the way to the collector: alphabet_version, channel_version, window, pseudonym, and ``slot`` or ``bits`` as hex text).
``Client.point`` gives the same of a noised point: its slot is a cell of the lattice ``plan.point.lattice``, whose
version stands for the alphabet's. ``plan.shapes`` are the answers that are taken, by tag; ``conclude_points`` undoes
the noise.

Tables: ``report_schema(channel, in_transport=...)``; a collector drops rows of one ``(pseudonym, window)`` but the
first, then ``without_pseudonyms``. ``rows_of(table, tag, window)``, ``tag_counts(table)``.

Per file: ``count_table(channel, table) -> ReportCounts``; ``a + b`` merges, ``to_json``/``from_json`` for tasks;
malformed rows are in ``refused`` by reason. Then ``check_health(channel, counts, alphabet)``, ``estimate(channel,
counts, tag=...) -> Frequencies`` for each version of a window, ``combine(parts)`` over the versions of one alphabet,
``reconcile(alphabets, levels, level)`` where there are several resolutions. ``shuffle_bound`` is the extra.

What plans, sizes and simulates: ``size``, ``reports_needed``, ``reports_to_notice``, ``make_world``, ``simulate``.
"""

from trasgo_lib.collection.alphabet import MAX_CELLS, Alphabet
from trasgo_lib.collection.building import REPORT_MECHANISMS, build_report_channel, choose, rebuild_report_channel
from trasgo_lib.collection.caps import DeviceCaps
from trasgo_lib.collection.channels import MemoisedChannel, ReportChannel, SlotChannel, UnaryChannel, repeated_epsilon
from trasgo_lib.collection.client import Client
from trasgo_lib.collection.compile import compile_collection, read_collection
from trasgo_lib.collection.counting import BAD_BITS, BAD_SLOT, ReportCounts, count_answers, count_table
from trasgo_lib.collection.device_budget import DeviceState, MemoBook
from trasgo_lib.collection.estimating import Frequencies, combine, estimate
from trasgo_lib.collection.health import HealthCheck, check_health, reports_to_notice
from trasgo_lib.collection.hierarchy import ConsistentLevel, reconcile
from trasgo_lib.collection.plan import CollectionPlan, Version
from trasgo_lib.collection.point_sizing import PointSizing, size_points
from trasgo_lib.collection.points import PointPlan
from trasgo_lib.collection.reports import (
    PSEUDONYM,
    PSEUDONYM_HEX,
    Report,
    Tag,
    report_schema,
    report_table,
    rows_of,
    tag_counts,
    without_pseudonyms,
)
from trasgo_lib.collection.shuffling import ShuffleBound, shuffle_bound
from trasgo_lib.collection.simulation import PointWindow, World, make_world, simulate, simulate_points, whereabouts
from trasgo_lib.collection.sizing import Sizing, reports_needed, size
from trasgo_lib.collection.windows import Windows

__all__ = [
    "BAD_BITS",
    "BAD_SLOT",
    "MAX_CELLS",
    "PSEUDONYM",
    "PSEUDONYM_HEX",
    "REPORT_MECHANISMS",
    "Alphabet",
    "Client",
    "CollectionPlan",
    "ConsistentLevel",
    "DeviceCaps",
    "DeviceState",
    "Frequencies",
    "HealthCheck",
    "MemoBook",
    "MemoisedChannel",
    "PointPlan",
    "PointSizing",
    "PointWindow",
    "Report",
    "ReportChannel",
    "ReportCounts",
    "ShuffleBound",
    "Sizing",
    "SlotChannel",
    "Tag",
    "UnaryChannel",
    "Version",
    "Windows",
    "World",
    "build_report_channel",
    "check_health",
    "choose",
    "combine",
    "compile_collection",
    "count_answers",
    "count_table",
    "estimate",
    "make_world",
    "read_collection",
    "rebuild_report_channel",
    "reconcile",
    "repeated_epsilon",
    "report_schema",
    "report_table",
    "reports_needed",
    "reports_to_notice",
    "rows_of",
    "shuffle_bound",
    "simulate",
    "simulate_points",
    "size",
    "size_points",
    "tag_counts",
    "whereabouts",
    "without_pseudonyms",
]
