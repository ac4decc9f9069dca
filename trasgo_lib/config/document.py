"""YAML text to plain values, with the line and column of every key and value.

Scalars are resolved by the YAML 1.2 core schema and nothing else: ``yes`` and ``2017-01-01`` are text, ``true`` is a
Boolean, ``01`` is a number, whatever a ``%YAML`` directive says. Anchors, aliases and tags are refused: a release file
is read by reviewers, and what they read must be what is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from trasgo_lib.errors import ConfigError, Fault, Reason

KeyPath = tuple[str | int, ...]
"""Keys and 0-based list positions from the top of the file to a value."""

Plain = str | int | float | bool | None | tuple["Plain", ...] | dict[str, "Plain"]
"""What YAML text is read into; lists become tuples, so that nothing read can change."""

_NULL = re.compile(r"(|~|null|Null|NULL)")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

_STANDARD_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("null", "bool", "int", "float", "str", "seq", "map", "timestamp", "merge", "value")
)
_TEXT_TAG = "tag:yaml.org,2002:str"

_LONGEST_INTEGER = 18
"""Longer integers are read as floats: no key takes them, and Python refuses to convert the longest."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the release file, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """A release file as read.

    Args:
        value: the plain values.
        value_marks: where each value starts; block mappings and lists are marked at their key.
        key_marks: where each key starts.
        bare: unquoted scalars exactly as written, so that a message can show ``1.10`` and not ``1.1``.
        faults: duplicate keys, aliases, tags and keys that are not text; the file is refused when there are any.
    """

    value: Plain
    value_marks: Mapping[KeyPath, Mark]
    key_marks: Mapping[KeyPath, Mark]
    bare: Mapping[KeyPath, str]
    faults: tuple[Fault, ...] = ()

    def mark(self, path: KeyPath, *, key: bool = False) -> Mark:
        """The place of a value (or of its key); of the nearest enclosing value when it is not in the file."""
        if key and path in self.key_marks:
            return self.key_marks[path]
        while path and path not in self.value_marks:
            path = path[:-1]
        return self.value_marks.get(path, Mark(1, 1))

    def at(self, path: KeyPath) -> Plain:
        """The value at a path, or None when it is not in the file."""
        here = self.value
        for step in path:
            if isinstance(here, dict) and isinstance(step, str):
                here = here.get(step)
            elif isinstance(here, tuple) and isinstance(step, int) and step < len(here):
                here = here[step]
            else:
                return None
        return here

    def name_of(self, path: KeyPath) -> str:
        """A path as people read it: ``columns[wage].domain.step``; list entries without a name count from 1."""
        words = ""
        for depth, step in enumerate(path):
            if isinstance(step, str):
                words += f".{step}" if words else step
            else:
                entry = self.at(path[: depth + 1])
                name = entry.get("name") if isinstance(entry, dict) else None
                words += f"[{name}]" if isinstance(name, str) and name else f"[#{step + 1}]"
        return words or "release file"


def read_document(text: str) -> Document:
    """Read YAML 1.2 text.

    Raises:
        ConfigError: text that is not YAML, with line and column of the place. Other faults are in the document.
    """
    yaml = YAML(typ="safe", pure=True)
    try:
        root = yaml.compose(text)
    except MarkedYAMLError as error:
        raise ConfigError(_syntax_fault(error)) from None
    except (YAMLError, RecursionError, ValueError):
        raise ConfigError(_fault("release file", "YAML 1.2 text", "text that cannot be read", "Correct it.")) from None
    builder = _Builder()
    value = None if root is None else builder.build(root, ())
    return Document(value, builder.value_marks, builder.key_marks, builder.bare, tuple(builder.faults))


@dataclass(slots=True)
class _Builder:
    """Walks the node tree once; collects faults instead of stopping at the first."""

    value_marks: dict[KeyPath, Mark] = field(default_factory=dict)
    key_marks: dict[KeyPath, Mark] = field(default_factory=dict)
    bare: dict[KeyPath, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def build(self, node: Node, path: KeyPath) -> Plain:
        """The plain value of a node."""
        mark = Mark(node.start_mark.line + 1, node.start_mark.column + 1)
        block = isinstance(node, (MappingNode, SequenceNode)) and not node.flow_style
        self.value_marks[path] = self.key_marks.get(path, mark) if block else mark
        again = id(node) in self.seen
        self.seen.add(id(node))
        if again or node.anchor is not None:
            self._refuse(path, "values written out", "an anchor or an alias", "Write the value out.", mark)
        if node.tag not in _STANDARD_TAGS:
            self._refuse(path, "no tags", "a tag", "Remove the tag.", mark)
        if again and not isinstance(node, ScalarNode):
            # an alias may point to what contains it
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if not isinstance(node, ScalarNode):
            return tuple(self.build(entry, (*path, position)) for position, entry in enumerate(node.value))
        if node.style is None:
            self.bare[path] = node.value
        return _resolve(node)

    def _refuse(
        self, path: KeyPath, required: str, came: str, fix: str, mark: Mark, reason: Reason = Reason.BAD_YAML
    ) -> None:
        self.faults.append(_fault(_dotted(path), required, came, fix, mark, reason))

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Plain]:
        entries: dict[str, Plain] = {}
        for key_node, value_node in node.value:
            mark = Mark(key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            key = _resolve(key_node) if isinstance(key_node, ScalarNode) else None
            if not isinstance(key, str):
                came = f"{key_node.value}" if isinstance(key_node, ScalarNode) else "a mapping or a list"
                self._refuse(path, "keys that are text", came, "Rename the key.", mark)
                continue
            here = (*path, key)
            if key in entries:
                first = self.key_marks[here].line
                came = f"`{key}` again; first on line {first}"
                self._refuse(here, "each key once", came, "Remove one.", mark, Reason.DUPLICATE_KEY)
                continue
            self.key_marks[here] = mark
            entries[key] = self.build(value_node, here)
        return entries


def _resolve(node: ScalarNode) -> str | int | float | bool | None:
    """A scalar by the YAML 1.2 core schema."""
    text: str = node.value
    if node.style is not None or node.tag == _TEXT_TAG:
        return text
    if _NULL.fullmatch(text):
        return None
    if _BOOLEAN.fullmatch(text):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text) and len(text) <= _LONGEST_INTEGER:
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def _dotted(path: KeyPath) -> str:
    parts = (f"[#{step + 1}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).lstrip(".") or "release file"


_SYNTAX = (
    ("'\\t'", "a tab", "Use blanks: YAML takes no tabs here."),
    ("another document", "a second document", "Keep one document in a file, without `---` between two."),
    ("expected ',' or", "a list or mapping that is not closed before this place", "Add the comma or the closing mark."),
)
"""What the parser says of frequent slips, and what a person needs to hear instead."""


def _syntax_fault(error: MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    place = None if mark is None else Mark(mark.line + 1, mark.column + 1)
    came = (error.problem or "text that cannot be read").replace("\n", " ").strip()
    said = ((words, fix) for part, words, fix in _SYNTAX if part in came)
    came, fix = next(said, (came, "Correct the text at this place."))
    return _fault("release file", "YAML 1.2 text", came, fix, place)


def _fault(
    where: str, required: str, came: str, fix: str, mark: Mark | None = None, reason: Reason = Reason.BAD_YAML
) -> Fault:
    line, column = (None, None) if mark is None else (mark.line, mark.column)
    return Fault(reason, where, required, came, fix, line=line, column=column)
