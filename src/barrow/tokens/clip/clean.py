"""CLIP's normalisation of a text: repair, unescape, one space, lower case."""

from __future__ import annotations

import html
import importlib
from functools import cache
from typing import Any

from barrow.errors import MissingExtra

# Contractions, runs of letters, single digits, runs of anything else but white space.
_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def cleaned(text: str) -> str:
    """The text as CLIP's tokenizer sees it.

    The encoding is repaired by `ftfy`, HTML entities are decoded twice (captions of the web are
    often escaped twice), runs of white space become one space, letters become lower case.
    """
    repaired: str = _library("ftfy").fix_text(text)
    return " ".join(html.unescape(html.unescape(repaired)).split()).lower()


def words(text: str) -> list[str]:
    """The pieces within which tokens are merged, of a normalised text."""
    found: list[str] = _pattern().findall(text)
    return found


@cache
def _pattern() -> Any:
    regex = _library("regex")
    return regex.compile(_WORDS, regex.IGNORECASE)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra(name, "clip", "CLIP's tokenizer") from None
