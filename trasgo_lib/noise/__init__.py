"""Keyed words and exact integer sampling: what every draw is made of."""

from trasgo_lib.noise.alias import CHUNK_ROWS, AliasTable, DenseAlias, WideAliasTable
from trasgo_lib.noise.keystream import Keystream, LabelPart, derive
from trasgo_lib.noise.permutation import bucket_of, order_of_bucket, permutation

__all__ = [
    "CHUNK_ROWS",
    "AliasTable",
    "DenseAlias",
    "Keystream",
    "LabelPart",
    "WideAliasTable",
    "bucket_of",
    "derive",
    "order_of_bucket",
    "permutation",
]
