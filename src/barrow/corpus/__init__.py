"""Raw sources to an archive in which every document has its provenance.

Exports what a recipe needs: readers, filters, settings, and the base classes for your own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from barrow.corpus.build.build import build
from barrow.corpus.readers.reader import Reader, Reject
from barrow.corpus.recipe import Decontamination, Domain, Recipe

if TYPE_CHECKING:
    from barrow.corpus.dedup.settings import Deduplication, Lines, Passages
    from barrow.corpus.filters.boilerplate.boilerplate import DropBoilerplate
    from barrow.corpus.filters.by_language import ByLanguage
    from barrow.corpus.filters.c4 import C4
    from barrow.corpus.filters.c4_lines import C4Lines
    from barrow.corpus.filters.classifier import Quality
    from barrow.corpus.filters.filter import Decisions, Described, Filter, Rewriter, Rewritten
    from barrow.corpus.filters.fineweb import FineWeb
    from barrow.corpus.filters.gopher_quality import GopherQuality
    from barrow.corpus.filters.gopher_repetition import GopherRepetition
    from barrow.corpus.filters.language import Language
    from barrow.corpus.filters.length import Length
    from barrow.corpus.filters.pattern import Pattern
    from barrow.corpus.filters.pii.pii import RedactPii, RejectPii
    from barrow.corpus.filters.ratios import Ratios
    from barrow.corpus.filters.repair import Repair
    from barrow.corpus.filters.rules import LicenceRule, UrlRule
    from barrow.corpus.filters.sample import Sample
    from barrow.corpus.filters.texts import Texts
    from barrow.corpus.filters.where import Where
    from barrow.corpus.filters.words.bad_words import BadWords
    from barrow.corpus.filters.words.unigrams import Unigrams, count_unigrams
    from barrow.corpus.mixture import Mixture, Splits
    from barrow.corpus.readers.courtlistener.reader import CourtListener
    from barrow.corpus.readers.dm_mathematics import DmMathematics
    from barrow.corpus.readers.epub.reader import Epub
    from barrow.corpus.readers.europarl import EuroParl
    from barrow.corpus.readers.github.reader import GitHub
    from barrow.corpus.readers.gutenberg.reader import Gutenberg
    from barrow.corpus.readers.hackernews import HackerNews
    from barrow.corpus.readers.html import Html
    from barrow.corpus.readers.jats import Jats
    from barrow.corpus.readers.latex import Latex
    from barrow.corpus.readers.mail.reader import Mail
    from barrow.corpus.readers.markdown import Markdown
    from barrow.corpus.readers.medline import Medline
    from barrow.corpus.readers.nih_exporter import NihExporter
    from barrow.corpus.readers.pdf import Pdf
    from barrow.corpus.readers.plain_text import PlainText
    from barrow.corpus.readers.records import Records
    from barrow.corpus.readers.stackexchange import StackExchange
    from barrow.corpus.readers.subtitles.reader import OpenSubtitles, YoutubeSubtitles
    from barrow.corpus.readers.ubuntu_irc import UbuntuIrc
    from barrow.corpus.readers.uspto.reader import Uspto
    from barrow.corpus.readers.warc.reader import Warc
    from barrow.corpus.readers.web_pages.reader import WebPages
    from barrow.corpus.readers.wikipedia import Wikipedia

# Loaded on first use: a recipe needs few of them, and some are slow to import.
_HOMES = {
    "dedup.settings": ("Deduplication", "Lines", "Passages"),
    "filters.boilerplate.boilerplate": ("DropBoilerplate",),
    "filters.by_language": ("ByLanguage",),
    "filters.c4": ("C4",),
    "filters.c4_lines": ("C4Lines",),
    "filters.classifier": ("Quality",),
    "filters.filter": ("Decisions", "Described", "Filter", "Rewriter", "Rewritten"),
    "filters.fineweb": ("FineWeb",),
    "filters.gopher_quality": ("GopherQuality",),
    "filters.gopher_repetition": ("GopherRepetition",),
    "filters.language": ("Language",),
    "filters.length": ("Length",),
    "filters.pattern": ("Pattern",),
    "filters.pii.pii": ("RedactPii", "RejectPii"),
    "filters.ratios": ("Ratios",),
    "filters.repair": ("Repair",),
    "filters.rules": ("LicenceRule", "UrlRule"),
    "filters.sample": ("Sample",),
    "filters.texts": ("Texts",),
    "filters.where": ("Where",),
    "filters.words.bad_words": ("BadWords",),
    "filters.words.unigrams": ("Unigrams", "count_unigrams"),
    "mixture": ("Mixture", "Splits"),
    "readers.courtlistener.reader": ("CourtListener",),
    "readers.dm_mathematics": ("DmMathematics",),
    "readers.epub.reader": ("Epub",),
    "readers.europarl": ("EuroParl",),
    "readers.github.reader": ("GitHub",),
    "readers.gutenberg.reader": ("Gutenberg",),
    "readers.hackernews": ("HackerNews",),
    "readers.html": ("Html",),
    "readers.jats": ("Jats",),
    "readers.latex": ("Latex",),
    "readers.mail.reader": ("Mail",),
    "readers.markdown": ("Markdown",),
    "readers.medline": ("Medline",),
    "readers.nih_exporter": ("NihExporter",),
    "readers.pdf": ("Pdf",),
    "readers.plain_text": ("PlainText",),
    "readers.records": ("Records",),
    "readers.stackexchange": ("StackExchange",),
    "readers.subtitles.reader": ("OpenSubtitles", "YoutubeSubtitles"),
    "readers.ubuntu_irc": ("UbuntuIrc",),
    "readers.uspto.reader": ("Uspto",),
    "readers.warc.reader": ("Warc",),
    "readers.web_pages.reader": ("WebPages",),
    "readers.wikipedia": ("Wikipedia",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "C4",
    "BadWords",
    "ByLanguage",
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
    "Lines",
    "Mail",
    "Markdown",
    "Medline",
    "Mixture",
    "NihExporter",
    "OpenSubtitles",
    "Passages",
    "Pattern",
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
    "Sample",
    "Splits",
    "StackExchange",
    "Texts",
    "UbuntuIrc",
    "Unigrams",
    "UrlRule",
    "Uspto",
    "Warc",
    "WebPages",
    "Where",
    "Wikipedia",
    "YoutubeSubtitles",
    "build",
    "count_unigrams",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"barrow.corpus.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'barrow.corpus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
