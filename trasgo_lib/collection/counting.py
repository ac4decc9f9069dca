"""Counting reports: how often each slot was named, as whole numbers that add up over files, workers and machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trasgo_lib.collection.bits import Packed, packed_bytes
from trasgo_lib.collection.channels import Kind
from trasgo_lib.collection.reports import ReportShape
from trasgo_lib.errors import InputContractError, Reason

_LANE_ROWS = 255
"""Rows whose bits add up in lanes of 8 bits without a carry into the next lane."""

_LAYERS = 63
"""Rows that are added bit by bit before any bit gets a lane: full adders leave 6 rows of them, of weights 1 to 32."""

_LAYER_BYTES = 1 << 16
"""Bytes of a layer: one operation on it stays in the caches; twice or half of it is slower (10,000 slots)."""

BAD_SLOT = "slot_out_of_range"
BAD_BITS = "wrong_bits"


@dataclass(frozen=True, slots=True)
class ReportCounts:
    """Counts of the reports of one tag and window; ``+`` merges them, in any order and grouping.

    Args:
        kind: ``slot`` or ``bits``.
        counts: int64[slots], how many reports name each slot.
        reports: how many reports were counted.
        refused: how many were not, by reason: ``slot_out_of_range``, ``wrong_bits``.
    """

    kind: Kind
    counts: NDArray[np.int64] = field(repr=False)
    reports: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def empty(cls, shape: ReportShape) -> Self:
        """Nothing counted yet."""
        return cls(shape.kind, np.zeros(shape.slots, dtype=np.int64))

    def __add__(self, other: ReportCounts) -> Self:
        """Both together.

        Raises:
            InputContractError: counts over other slots or of another kind.
        """
        if self.kind != other.kind or self.counts.shape != other.counts.shape:
            raise _mismatch(f"{len(self.counts)} slots, {self.kind}", f"{len(other.counts)} slots, {other.kind}")
        reasons = sorted({*self.refused, *other.refused})
        refused = {reason: self.refused.get(reason, 0) + other.refused.get(reason, 0) for reason in reasons}
        return type(self)(self.kind, self.counts + other.counts, self.reports + other.reports, refused)

    def to_json(self) -> dict[str, Any]:
        """Strict JSON, for tasks that pass counts on."""
        return {
            "kind": self.kind,
            "counts": self.counts.tolist(),
            "reports": self.reports,
            "refused": dict(self.refused),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """What ``to_json`` wrote."""
        counts = np.array(document["counts"], dtype=np.int64)
        return cls(document["kind"], counts, int(document["reports"]), dict(document["refused"]))


def count_answers(shape: ReportShape, answers: NDArray[np.unsignedinteger]) -> ReportCounts:
    """Count answers of one channel: slots [rows], or packed uint8[rows, bytes].

    A slot that the alphabet has not, and a set bit behind the last slot, come from no honest client: such reports are
    refused one by one and counted by reason.
    """
    if shape.kind == "slot":
        return _count_slots(answers, shape.slots)
    return _count_bits(np.asarray(answers, dtype=np.uint8), shape.slots)


def count_table(shape: ReportShape, table: pa.Table | pa.RecordBatch) -> ReportCounts:
    """Count a table of reports of one tag (see ``reports``); its versions and windows are the caller's to check.

    Raises:
        InputContractError: no column of answers, or answers of the wrong type or width.
    """
    total = ReportCounts.empty(shape)
    for answers in _answers(shape, table):
        total += count_answers(shape, answers)
    return total


def _answers(shape: ReportShape, table: pa.Table | pa.RecordBatch) -> Iterator[NDArray[np.unsignedinteger]]:
    """Answers of each chunk, without a copy."""
    name = "bits" if shape.kind == "bits" else "slot"
    if name not in table.schema.names:
        raise _mismatch(f"a column {name}", ", ".join(table.schema.names))
    column = table.column(name)
    kind = table.schema.field(name).type
    if shape.kind == "bits":
        if not pa.types.is_fixed_size_binary(kind) or kind.byte_width != shape.report_bytes:
            raise _mismatch(f"{shape.report_bytes} bytes a report", str(kind))
    elif kind not in (pa.uint16(), pa.uint32()):
        raise _mismatch("slots as uint16 or uint32", str(kind))
    if column.null_count:
        raise _mismatch("an answer in every report", "missing ones")
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        if shape.kind == "slot":
            yield chunk.to_numpy(zero_copy_only=True)
        else:
            width, first = shape.report_bytes, chunk.offset
            whole = np.frombuffer(chunk.buffers()[1], dtype=np.uint8) if len(chunk) else np.empty(0, np.uint8)
            yield whole[first * width : (first + len(chunk)) * width].reshape(-1, width)


def _count_slots(answers: NDArray[np.unsignedinteger], slots: int) -> ReportCounts:
    counts = np.bincount(answers, minlength=slots)
    bad = int(counts[slots:].sum())
    refused = {BAD_SLOT: bad} if bad else {}
    return ReportCounts("slot", counts[:slots].astype(np.int64, copy=False), len(answers) - bad, refused)


def _count_bits(packed: Packed, slots: int) -> ReportCounts:
    unused = 8 * packed_bytes(slots) - slots
    if unused and len(packed):
        is_bad = packed[:, -1] >> np.uint8(8 - unused) != 0
        bad = int(np.count_nonzero(is_bad))
        if bad:
            packed = packed[~is_bad]
    else:
        bad = 0
    return ReportCounts("bits", _set_bits(packed, slots), len(packed), {BAD_BITS: bad} if bad else {})


def _set_bits(packed: Packed, slots: int) -> NDArray[np.int64]:
    """How many rows have each bit set: packed uint8[rows, bytes] -> int64[slots]."""
    total = np.zeros(slots, dtype=np.int64)
    start, most = 0, max(1, _LAYER_BYTES // packed.shape[1])
    while each := min(most, (len(packed) - start) // _LAYERS):
        end = start + _LAYERS * each
        for weight, rows in _added(list(packed[start:end].reshape(_LAYERS, each, -1))):
            total += _in_lanes(rows, slots) << weight
        start = end
    return total + _in_lanes(packed[start:], slots)


def _added(layers: list[Packed]) -> Iterator[tuple[int, Packed]]:
    """The sum of layers, bit by bit, as at most two layers of each power of two: its exponent and the layer.

    Source: Mula, Kurz, Lemire, "Faster population counts using AVX2 instructions" (2018): carry-save adders.
    """
    exponent = 0
    while layers:
        carried = []
        while len(layers) > 2:
            first, second, third = layers.pop(), layers.pop(), layers.pop()
            odd = first ^ second
            carry = odd & third
            carry |= first & second
            odd ^= third
            layers.append(odd)
            carried.append(carry)
        for layer in layers:
            yield exponent, layer
        layers, exponent = carried, exponent + 1


def _in_lanes(packed: Packed, slots: int) -> NDArray[np.int64]:
    """The same, each bit in a lane of its own."""
    total = np.zeros(slots, dtype=np.int64)
    for start in range(0, len(packed), _LANE_ROWS):
        bits = np.unpackbits(packed[start : start + _LANE_ROWS], axis=1, count=slots, bitorder="little")
        total += np.add.reduce(bits, axis=0, dtype=np.uint8)
    return total


def _mismatch(required: str, came: str) -> InputContractError:
    return InputContractError.of(
        Reason.WRONG_TYPE, "reports", required=required, came=came, fix="Count reports with the channel of their tag."
    )
