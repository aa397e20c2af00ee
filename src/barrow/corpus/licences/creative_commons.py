"""The licence of an article, from the address or the words it is stated in."""

from __future__ import annotations

import re

_ADDRESS = re.compile(
    r"creativecommons\.org/(?:licen[cs]es/(by(?:-n[cd]|-sa){0,2})/([1-4]\.[0-9])|"
    r"publicdomain/(zero|mark)/(1\.0))",
    re.IGNORECASE,
)
_UNVERSIONED = re.compile(
    r"creativecommons\.org/licen[cs]es/(by(?:-n[cd]|-sa){0,2})", re.IGNORECASE
)
_SHORT = re.compile(r"\bCC[- ](BY(?:[- ]N[CD]|[- ]SA){0,2})(?:[- ]([1-4]\.[0-9]))?\b")
_WORDS = re.compile(r"creative commons attribution([a-z /-]{0,60})")
_VERSION = re.compile(r"[a-z ,()-]{0,60}?([1-4]\.[0-9])")
_URL = re.compile(r"https?://[^\s\"'<>]{1,300}")


def article_licence(statement: str) -> str:
    """An SPDX identifier such as ``CC-BY-4.0``, ``CC-BY`` without a version, else the first
    address in the statement, else nothing.
    """
    if found := _ADDRESS.search(statement):
        if found[1]:
            return f"CC-{found[1].upper()}-{found[2]}"
        return "CC0-1.0" if found[3].lower() == "zero" else "CC-PDM-1.0"
    if found := _UNVERSIONED.search(statement):
        return f"CC-{found[1].upper()}"
    if found := _SHORT.search(statement):
        name = f"CC-{found[1].upper().replace(' ', '-')}"
        return f"{name}-{found[2]}" if found[2] else name
    words = " ".join(statement.lower().replace("‐", "-").replace("–", "-").split())
    if "cc0" in words or "creative commons public domain" in words:
        return "CC0-1.0"
    if found := _WORDS.search(words):
        return _from_words(words, found)
    if "public domain" in words:
        return "LicenseRef-public-domain"
    address = _URL.search(statement)
    return address[0].rstrip(".,;)") if address else ""


def _from_words(words: str, found: re.Match[str]) -> str:
    terms = found[1].replace("-", " ").replace("/", " ")
    name = "CC-BY"
    name += "-NC" if "non commercial" in terms or "noncommercial" in terms else ""
    name += "-ND" if "no deriv" in terms or "noderiv" in terms else ""
    name += "-SA" if "share alike" in terms or "sharealike" in terms else ""
    version = _VERSION.match(words, found.end())
    return f"{name}-{version[1]}" if version else name
