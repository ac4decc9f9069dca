"""The fixtures live in an importable module, because the tests also take constants from it."""

from fixed_people import channels, people

__all__ = ["channels", "people"]
