"""Who is who: one person keeps one name however it is spelled, so that nobody approves an own run as somebody else."""

from __future__ import annotations

import unicodedata

_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE"})
"""Alphabets with letters that look the same; a name that mixes two of them looks like another name."""


def person(name: str) -> str:
    """What two spellings of a name have in common: no case, width, white space, control or invisible character.

    The database compares the same, without case and blanks alone.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(one for one in folded if unicodedata.category(one)[0] not in "CZ")


def is_one_alphabet(name: str) -> bool:
    """Whether a name keeps to one of the alphabets that look alike."""
    letters = (one for one in unicodedata.normalize("NFKC", name) if one.isalpha())
    return len(_ALIKE & {unicodedata.name(one, "?").split()[0] for one in letters}) <= 1
