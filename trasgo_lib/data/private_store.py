"""Where the rows of a source become stage files: one file a column a batch, with keyed digests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from trasgo_lib.data.batches import BatchRef, PrivateCodes, PublicValues
from trasgo_lib.data.store_codes import CodesDigest, ValuesDigest, write_batch, write_values
from trasgo_lib.errors import ConfigError, Reason


@dataclass(slots=True)
class _Stored:
    """One column under way."""

    name: str
    digest: CodesDigest | ValuesDigest
    batches: list[BatchRef] = field(default_factory=list)


class PrivateStore:
    """Writes rows in the release's order, batch by batch.

    Args:
        directory: folder of the stage files, made with mode 0700 when absent.
        digest_key: account digest key, 32 secret bytes.
        units: names of the noise units, whose codes are the first columns of every batch.
        public: names of the public columns, which follow.
    """

    def __init__(self, directory: Path, digest_key: bytes, units: Sequence[str], public: Sequence[str]) -> None:
        self._directory = directory
        self._key = digest_key
        self._codes = [_Stored(name, CodesDigest(digest_key)) for name in units]
        self._values = [_Stored(name, ValuesDigest(digest_key)) for name in public]
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Store the next rows as one batch.

        Raises:
            ConfigError: the texts of a public column are too long for so many rows together.
            StoreError: the disk is full.
        """
        for column, codes in zip(self._codes, batch.columns):
            part = codes.to_numpy().astype(np.int32, copy=False)
            column.digest.update(part)
            column.batches.append(write_batch(self._directory, column.name, self._rows, part, self._key))
        for column, values in zip(self._values, batch.columns[len(self._codes) :]):
            text = _as_published(values, column.name)
            column.digest.update(text)
            column.batches.append(write_values(self._directory, column.name, self._rows, text, self._key))
        self._rows += batch.num_rows

    def columns(self) -> tuple[tuple[PrivateCodes, ...], tuple[PublicValues, ...]]:
        """References to everything that was stored."""
        codes = tuple(PrivateCodes(one.name, tuple(one.batches), one.digest.hexdigest()) for one in self._codes)
        values = tuple(PublicValues(one.name, tuple(one.batches), one.digest.hexdigest()) for one in self._values)
        return codes, values


def _as_published(values: pa.Array, name: str) -> pa.Array:
    """Texts with offsets of 32 bits, as released files hold them."""
    if not pa.types.is_large_string(values.type):
        return values
    with suppress(pa.ArrowInvalid):
        return values.cast(pa.string())
    raise ConfigError.of(
        Reason.BAD_PARAMETER,
        "publish.rows_per_batch",
        required="batches in which the texts of a column take less than 2 GiB",
        came=f"{len(values)} rows a batch, in which those of {name!r} take more",
        fix="Write fewer rows per batch, or declare role: drop; nothing was charged.",
    )
