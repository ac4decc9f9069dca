"""What an office says of a release in words: who publishes it, about whom, when and where.

Words change no draw and no digest of the plan. They go out in files of many forms (XML, JSON, CSV, Markdown), so what
one of these could not carry, or what would show otherwise than it reads, is refused here.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from trasgo_lib.config.shape import Model, Text, shape_error

_MOST_CHARACTERS = 4000
"""Characters of one text: a page. Longer ones belong into a document of their own."""

_OVERRIDES = "\u202d\u202e"
"""Marks that make letters stand in another order than they are written in; what right-to-left scripts need is none."""

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
_MAIL = re.compile(r"[^\s@<>\"]+@[^\s@<>\"]+")
_WEB = re.compile(r"https?://[^\s<>\"{}|\\^`]+")
_DAY = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")


def is_writable(character: str) -> bool:
    """Whether a character can stand in every published form: no control character, no half of a pair, no override."""
    number = ord(character)
    is_control = number < 0x20 or 0x7F <= number < 0xA0
    is_no_character = 0xD800 <= number < 0xE000 or number & 0xFFFE == 0xFFFE
    return not (is_control or is_no_character or character in _OVERRIDES)


def line(text: str) -> str:
    """The text, when it is one line of writable characters.

    Raises:
        PydanticCustomError: for a character that not every published form can carry, or a text that is too long.
    """
    return _writable(text, allowed="")


def _words(text: str) -> str:
    return _writable(text, allowed="\n")


def _writable(text: str, allowed: str) -> str:
    odd = next((character for character in text if character not in allowed and not is_writable(character)), None)
    if odd is not None:
        required = f"text in {'lines' if allowed else 'one line'} without control characters"
        raise shape_error(required, f"the character U+{ord(odd):04X}", "Remove it.")
    if len(text) > _MOST_CHARACTERS:
        raise shape_error(f"at most {_MOST_CHARACTERS} characters", f"{len(text)}", "Shorten it.")
    return text


def _matching(pattern: re.Pattern[str], required: str, fix: str) -> AfterValidator:
    def check(text: str) -> str:
        if text and not pattern.fullmatch(text):
            raise shape_error(required, repr(text[:80]), fix)
        return text

    return AfterValidator(check)


Line = Annotated[str, AfterValidator(line)]
"""One line, perhaps empty."""
Title = Annotated[Text, AfterValidator(line)]
"""One line, not empty."""
Words = Annotated[str, AfterValidator(_words)]
"""Lines of text, perhaps none."""
Note = Annotated[Text, AfterValidator(_words)]
"""Lines of text, at least one."""
Language = Annotated[str, _matching(_LANGUAGE, "a language tag", 'Write it as in "en" or "es-ES".')]
Mail = Annotated[Line, _matching(_MAIL, "an e-mail address", "Write it as in data@office.example.")]
Web = Annotated[Line, _matching(_WEB, "an http or https address", "Write it as in https://office.example/data.")]
Day = Annotated[str, _matching(_DAY, "a year, month or day", 'Write it as in "1988", "1988-03" or "1988-03-31".')]


class Publisher(Model):
    """Who answers for the release."""

    name: Title = Field(description="name of the office", examples=["Office for Examples"])
    url: Web = Field(default="", description="its home on the web", examples=["https://office.example"])


class Contact(Model):
    """Whom users write to."""

    name: Title = Field(description="a desk rather than a person", examples=["Data desk"])
    email: Mail = Field(default="", description="its e-mail address", examples=["data@office.example"])
    url: Web = Field(default="", description="its page on the web", examples=["https://office.example/contact"])

    @model_validator(mode="after")
    def _reachable(self) -> Contact:
        if not self.email and not self.url:
            raise shape_error("an e-mail address or a page", "neither", "Add one of them.", at=("email",))
        return self


class Period(Model):
    """The time that the data are about."""

    start: Day = Field(description="its first day, month or year", examples=["1988-03"])
    end: Day = Field(description="its last day, month or year", examples=["1988-03"])

    @model_validator(mode="after")
    def _forward(self) -> Period:
        for key, text in (("start", self.start), ("end", self.end)):
            if not text or not _is_day(text):
                raise shape_error("a day of the calendar", repr(text), "Correct the date.", at=(key,))
        # the shorter form stands for all of its days
        shortest = min(len(self.start), len(self.end))
        if self.start[:shortest] > self.end[:shortest]:
            raise shape_error("an end that is not before the start", repr(self.end), "Swap them.", at=("end",))
        return self


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text + "-01-01"[len(text) - 4 :] if len(text) < len("2000-01-01") else text)
    except ValueError:
        return False
    return True
