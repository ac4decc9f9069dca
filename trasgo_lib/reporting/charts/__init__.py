"""Charts as SVG: the only place that draws. Importing this room does not load the plotting library."""

from trasgo_lib.reporting.charts.answers import AnswerMark, answer_columns, answer_rows
from trasgo_lib.reporting.charts.bars import Bar, stacked_bars
from trasgo_lib.reporting.charts.density import Density, density_maps
from trasgo_lib.reporting.charts.histograms import Overlay, step_histograms
from trasgo_lib.reporting.charts.intervals import Whisker, interval_chart
from trasgo_lib.reporting.charts.matrices import matrix_chart
from trasgo_lib.reporting.charts.signed import signed_bars

__all__ = [
    "AnswerMark",
    "Bar",
    "Density",
    "Overlay",
    "Whisker",
    "answer_columns",
    "answer_rows",
    "density_maps",
    "interval_chart",
    "matrix_chart",
    "signed_bars",
    "stacked_bars",
    "step_histograms",
]
