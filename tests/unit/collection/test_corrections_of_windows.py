"""Which version of a window another one takes the place of, by the chain of collection files."""

from __future__ import annotations

import pytest

from trasgo_lib.collection.corrections import WindowHistory, corrected_files, corrected_version
from trasgo_lib.errors import ConflictError

CHAIN = {"4": "3", "3": "2", "2": "1", "1": ""}


def history(published: str = "", standing: str | None = None, corrects: dict[str, str] | None = None) -> WindowHistory:
    """Versions by letter; what a file corrects with ``|`` between several."""
    links = CHAIN if corrects is None else corrects
    return WindowHistory(
        frozenset(published),
        frozenset(published if standing is None else standing),
        {version: frozenset(told.split("|")) for version, told in links.items()},
    )


@pytest.mark.parametrize(
    ("declared", "known", "found"),
    [
        ("2", history("12"), "2"),
        ("2", history("1"), "1"),
        ("3", history("1"), "1"),
        ("3", history("12", standing="2"), "2"),
        ("3", history("1", standing=""), "1"),
        ("2", history(""), None),
        ("2", history("9"), None),
        ("2", history("1", corrects={}, standing=""), None),
        ("2", history("", corrects={}), None),
        ("2", history("2", corrects={"2": "1|"}), "2"),
        ("2", history("", corrects={"2": "1|"}), None),
    ],
    ids=["the one before", "over one that is not there", "over two", "the newest", "one that was withdrawn",
         "a new window",
         "the chain ends beside another", "all superseded", "nothing known and nothing there", "no link is needed",
         "several links to nothing"],
)  # fmt: skip
def test_the_newest_published_version_along_the_chain(declared: str, known: WindowHistory, found: str | None) -> None:
    assert corrected_version(declared, known, "version heat/w.5") == found


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (history("1", corrects={}), "say of version 2: nothing"),
        (history("1", corrects={"2": "1|"}), "it corrects 1 or none"),
        (history("1", corrects={"2": "3", "3": "2"}), "say of version 3: it corrects 2"),
    ],
    ids=["no record", "records that differ", "a circle"],
)
def test_what_the_records_do_not_tell_is_not_guessed(known: WindowHistory, words: str) -> None:
    with pytest.raises(ConflictError) as caught:
        corrected_version("2", known, "version heat/w.5")
    told = str(caught.value)
    assert words in told and "version 1 stands" in told and "version heat/w.5" in told


def test_files_that_are_corrected_through_others() -> None:
    assert corrected_files("4", history().corrects) == {"3", "2", "1"}
    assert corrected_files("1", history().corrects) == set()
    assert corrected_files("2", history(corrects={"2": "3", "3": "2|1"}).corrects) == {"3", "2", "1"}
