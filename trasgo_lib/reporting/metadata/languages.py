"""Addresses of languages: those of the authority table that DCAT-AP asks for, else those of the Library of Congress."""

from __future__ import annotations

_AUTHORITY = "http://publications.europa.eu/resource/authority/language/"
_OTHERS = "http://id.loc.gov/vocabulary/iso639-"

_CODES = {
    "bg": "BUL",
    "cs": "CES",
    "da": "DAN",
    "de": "DEU",
    "el": "ELL",
    "en": "ENG",
    "es": "SPA",
    "et": "EST",
    "fi": "FIN",
    "fr": "FRA",
    "ga": "GLE",
    "hr": "HRV",
    "hu": "HUN",
    "it": "ITA",
    "lt": "LIT",
    "lv": "LAV",
    "mt": "MLT",
    "nl": "NLD",
    "pl": "POL",
    "pt": "POR",
    "ro": "RON",
    "sk": "SLK",
    "sl": "SLV",
    "sv": "SWE",
    "is": "ISL",
    "no": "NOR",
    "nb": "NOB",
    "nn": "NNO",
    "eu": "EUS",
    "ca": "CAT",
    "gl": "GLG",
    "sq": "SQI",
    "bs": "BOS",
    "mk": "MKD",
    "sr": "SRP",
    "tr": "TUR",
    "uk": "UKR",
    "ar": "ARA",
    "he": "HEB",
    "zh": "ZHO",
    "ja": "JPN",
    "ko": "KOR",
    "hi": "HIN",
    "ru": "RUS",
}
"""Code of the authority table by two-letter tag: the official languages of Europe, and those many releases are in."""


def language_address(tag: str) -> str:
    """The address of a language.

    Args:
        tag: language tag; what follows the first part is a matter of script and country.
    """
    short = tag.partition("-")[0]
    if short in _CODES:
        return _AUTHORITY + _CODES[short]
    return f"{_OTHERS}{1 if len(short) == 2 else 2}/{short}"
