"""Reading and checking what mechanisms are built from: options of the release file and stored parameters."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms.channel import Json


def read_epsilon(mechanism: str, value: object) -> Epsilon:
    """An epsilon from decimal text, an int or an ``Epsilon``.

    Raises:
        AmountError: not exact, not finite or not above zero.
    """
    return value if isinstance(value, Epsilon) else Epsilon.parse(value, where=f"{mechanism} epsilon")


def read_delta(mechanism: str, value: object) -> Delta:
    """A delta from decimal text, an int or a ``Delta``; zero means pure.

    Raises:
        AmountError: not exact, not finite, negative, or one and more.
    """
    delta = value if isinstance(value, Delta) else Delta.parse(value, where=f"{mechanism} delta", zero=True)
    if delta.units >= Delta.parse("0.999999999999999").units:
        raise refused(f"{mechanism} delta", "less than 1", delta.text, "A delta of 1 protects nobody.")
    return delta


def read_fill(mechanism: str, fill: object, size: int) -> int:
    """The declared code that a missing number carries through the value channel; the middle code by default.

    Raises:
        ConfigError: not a whole number within the domain.
    """
    if fill is None:
        return (size - 1) // 2
    if isinstance(fill, bool) or not isinstance(fill, int) or not 0 <= fill < size:
        came = repr(fill) if isinstance(fill, (bool, int)) else type(fill).__name__
        raise refused(f"{mechanism} fill", f"a code from 0 to {size - 1}", came, "Choose a code near the middle.")
    return fill


def refused(where: str, required: str, came: str, fix: str) -> ConfigError:
    """A ``BAD_PARAMETER`` error with one fault."""
    return ConfigError.of(Reason.BAD_PARAMETER, where, required=required, came=came, fix=fix)


class StoredParameters:
    """The ``parameters`` of a channel file, read strictly: every key once, no key left over.

    Args:
        mechanism: registry name.
        values: parsed JSON.
    """

    def __init__(self, mechanism: str, values: Mapping[str, Json]) -> None:
        self._where = f"{mechanism} parameters"
        self._values = dict(values)

    def text(self, key: str) -> str:
        """A required text.

        Raises:
            ConfigError: absent or not text.
        """
        value = self._values.pop(key, None)
        if not isinstance(value, str):
            raise refused(f"{self._where}.{key}", "text", type(value).__name__, "The channel file is damaged.")
        return value

    def decimal(self, key: str) -> Decimal:
        """A required positive decimal, as text in the file.

        Raises:
            ConfigError: absent, not decimal text, not finite or not above zero.
        """
        text = self.text(key)
        try:
            value = Decimal(text)
        except ArithmeticError:
            value = Decimal("NaN")
        if not value.is_finite() or value <= 0:
            raise refused(f"{self._where}.{key}", "a positive decimal", repr(text), "The channel file is damaged.")
        return value

    def integer(self, key: str, *, below: int) -> int:
        """A required whole number from 0 to ``below - 1``, as an int or as decimal text.

        Raises:
            ConfigError: absent, not whole or out of range.
        """
        value = self._values.pop(key, None)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 40:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < below:
            raise refused(
                f"{self._where}.{key}",
                f"a whole number below {below}",
                repr(value)[:60],
                "The channel file is damaged.",
            )
        return value

    def _list(self, key: str, *, empty: bool = False) -> list[Json]:
        value = self._values.pop(key, None)
        if not isinstance(value, list) or not (value or empty):
            raise refused(f"{self._where}.{key}", "a list", type(value).__name__, "The channel file is damaged.")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A required list of texts.

        Raises:
            ConfigError: absent, empty or with other entries.
        """
        return tuple(self._entry(key, value).text("entry") for value in self._list(key))

    def decimals(self, key: str, *, empty: bool = False) -> tuple[Decimal, ...]:
        """A required list of positive decimals, as text in the file; it may be empty where that is said.

        Raises:
            ConfigError: absent, empty or with other entries.
        """
        return tuple(self._entry(key, value).decimal("entry") for value in self._list(key, empty=empty))

    def integers(self, key: str, *, below: int, empty: bool = False) -> tuple[int, ...]:
        """A required list of whole numbers from 0 to ``below - 1``, as ints or decimal text; see ``decimals``.

        Raises:
            ConfigError: absent, empty or with other entries.
        """
        return tuple(self._entry(key, value).integer("entry", below=below) for value in self._list(key, empty=empty))

    def _entry(self, key: str, value: Json) -> StoredParameters:
        return StoredParameters(f"{self._where}.{key}", {"entry": value})

    def has(self, key: str) -> bool:
        """Whether a key is there and not yet read."""
        return key in self._values

    def raw(self, key: str) -> Json:
        """A key's value as it stands, or None."""
        return self._values.pop(key, None)

    def require_size(self, size: int) -> None:
        """Read ``codes`` and compare it with the domain.

        Raises:
            ConfigError: the parameters belong to another domain.
        """
        codes = self.integer("codes", below=2**31)
        if codes != size:
            raise refused(f"{self._where}.codes", f"{size}, the size of the domain", str(codes), "Use its own domain.")

    def finish(self) -> None:
        """Refuse keys that nothing has read.

        Raises:
            ConfigError: naming them.
        """
        if self._values:
            raise refused(self._where, "no other keys", ", ".join(sorted(self._values)), "The channel file is damaged.")
