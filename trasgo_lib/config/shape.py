"""Building blocks of the release file's models: the frozen base, exact decimal text, slugs and names.

Only what can be said about one value without knowing the others is checked here; meaning is the plan's work.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Strict
from pydantic_core import PydanticCustomError

from trasgo_lib.amounts import Amount, Delta, Epsilon, Geo, Rho
from trasgo_lib.errors import AmountError, Reason

T = TypeVar("T")

_DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_LARGEST_EXPONENT = 30
"""Decimals beyond 1e30 or finer than 1e-30 are refused: no domain needs them, and exact arithmetic on them explodes."""

_DELTA_CEILING = Decimal("0.01")
"""Deltas from here on are refused whatever the number of rows; sensible ones are far below 1/rows."""

_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
UNDECIDED = "undecided"
"""What a draft writes where a person must decide: without quotes, as the value of a key. In quotes, or as an entry of a
list, it is a text like any other."""

_LONGEST_NAME = 64
"""Characters of a column name; names end up in file names, whose usual limit is 255 bytes."""

_LONGEST_PLACE = 1024
"""Characters of a path, URI or variable name; what is longer, or not printable, no system opens."""


class Model(BaseModel):
    """Base of every model: frozen, no unknown keys, no silent conversion between text, numbers and Booleans."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def shape_error(
    required: str, came: str, fix: str, *, reason: Reason = Reason.BAD_SHAPE, at: tuple[str | int, ...] = ()
) -> PydanticCustomError:
    """A validation error that carries the fields of a fault.

    Args:
        required: what would have been right.
        came: what was found.
        fix: what to do.
        reason: the fault's reason code.
        at: path from the validated value to the part that is wrong.
    """
    context = {"required": required, "came": came, "fix": fix, "reason": str(reason), "at": list(at)}
    return PydanticCustomError("trasgo", "{required}; came {came}", context)


def _decimal(text: str) -> str:
    if not _DECIMAL.fullmatch(text):
        raise shape_error("a finite decimal number as text", repr(text), 'Write it as in "0.25".')
    if abs(Decimal(text).adjusted()) > _LARGEST_EXPONENT:
        raise shape_error("a decimal between 1e-30 and 1e30 in size", repr(text), "Use another unit.")
    return text


def _above(floor: str, ceiling: str | None = None) -> Callable[[str], str]:
    """A check that a decimal is above ``floor`` and at most ``ceiling``."""
    required = f"more than {floor}" + (f" and at most {ceiling}" if ceiling else "")

    def check(text: str) -> str:
        value = Decimal(text)
        if value <= Decimal(floor) or (ceiling is not None and value > Decimal(ceiling)):
            raise shape_error(required, repr(text), "Correct the number.", reason=Reason.BAD_PARAMETER)
        return text

    return check


def _amount(kind: type[Amount], *, zero: bool) -> Callable[[str], str]:
    """A check that text is an exact privacy amount."""

    def check(text: str) -> str:
        # first the pattern: it bounds the exponent, without which exact arithmetic could fill the memory
        if not _DECIMAL.fullmatch(text):
            floor = "zero or more" if zero else "more than zero"
            required = f"exact decimal text, finite and {floor}"
            raise shape_error(required, repr(text), 'Write it as in "0.25".', reason=Reason.BAD_AMOUNT)
        try:
            kind.parse(text, zero=zero)
        except AmountError as error:
            fault = error.faults[0]
            raise shape_error(fault.required, fault.came, fault.fix, reason=fault.reason) from None
        return text

    return check


def _small(text: str) -> str:
    if Decimal(text) >= _DELTA_CEILING:
        required = f"less than {_DELTA_CEILING}: a delta of 1/k lets one record in k be published as it is"
        raise shape_error(required, repr(text), 'Use "0", or a delta far below 1/rows.', reason=Reason.BAD_AMOUNT)
    return text


def _matches(pattern: re.Pattern[str], required: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise shape_error(required, repr(text), "Rename it.")
        return text

    return check


def _plain_name(text: str) -> str:
    odd = any(not character.isprintable() or character in "/\\" for character in text)
    if not text or text != text.strip() or odd or len(text) > _LONGEST_NAME or text in (".", ".."):
        required = f"1 to {_LONGEST_NAME} printable characters without slashes and without blanks at the ends"
        raise shape_error(required, repr(text), "Rename the column and name the file's own column in `source`.")
    return text


def is_column_name(text: str) -> bool:
    """Whether a column of a release can have this name."""
    try:
        _plain_name(text)
    except PydanticCustomError:
        return False
    return True


def _nonempty(text: str) -> str:
    if not text.strip():
        raise shape_error("text", "empty text", "Write a text.")
    return text


def _place(text: str) -> str:
    if not _nonempty(text).isprintable() or len(text) > _LONGEST_PLACE:
        required = f"at most {_LONGEST_PLACE} printable characters"
        raise shape_error(required, repr(text[:_LONGEST_NAME]), "Correct the place.")
    return text


def at_least(count: int, what: str) -> AfterValidator:
    """A check that a list has so many entries; made after its entries were, so that their faults are not hidden."""

    def check(entries: tuple[T, ...]) -> tuple[T, ...]:
        if len(entries) < count:
            raise shape_error(f"at least {count} {what}", f"{len(entries)}", "Add what is missing.")
        return entries

    return AfterValidator(check)


def _no_boolean(value: object) -> object:
    """Python holds ``True == 1``, and so does a literal 1."""
    if isinstance(value, bool):
        raise shape_error("1, the only version of this format so far", "a Boolean", "Write `format: 1`.")
    return value


Many = Annotated[tuple[T, ...], Strict(False)]
"""A list in the file; kept as a tuple."""

Text = Annotated[str, AfterValidator(_nonempty)]
PlaceText = Annotated[str, AfterValidator(_place)]
DecimalText = Annotated[str, AfterValidator(_decimal)]
PositiveText = Annotated[str, AfterValidator(_decimal), AfterValidator(_above("0"))]
ShareText = Annotated[str, AfterValidator(_decimal), AfterValidator(_above("0", "1"))]
RatioText = Annotated[str, AfterValidator(_decimal), AfterValidator(_above("1", "1000"))]
EpsilonText = Annotated[str, AfterValidator(_amount(Epsilon, zero=False))]
DeltaText = Annotated[str, AfterValidator(_amount(Delta, zero=True)), AfterValidator(_small)]
RhoText = Annotated[str, AfterValidator(_amount(Rho, zero=False))]
GeoText = Annotated[str, AfterValidator(_amount(Geo, zero=False))]
Slug = Annotated[str, AfterValidator(_matches(_SLUG, "1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit"))]
VersionText = Annotated[
    str,
    AfterValidator(_matches(_VERSION, "1 to 63 of letters, digits, dot, _ and -, beginning with a letter or digit")),
]
FormatVersion = Annotated[Literal[1], BeforeValidator(_no_boolean)]
ColumnName = Annotated[str, AfterValidator(_plain_name)]
