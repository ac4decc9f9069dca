"""Keyed words and exact integer sampling: what every draw is made of."""

from trasgo_lib.noise.alias import CHUNK_ROWS, AliasTable, DenseAlias, WideAliasTable
from trasgo_lib.noise.keystream import Keystream, LabelPart, derive
from trasgo_lib.noise.permutation import bucket_of, order_of_bucket, permutation
from trasgo_lib.noise.scales import (
    concentrated_selection_scale,
    gaussian_half_width,
    gaussian_scale,
    laplace_half_width,
    laplace_scale,
    selection_scale,
    selection_shortfall,
)

__all__ = [
    "CHUNK_ROWS",
    "AliasTable",
    "DenseAlias",
    "Keystream",
    "LabelPart",
    "WideAliasTable",
    "bucket_of",
    "concentrated_selection_scale",
    "derive",
    "gaussian_half_width",
    "gaussian_scale",
    "laplace_half_width",
    "laplace_scale",
    "order_of_bucket",
    "permutation",
    "selection_scale",
    "selection_shortfall",
]
