"""Text as a YAML scalar on one line, whatever is in it: anyone may have named the columns of a file."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_READ_OTHERWISE = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "undecided"})


def scalar(text: str) -> str:
    """A text as it stands in a release file: plain where no reader takes it for anything else, else in quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _READ_OTHERWISE:
        return text
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
