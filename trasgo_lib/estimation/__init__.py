"""Undoing channels: shares, means, variances, covariances and correlations of private values, with intervals."""

from trasgo_lib.estimation.decoding import Decoded, decode, expectation
from trasgo_lib.estimation.estimate import NORMAL_95, Estimate, TargetKind
from trasgo_lib.estimation.moments import Powers, mean, powers, variance
from trasgo_lib.estimation.pairs import correlation, covariance
from trasgo_lib.estimation.shares import ShareEstimates, joint_shares, project_simplex, shares
from trasgo_lib.estimation.subsets import conditional_means, joint_subset_shares, subset_shares
from trasgo_lib.estimation.together import SharedNoise

__all__ = [
    "NORMAL_95",
    "Decoded",
    "Estimate",
    "Powers",
    "ShareEstimates",
    "SharedNoise",
    "TargetKind",
    "conditional_means",
    "correlation",
    "covariance",
    "decode",
    "expectation",
    "joint_shares",
    "joint_subset_shares",
    "mean",
    "powers",
    "project_simplex",
    "shares",
    "subset_shares",
    "variance",
]
