"""Reports as tables: what travels, what is kept, and what is refused before anything is counted.

Columns, in this order: ``alphabet_version`` and ``channel_version`` (text), ``window`` (text, the first day of the
window, year-month-day), and either ``slot`` (uint16, or uint32 in large alphabets) or ``bits`` (fixed-size binary, bit
``j`` in byte ``j // 8`` from the low end). On the way to the collector also ``pseudonym`` (text of 32 hexadecimal
characters, another one in every window); ``without_pseudonyms`` drops it, and nothing kept has it.

Tables of bits and of slots are apart, since their channels are. All rows of a stored table are of one tag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.collection.channels import Kind, slot_bytes

PSEUDONYM = "pseudonym"
PSEUDONYM_HEX = 32


class ReportShape(Protocol):
    """What the answer of a report looks like, whatever it went through."""

    @property
    def kind(self) -> Kind:
        """``slot`` or ``bits``."""

    @property
    def slots(self) -> int:
        """How many slots an answer is over."""

    @property
    def report_bytes(self) -> int:
        """Bytes of an answer."""


@dataclass(frozen=True, slots=True)
class SlotShape:
    """The answer names one of so many slots.

    Args:
        slots: how many.
    """

    slots: int
    kind: Kind = "slot"

    @property
    def report_bytes(self) -> int:
        """Bytes of an answer."""
        return slot_bytes(self.slots)


class Tag(NamedTuple):
    """What says how a report is to be read: versions of its alphabet and of its channel.

    Of a noised point the lattice stands for the alphabet.
    """

    alphabet: str
    channel: str


@dataclass(frozen=True, slots=True)
class Report:
    """One report of one device.

    Args:
        alphabet_version: version of its alphabet.
        channel_version: version of its channel.
        window: first day of its window, year-month-day.
        answer: the noised slot (of a point: the lattice cell), or packed bits.
        pseudonym: of the device in this window only; the collector drops it.
    """

    alphabet_version: str
    channel_version: str
    window: str
    answer: int | bytes
    pseudonym: str

    def to_json(self) -> dict[str, str | int]:
        """Strict JSON for the way to the collector: ``slot``, or ``bits`` as hexadecimal text."""
        answer: dict[str, str | int] = (
            {"bits": self.answer.hex()} if isinstance(self.answer, bytes) else {"slot": self.answer}
        )
        return {
            "alphabet_version": self.alphabet_version,
            "channel_version": self.channel_version,
            "window": self.window,
            "pseudonym": self.pseudonym,
            **answer,
        }


def report_schema(shape: ReportShape, *, in_transport: bool = False) -> pa.Schema:
    """The columns of a table of reports.

    Args:
        shape: of their answers.
        in_transport: whether they still have pseudonyms.
    """
    answer = (
        pa.field("bits", pa.binary(shape.report_bytes), nullable=False)
        if shape.kind == "bits"
        else pa.field("slot", pa.uint16() if shape.report_bytes == 2 else pa.uint32(), nullable=False)
    )
    texts = ["alphabet_version", "channel_version", "window", *([PSEUDONYM] if in_transport else [])]
    return pa.schema([*(pa.field(name, pa.string(), nullable=False) for name in texts), answer])


def report_table(
    shape: ReportShape,
    tag: Tag,
    window: str,
    answers: NDArray[np.unsignedinteger],
    pseudonyms: list[str] | None = None,
) -> pa.Table:
    """A table of reports of one tag and window.

    Args:
        shape: of their answers.
        tag: versions of alphabet and channel.
        window: first day of the window, year-month-day.
        answers: as the channel drew them: slots [rows], or packed uint8[rows, bytes].
        pseudonyms: one a row, or None for tables that are kept.
    """
    rows = len(answers)
    schema = report_schema(shape, in_transport=pseudonyms is not None)
    texts = [pa.repeat(pa.scalar(text), rows) for text in (*tag, window)]
    if pseudonyms is not None:
        texts.append(pa.array(pseudonyms, pa.string()))
    kind = schema.field(len(schema) - 1).type
    if shape.kind == "bits":
        flat = np.ascontiguousarray(answers, dtype=np.uint8)
        answer = pa.FixedSizeBinaryArray.from_buffers(kind, rows, [None, pa.py_buffer(flat)])
    else:
        answer = pa.array(answers, kind)
    return pa.Table.from_arrays([*texts, answer], schema=schema)


def without_pseudonyms(table: pa.Table) -> pa.Table:
    """The table as it is kept."""
    return table.drop_columns([PSEUDONYM]) if PSEUDONYM in table.column_names else table


def tag_counts(table: pa.Table) -> dict[Tag, int]:
    """How many reports there are of each tag."""
    grouped = table.select(["alphabet_version", "channel_version"]).group_by(["alphabet_version", "channel_version"])
    found = grouped.aggregate([([], "count_all")]).to_pylist()
    return {Tag(row["alphabet_version"], row["channel_version"]): int(row["count_all"]) for row in found}


def rows_of(table: pa.Table, tag: Tag, window: str | None = None) -> pa.Table:
    """The reports of one tag, and of one window where it is given."""
    keep = pc.and_(pc.equal(table["alphabet_version"], tag.alphabet), pc.equal(table["channel_version"], tag.channel))
    if window is not None:
        keep = pc.and_(keep, pc.equal(table["window"], window))
    return table.filter(keep)
