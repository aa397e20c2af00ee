"""Raw sources to an archive in which every document says where it came from.

What a recipe is written with: readers, filters and settings, and what an own one inherits from.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from barrow.corpus.build import build
from barrow.corpus.reading import Reader, Reject
from barrow.corpus.recipe import Decontamination, Domain, Recipe

if TYPE_CHECKING:
    from barrow.corpus.dedup.settings import Deduplication, Passages
    from barrow.corpus.filters.boilerplate import DropBoilerplate
    from barrow.corpus.filters.c4 import C4
    from barrow.corpus.filters.c4_lines import C4Lines
    from barrow.corpus.filters.classifier import Quality
    from barrow.corpus.filters.deciding import Decisions, Described, Filter, Rewriter, Rewritten
    from barrow.corpus.filters.fineweb import FineWeb
    from barrow.corpus.filters.gopher_quality import GopherQuality
    from barrow.corpus.filters.gopher_repetition import GopherRepetition
    from barrow.corpus.filters.language import Language
    from barrow.corpus.filters.length import Length
    from barrow.corpus.filters.pii import RedactPii, RejectPii
    from barrow.corpus.filters.ratios import Ratios
    from barrow.corpus.filters.repair import Repair
    from barrow.corpus.filters.rules import LicenceRule, UrlRule
    from barrow.corpus.filters.texts import Texts
    from barrow.corpus.mix import Mixture, Splits
    from barrow.corpus.readers.courtlistener import CourtListener
    from barrow.corpus.readers.dm_mathematics import DmMathematics
    from barrow.corpus.readers.epub import Epub
    from barrow.corpus.readers.europarl import EuroParl
    from barrow.corpus.readers.github import GitHub
    from barrow.corpus.readers.gutenberg import Gutenberg
    from barrow.corpus.readers.hackernews import HackerNews
    from barrow.corpus.readers.html import Html
    from barrow.corpus.readers.jats import Jats
    from barrow.corpus.readers.latex import Latex
    from barrow.corpus.readers.mail import Mail
    from barrow.corpus.readers.markdown import Markdown
    from barrow.corpus.readers.medline import Medline
    from barrow.corpus.readers.nih_exporter import NihExporter
    from barrow.corpus.readers.pdf import Pdf
    from barrow.corpus.readers.plain_text import PlainText
    from barrow.corpus.readers.records import Records
    from barrow.corpus.readers.stackexchange import StackExchange
    from barrow.corpus.readers.subtitles import OpenSubtitles, YoutubeSubtitles
    from barrow.corpus.readers.ubuntu_irc import UbuntuIrc
    from barrow.corpus.readers.uspto import Uspto
    from barrow.corpus.readers.warc import Warc
    from barrow.corpus.readers.web_pages import WebPages
    from barrow.corpus.readers.wikipedia import Wikipedia

# Loaded on first use: a recipe needs a few of them, and some need much.
_HOMES = {
    "dedup.settings": ("Deduplication", "Passages"),
    "filters.boilerplate": ("DropBoilerplate",),
    "filters.c4": ("C4",),
    "filters.c4_lines": ("C4Lines",),
    "filters.classifier": ("Quality",),
    "filters.deciding": ("Decisions", "Described", "Filter", "Rewriter", "Rewritten"),
    "filters.fineweb": ("FineWeb",),
    "filters.gopher_quality": ("GopherQuality",),
    "filters.gopher_repetition": ("GopherRepetition",),
    "filters.language": ("Language",),
    "filters.length": ("Length",),
    "filters.pii": ("RedactPii", "RejectPii"),
    "filters.ratios": ("Ratios",),
    "filters.repair": ("Repair",),
    "filters.rules": ("LicenceRule", "UrlRule"),
    "filters.texts": ("Texts",),
    "mix": ("Mixture", "Splits"),
    "readers.courtlistener": ("CourtListener",),
    "readers.dm_mathematics": ("DmMathematics",),
    "readers.epub": ("Epub",),
    "readers.europarl": ("EuroParl",),
    "readers.github": ("GitHub",),
    "readers.gutenberg": ("Gutenberg",),
    "readers.hackernews": ("HackerNews",),
    "readers.html": ("Html",),
    "readers.jats": ("Jats",),
    "readers.latex": ("Latex",),
    "readers.mail": ("Mail",),
    "readers.markdown": ("Markdown",),
    "readers.medline": ("Medline",),
    "readers.nih_exporter": ("NihExporter",),
    "readers.pdf": ("Pdf",),
    "readers.plain_text": ("PlainText",),
    "readers.records": ("Records",),
    "readers.stackexchange": ("StackExchange",),
    "readers.subtitles": ("OpenSubtitles", "YoutubeSubtitles"),
    "readers.ubuntu_irc": ("UbuntuIrc",),
    "readers.uspto": ("Uspto",),
    "readers.warc": ("Warc",),
    "readers.web_pages": ("WebPages",),
    "readers.wikipedia": ("Wikipedia",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "C4",
    "C4Lines",
    "CourtListener",
    "Decisions",
    "Decontamination",
    "Deduplication",
    "Described",
    "DmMathematics",
    "Domain",
    "DropBoilerplate",
    "Epub",
    "EuroParl",
    "Filter",
    "FineWeb",
    "GitHub",
    "GopherQuality",
    "GopherRepetition",
    "Gutenberg",
    "HackerNews",
    "Html",
    "Jats",
    "Language",
    "Latex",
    "Length",
    "LicenceRule",
    "Mail",
    "Markdown",
    "Medline",
    "Mixture",
    "NihExporter",
    "OpenSubtitles",
    "Passages",
    "Pdf",
    "PlainText",
    "Quality",
    "Ratios",
    "Reader",
    "Recipe",
    "Records",
    "RedactPii",
    "Reject",
    "RejectPii",
    "Repair",
    "Rewriter",
    "Rewritten",
    "Splits",
    "StackExchange",
    "Texts",
    "UbuntuIrc",
    "UrlRule",
    "Uspto",
    "Warc",
    "WebPages",
    "Wikipedia",
    "YoutubeSubtitles",
    "build",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"barrow.corpus.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'barrow.corpus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
