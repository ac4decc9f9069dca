"""Undoing channels: shares, moments, quantiles and regressions of private values, with intervals."""

from trasgo_lib.estimation.decoding import Decoded, decode, expectation
from trasgo_lib.estimation.estimate import CONFIDENCE, NORMAL_95, Estimate, TargetKind, normal_point
from trasgo_lib.estimation.moments import Powers, mean, powers, variance
from trasgo_lib.estimation.pairs import correlation, covariance
from trasgo_lib.estimation.products import CodeRows, Factor, Products
from trasgo_lib.estimation.quantiles import Position, conditional_quantiles, quantile
from trasgo_lib.estimation.regression import LinearModel, least_squares
from trasgo_lib.estimation.shares import ShareEstimates, joint_shares, project_simplex, shares
from trasgo_lib.estimation.subsets import conditional_means, joint_subset_shares, subset_shares
from trasgo_lib.estimation.together import SharedNoise
from trasgo_lib.estimation.within import correlation_within, joint_shares_within, variance_within

__all__ = [
    "CONFIDENCE",
    "NORMAL_95",
    "CodeRows",
    "Decoded",
    "Estimate",
    "Factor",
    "LinearModel",
    "Position",
    "Powers",
    "Products",
    "ShareEstimates",
    "SharedNoise",
    "TargetKind",
    "conditional_means",
    "conditional_quantiles",
    "correlation",
    "correlation_within",
    "covariance",
    "decode",
    "expectation",
    "joint_shares",
    "joint_shares_within",
    "joint_subset_shares",
    "least_squares",
    "mean",
    "normal_point",
    "powers",
    "project_simplex",
    "quantile",
    "shares",
    "subset_shares",
    "variance",
    "variance_within",
]
