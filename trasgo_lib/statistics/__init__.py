"""Central queries: sensitivities, noise and answers of a curator who holds the rows, from one statistics file.

What draws (``trasgo_lib.statistics.answering``) is imported by the task that draws: it loads OpenDP.
"""

from trasgo_lib.statistics.compile import compile_statistics, read_either, read_statistics
from trasgo_lib.statistics.explain import explain_statistics, query_document, render_statistics
from trasgo_lib.statistics.model import QueryPlan, StatisticsPlan

__all__ = [
    "QueryPlan",
    "StatisticsPlan",
    "compile_statistics",
    "explain_statistics",
    "query_document",
    "read_either",
    "read_statistics",
    "render_statistics",
]
