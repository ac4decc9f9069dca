"""One entry of ``columns`` in a draft, by what the column seems to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trasgo_lib.drafting.guesses import ColumnGuess, Kind
from trasgo_lib.drafting.scalars import scalar

_VALUE_KEYS = ("missing: undecided", "mechanism: undecided", "target: undecided")
_OUTSIDE = "outside: undecided"

_DECIDED: Mapping[Kind, tuple[str, tuple[str, ...]]] = {
    "number": (
        "Seems a number. Ends and step: the questionnaire's answer range, or the law (an age limit, a ceiling).",
        (
            "type: number",
            'domain: {lower: undecided, upper: undecided, step: undecided, unit: ""}',
            _OUTSIDE,
            *_VALUE_KEYS,
        ),
    ),
    "category": (
        "Seems a category. Codes: every one of the questionnaire's code list or of the classification (NACE, ISCO).",
        ("type: category", "domain: {codes: undecided, ordered: undecided}", *_VALUE_KEYS),
    ),
    "date": (
        "Seems a date. First and last day: the reference period of the survey. Format: the file's description.",
        (
            "type: date",
            "format: undecided",
            "domain: {lower: undecided, upper: undecided, step: undecided}",
            _OUTSIDE,
            *_VALUE_KEYS,
        ),
    ),
    "empty": (
        "No value near the start, so no guess. Type: the file's description. Or leave it out: role: drop.",
        ("type: undecided",),
    ),
}
"""By kind, where to look, and the keys to decide."""

_DROPPED: Mapping[Kind, str] = {
    "identifier": "Seems an identifier: dropped. If it says whose row it is: role: unit, and its name in privacy.unit.",
    "words": "Seems free text, which cannot be protected: dropped.",
    "other": "No type that a release can hold: dropped.",
}

_POINT: tuple[str, tuple[str, ...]] = (
    "Seem a latitude and its longitude. Box: the area's official boundary. Projection: the national mapping agency.",
    (
        "domain: {box: undecided, crs: undecided, step_m: undecided}",
        _OUTSIDE,
        "missing: undecided",
        "mechanism: undecided",
        "geo: {epsilon: undecided, radius_m: undecided}",
    ),
)


def entry_lines(
    column: ColumnGuess,
    name: str,
    *,
    again: bool = False,
    is_named: bool = True,
    pair: tuple[ColumnGuess, ColumnGuess, str] | None = None,
) -> Iterator[str]:
    """The lines of one column, the comment first.

    Args:
        column: the column.
        name: its name in the release.
        again: whether an earlier column of the file has the same name.
        is_named: whether the file names it.
        pair: latitude and longitude, for a point.
    """
    if pair is not None:
        words, keys = _POINT
        sources = f"columns: {{latitude: {scalar(pair[0].name)}, longitude: {scalar(pair[1].name)}}}"
        yield from _block(words, name, ("type: point", sources, *keys))
        return
    if again:
        yield f"  # Position {column.position}: {scalar(column.name)} again. Rename it in the file, as here."
    source = () if column.name in ("", name) or again or not is_named else (f"source: {scalar(column.name)}",)
    if column.kind in _DROPPED:
        yield from _block(_DROPPED[column.kind], name, ("role: drop", *source))
        return
    words, keys = _DECIDED[column.kind]
    yield from _block(words, name, (keys[0], *source, *keys[1:]))


def _block(words: str, name: str, keys: tuple[str, ...]) -> Iterator[str]:
    yield f"  # {words}"
    yield f"  - name: {scalar(name)}"
    for key in keys:
        yield f"    {key}"
    yield ""
