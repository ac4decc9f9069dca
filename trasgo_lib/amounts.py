"""Exact privacy amounts: integers of a fixed unit, decimal text outside.

Nothing here is a float. An amount is parsed from text (or an int), held as a whole number of its unit, compared and
added exactly, and written back as plain decimal text. A float is refused, because ``0.1 + 0.2`` is not ``0.3``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar, Self

from trasgo_lib.errors import AmountError, Reason

_LARGEST_UNITS = 2**62
"""Amounts live in signed 64-bit database columns; one bit of head-room keeps every sum of two inside."""


_PLAUSIBLE_EXPONENT = 60
"""No amount has this many digits on either side of the point."""


@dataclass(frozen=True, slots=True, order=True)
class Amount:
    """A non-negative whole number of units of ``10**-PLACES``."""

    units: int
    PLACES: ClassVar[int] = 0
    NAME: ClassVar[str] = "amount"

    def __post_init__(self) -> None:
        if not 0 <= self.units <= _LARGEST_UNITS:
            raise AmountError.of(
                Reason.BAD_AMOUNT,
                self.NAME,
                required=f"between 0 and {_LARGEST_UNITS} units of 1e-{self.PLACES}",
                came="an amount outside that range",
                fix="Lower the amount.",
            )

    @classmethod
    def parse(cls, text: object, *, where: str | None = None, zero: bool = False) -> Self:
        """Read decimal text exactly.

        Args:
            text: a decimal such as ``"0.25"``, or an int; public. Floats, Booleans, exponents of NaN or infinity,
                negative numbers and more decimals than the unit holds are refused.
            where: how the error names the amount.
            zero: whether zero is allowed.

        Raises:
            AmountError: with the amount that came and what to write instead.
        """
        name = where or cls.NAME
        if isinstance(text, bool) or not isinstance(text, (str, int)):
            kind = type(text).__name__
            raise AmountError.of(
                Reason.BAD_AMOUNT,
                name,
                required="exact decimal text",
                came=f"{text!r}, a {kind}" if isinstance(text, (bool, float)) else f"a {kind}",
                fix='Quote it, as in "0.25".',
            )
        try:
            value = Decimal(text.strip() if isinstance(text, str) else text)
        except ArithmeticError:
            raise AmountError.of(
                Reason.BAD_AMOUNT, name, required="exact decimal text", came=repr(text), fix='Write it as in "0.25".'
            ) from None
        if not value.is_finite() or value < 0 or (value == 0 and not zero):
            floor = "zero or more" if zero else "more than zero"
            raise AmountError.of(
                Reason.BAD_AMOUNT, name, required=f"finite and {floor}", came=repr(str(text)), fix="Correct the amount."
            )
        # An exponent this far out is expanded digit by digit, for minutes; neither side of it can be an amount.
        plausible = abs(value.adjusted()) < _PLAUSIBLE_EXPONENT and len(value.as_tuple().digits) < _PLAUSIBLE_EXPONENT
        scaled = Fraction(value) * 10**cls.PLACES if plausible else Fraction(1, 2)
        if scaled.denominator != 1 or scaled > _LARGEST_UNITS:
            largest = Decimal(_LARGEST_UNITS).scaleb(-cls.PLACES)
            is_large = value > largest
            required = f"at most {largest:f}" if is_large else f"at most {cls.PLACES} decimals"
            fix = "Lower the amount." if is_large else "Round the amount."
            raise AmountError.of(Reason.BAD_AMOUNT, name, required=required, came=repr(str(text)), fix=fix)
        return cls(int(scaled))

    @classmethod
    def ceil(cls, value: Fraction | Decimal) -> Self:
        """The least amount that is at least ``value``; the direction for losses."""
        scaled = Fraction(value) * 10**cls.PLACES
        return cls(-(-scaled.numerator // scaled.denominator))

    @classmethod
    def floor(cls, value: Fraction | Decimal) -> Self:
        """The largest amount that is at most ``value``; the direction for what is left."""
        scaled = Fraction(value) * 10**cls.PLACES
        return cls(scaled.numerator // scaled.denominator)

    @property
    def fraction(self) -> Fraction:
        """The exact value."""
        return Fraction(self.units, 10**self.PLACES)

    @property
    def decimal(self) -> Decimal:
        """The exact value as a Decimal."""
        with localcontext() as context:
            context.prec = 40
            return Decimal(self.units).scaleb(-self.PLACES)

    @property
    def text(self) -> str:
        """Plain decimal text without trailing zeros, as written in every file."""
        whole, part = divmod(self.units, 10**self.PLACES)
        digits = f"{part:0{self.PLACES}d}".rstrip("0") if self.PLACES else ""
        return f"{whole}.{digits}" if digits else str(whole)

    def __add__(self, other: Self) -> Self:
        self._same_kind(other)
        return type(self)(self.units + other.units)

    def __sub__(self, other: Self) -> Self:
        self._same_kind(other)
        return type(self)(self.units - other.units)

    def times(self, factor: int) -> Self:
        """The amount ``factor`` times over."""
        return type(self)(self.units * factor)

    def _same_kind(self, other: Amount) -> None:
        if type(other) is not type(self):
            raise TypeError(f"{self.NAME} and {other.NAME} do not add")

    def __str__(self) -> str:
        return self.text


class Epsilon(Amount):
    """A privacy loss in nats, held in units of 1e-6."""

    __slots__ = ()
    PLACES = 6
    NAME = "epsilon"


class Delta(Amount):
    """A failure probability, held in units of 1e-15; a delta of one or more protects nobody and is refused."""

    __slots__ = ()
    PLACES = 15
    NAME = "delta"


class Rho(Amount):
    """A zero-concentrated loss, held in units of 1e-9."""

    __slots__ = ()
    PLACES = 9
    NAME = "rho"


class Geo(Amount):
    """A geo-indistinguishability loss per kilometre, held in units of 1e-6 per km (1e-9 per metre)."""

    __slots__ = ()
    PLACES = 6
    NAME = "geo epsilon per km"
