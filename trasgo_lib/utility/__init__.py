"""How much a release still says: losses of distributions and correlations, from mergeable integer statistics."""

from trasgo_lib.utility.coefficients import CORRELATIONS, correlation_ratio, cramers_v, kendall, pearson, spearman
from trasgo_lib.utility.column_divergence import DEFAULT_BINS, divergence
from trasgo_lib.utility.comparison import comparison_document
from trasgo_lib.utility.divergences import Divergence, divergence_of_counts, divergence_of_shares
from trasgo_lib.utility.frame_correlation import correlation_loss
from trasgo_lib.utility.histogram import Histogram, equal_bins
from trasgo_lib.utility.loss_columns import LossColumn, loss_columns
from trasgo_lib.utility.loss_rule import CorrelationLoss, LossShare
from trasgo_lib.utility.losses import LOSS_NAMES, ColumnLosses, Losses, LossValue
from trasgo_lib.utility.measure import Measurement, measure
from trasgo_lib.utility.moments import PairMoments, Scores
from trasgo_lib.utility.pair_table import PairTable
from trasgo_lib.utility.predicted_correlation import KnownColumn, Neighbour, predict_correlation_loss
from trasgo_lib.utility.predicted_divergence import predict_divergences
from trasgo_lib.utility.released import ColumnLossEstimates, LossEstimates, estimate_losses, worst
from trasgo_lib.utility.released_correlation import CorrelationBasis
from trasgo_lib.utility.released_divergence import DivergenceEstimates
from trasgo_lib.utility.released_groups import on_its_own
from trasgo_lib.utility.resampling import Resampling
from trasgo_lib.utility.summary import CodeBatches, Summary, summarise

__all__ = [
    "CORRELATIONS",
    "DEFAULT_BINS",
    "LOSS_NAMES",
    "CodeBatches",
    "ColumnLossEstimates",
    "ColumnLosses",
    "CorrelationBasis",
    "CorrelationLoss",
    "Divergence",
    "DivergenceEstimates",
    "Histogram",
    "KnownColumn",
    "LossColumn",
    "LossEstimates",
    "LossShare",
    "LossValue",
    "Losses",
    "Measurement",
    "Neighbour",
    "PairMoments",
    "PairTable",
    "Resampling",
    "Scores",
    "Summary",
    "comparison_document",
    "correlation_loss",
    "correlation_ratio",
    "cramers_v",
    "divergence",
    "divergence_of_counts",
    "divergence_of_shares",
    "equal_bins",
    "estimate_losses",
    "kendall",
    "loss_columns",
    "measure",
    "on_its_own",
    "pearson",
    "predict_correlation_loss",
    "predict_divergences",
    "spearman",
    "summarise",
    "worst",
]
