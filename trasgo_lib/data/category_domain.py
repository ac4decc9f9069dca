"""Labels from a declared list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data.domain import MAX_CODES, Codes, Outside, checked_codes, refuse_rows
from trasgo_lib.data.fixed_texts import MOST_LABELS, FixedTexts, fixed_texts
from trasgo_lib.errors import ConfigError, InputContractError, Reason

if TYPE_CHECKING:
    import pyarrow as pa

_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class CategoryDomain:
    """A declared list of labels.

    Args:
        codes: the labels as text, in the order of their codes; public, never taken from the data.
        ordered: whether that order means something (ordinal utility, correlations).
        output: released type: ``text``, or ``integer`` where every label is a whole number without leading zeros.

    Raises:
        ConfigError: fewer than two labels, a label that is not text, is empty, is listed twice, or is not a whole
            number under ``output="integer"``.
    """

    codes: Sequence[str]
    ordered: bool = False
    output: Literal["text", "integer"] = "text"
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.codes, (str, bytes)):
            raise _bad("a list of labels", "one text", "Write the labels as a list.")
        labels = tuple(self.codes)
        for label in labels:
            if not isinstance(label, str):
                raise _bad(
                    "labels as text",
                    f"{label!r}, a {type(label).__name__}" if isinstance(label, (bool, int)) else type(label).__name__,
                    f'Quote it, as in "{str(label).lower()}".',
                )
            if not label:
                raise _bad("labels that are not empty", "an empty label", "Declare empty cells as missing codes.")
        if len(set(labels)) != len(labels):
            twice = next(label for place, label in enumerate(labels) if label in labels[:place])
            raise _bad("each label once", f"{twice!r} twice", "Remove one of them.")
        if not 2 <= len(labels) <= MAX_CODES:
            raise _bad(
                f"between 2 and {MAX_CODES} labels",
                f"{len(labels)}",
                "List every label that may occur; use role: drop or public for a constant column.",
            )
        if self.output not in ("text", "integer"):
            raise _bad("output text or integer", repr(self.output), "Choose one of the two.", "output")
        if self.output == "integer":
            _check_whole(labels)
        object.__setattr__(self, "codes", labels)
        object.__setattr__(self, "size", len(labels))

    @property
    def kind(self) -> str:
        """``category``."""
        return "category"

    def describe(self) -> dict[str, Any]:
        """Strict JSON: kind, labels in code order, whether ordered, released type, size."""
        return {
            "kind": self.kind,
            "codes": list(self.codes),
            "ordered": self.ordered,
            "output": self.output,
            "size": self.size,
        }

    def encode(self, values: Any, *, outside: Outside = "reject") -> Codes:
        """Place of each label in the declared list.

        Args:
            values: text or whole numbers, private: a pyarrow array (plain, chunked or dictionary), a pandas series, a
                numpy array or a sequence; no missing values.
            outside: only ``reject``: a label has no nearest neighbour. Kept so that all domains are called alike.

        Raises:
            InputContractError: unknown labels, missing values or another type; with counts only.
        """
        if outside != "reject":
            raise ConfigError.of(
                Reason.BAD_PARAMETER, "outside", required="reject", came=repr(outside), fix="Labels cannot be clipped."
            )
        import pyarrow as pa

        fixed = _fixed_width(values, self.codes)
        if fixed is not None:
            array, listed, places = fixed
            return places[self._looked_up(array, listed)]
        array = _as_arrow(values)
        if _is_dictionary(array):
            return self._places_in(array)
        texts = _as_text(array)
        _refuse_missing(texts.null_count)
        table = self._table
        found = None if table is None else table.find(texts)
        return self._looked_up(texts, pa.array(self.codes, type=texts.type)) if found is None else found

    @property
    def _table(self) -> FixedTexts | None:
        return fixed_texts(tuple(self.codes)) if self.size <= MOST_LABELS else None

    def _looked_up(self, texts: pa.Array, listed: pa.Array) -> Codes:
        import pyarrow.compute as pc

        found = pc.index_in(texts, value_set=listed)
        self._refuse_unknown(found.null_count)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int32)

    def _places_in(self, array: pa.DictionaryArray) -> Codes:
        """Codes of a dictionary array: each of its own labels is looked up once, each row is one look into a table."""
        import pyarrow as pa
        import pyarrow.compute as pc

        own = _as_text(array.dictionary)
        found = pc.index_in(own, value_set=pa.array(self.codes, type=own.type))
        # codes: int32[own labels], -1 where a label is not declared, -2 where it is a missing value
        codes = np.where(own.is_null(), -2, found.fill_null(-1)).astype(np.int32)
        rows: Codes = codes.take(array.indices.drop_null().to_numpy())
        least = int(codes.min(initial=0))
        _refuse_missing(array.indices.null_count + (int(np.count_nonzero(rows == -2)) if least < -1 else 0))
        self._refuse_unknown(int(np.count_nonzero(rows < 0)) if least < 0 else 0)
        return rows

    def _refuse_unknown(self, rows: int) -> None:
        refuse_rows(
            rows,
            Reason.OUT_OF_DOMAIN,
            required=f"one of the {self.size} declared labels",
            came="other labels",
            fix="Add the labels to domain.codes, or declare them as missing codes.",
        )

    def decode(self, codes: Codes) -> pa.StringArray | NDArray[np.int64]:
        """Labels of codes: a pyarrow string array, or int64[rows] under ``output="integer"``.

        Raises:
            InputContractError: a code outside ``0..size-1``.
        """
        import pyarrow as pa

        places = checked_codes(codes, self.size)
        if self.output == "integer":
            return np.array([int(label) for label in self.codes], dtype=np.int64)[places]
        table = self._table if places.ndim == 1 else None
        texts = None if table is None else table.texts(places)
        return pa.array(self.codes, type=pa.string()).take(pa.array(places)) if texts is None else texts


def _bad(required: str, came: str, fix: str, where: str = "codes") -> ConfigError:
    return ConfigError.of(Reason.BAD_DOMAIN, where, required=required, came=came, fix=fix)


def _check_whole(labels: tuple[str, ...]) -> None:
    for label in labels:
        try:
            whole = int(label)
        except ValueError:
            whole = None
        if whole is None or str(whole) != label or whole not in _INT64:
            raise _bad(
                "whole numbers of 64 bits without leading zeros under output: integer",
                repr(label),
                "Use output: text, which keeps every label as it is written.",
            )


def _refuse_missing(rows: int) -> None:
    refuse_rows(
        rows,
        Reason.NULL_VALUE,
        required="a label in every row",
        came="missing values",
        fix="Declare a missing policy for the column.",
    )


def _fixed_width(values: Any, labels: Sequence[str]) -> tuple[pa.Array, pa.Array, NDArray[np.int32]] | None:
    """Numpy texts of fixed width as the bytes they are, the labels that can be among them likewise, and their codes.

    Making texts of them first takes 20 times as long. Equal bytes are equal texts, since numpy pads with zeros; so a
    label that is wider than the array, or ends in a zero, cannot be among them. None for everything but such an array.
    """
    import pyarrow as pa

    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind != "U" or not values.dtype.isnative:
        return None
    width = values.dtype.itemsize // 4
    fitting = [code for code, label in enumerate(labels) if len(label) <= width and label[-1] != "\0"]
    if not values.size or not fitting:
        return None

    def as_bytes(texts: NDArray[np.str_]) -> pa.Array:
        held = pa.py_buffer(np.ascontiguousarray(texts))
        return pa.Array.from_buffers(pa.binary(4 * width), len(texts), [None, held])

    listed = np.array([labels[code] for code in fitting], dtype=values.dtype)
    return as_bytes(values), as_bytes(listed), np.array(fitting, dtype=np.int32)


def _is_dictionary(array: Any) -> bool:
    import pyarrow as pa

    return isinstance(array, pa.DictionaryArray)


def _as_arrow(values: Any) -> Any:
    """A pyarrow array without chunks; None where Arrow knows no type for the values."""
    import pyarrow as pa

    try:
        array = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
        return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError):
        # arrow quotes the offending value, so its message must not travel
        return None


def _as_text(array: Any) -> pa.Array:
    """Texts, or whole numbers as texts: ``string``, or ``large_string`` where they came so."""
    import pyarrow as pa

    if array is not None and pa.types.is_null(array.type):
        return array.cast(pa.string())
    if array is not None and (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return array
    if array is None or not (pa.types.is_string_view(array.type) or pa.types.is_integer(array.type)):
        raise InputContractError.of(
            Reason.WRONG_TYPE,
            "value",
            required="text or whole numbers",
            came="values of mixed or other types" if array is None else str(array.type),
            fix="Parse the column as declared before it is encoded.",
        )
    return array.cast(pa.string())
