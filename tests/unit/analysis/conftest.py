"""The fixtures live in an importable module, because the tests also take constants from it."""

from published_people import golden, people

__all__ = ["golden", "people"]
