"""Analysis of a published release: shares, moments, quantiles and regressions of the private values, with intervals."""

from trasgo_lib.analysis.columns import MISSING, NoisedColumn
from trasgo_lib.analysis.opening import open_release
from trasgo_lib.analysis.release import Release
from trasgo_lib.analysis.results import EstimateTable
from trasgo_lib.analysis.usefulness import NoiseWarning
from trasgo_lib.estimation import Estimate

__all__ = ["MISSING", "Estimate", "EstimateTable", "NoiseWarning", "NoisedColumn", "Release", "open_release"]
