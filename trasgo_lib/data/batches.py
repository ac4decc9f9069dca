"""References to stored codes: what travels between stages instead of frames.

A noise unit's codes live in Arrow files, one file a batch, one int32 column named ``code``. Only references travel.
Private and released codes have different types, and nothing but ``Channel.sample`` leads from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BatchRef:
    """One batch of one noise unit (or of one public column).

    Args:
        path: Arrow IPC file, mode 0600.
        first_row: global index of its first row, after the row order of the release is fixed.
        rows: number of rows, at least 1.
        digest: HMAC-SHA256 of the column's bytes under the account digest key, hex; private.
    """

    path: str
    first_row: int
    rows: int
    digest: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class PrivateCodes:
    """A noise unit's private codes, in row order.

    Args:
        unit: name of the noise unit.
        batches: consecutive batches from row 0.
        digest: HMAC-SHA256 of all codes under the account digest key, hex; does not depend on the batching; private.
    """

    unit: str
    batches: tuple[BatchRef, ...]
    digest: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReleasedCodes:
    """A noise unit's released codes, drawn at one level; same rows and batches as the private ones."""

    unit: str
    batches: tuple[BatchRef, ...]
    digest: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class PublicValues:
    """A column declared public, passed through unchanged in the release's row order (Arrow column ``value``)."""

    column: str
    batches: tuple[BatchRef, ...]
    digest: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class PrivateTable:
    """The encoded source.

    Args:
        rows: number of rows (public: it is not protected).
        input_digest: HMAC-SHA256 of the source file's bytes under the account digest key, hex; private.
        units: one entry a noise unit, in plan order.
        public: one entry a public column, in plan order.
    """

    rows: int
    input_digest: str = field(repr=False)
    units: tuple[PrivateCodes, ...]
    public: tuple[PublicValues, ...]

    def unit(self, name: str) -> PrivateCodes:
        """The codes of one noise unit."""
        return next(codes for codes in self.units if codes.unit == name)


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """What may be written to the public root: released codes and public columns, nothing else."""

    rows: int
    units: tuple[ReleasedCodes, ...]
    public: tuple[PublicValues, ...]

    def unit(self, name: str) -> ReleasedCodes:
        """The released codes of one noise unit."""
        return next(codes for codes in self.units if codes.unit == name)
