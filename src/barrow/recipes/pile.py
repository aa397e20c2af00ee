"""The Pile: 22 domains with their published weights and epochs.

Weights are percent of the effective bytes, epochs how often each domain is seen in them, both from
the paper. Processing follows the paper where a reader's defaults say so: Stack Exchange keeps
answers that were accepted or scored 3 or more, GitHub files under 100 kB, EuroParl chapters of 200
characters, DM Mathematics documents of 8 KiB. People have their own rights to their own copies of
these texts; barrow ships none. `permissive` leaves out what may not be redistributed.
"""

from __future__ import annotations

from barrow.corpus.recipe import Domain, Recipe

_US_GOVERNMENT = "public domain (US government work)"
_PER_DOCUMENT = "stated per document"


def recipe() -> Recipe:
    """The 22 domains."""
    return Recipe(name="pile", domains=_domains())


def _domains() -> dict[str, Domain]:
    return {
        "pile_cc": _domain("Pile-CC", "warc", 18.11, 1.0, "unknown (web)"),
        "pubmed_central": _domain("PubMed Central", "jats", 14.40, 2.0, _PER_DOCUMENT),
        "books3": _domain("Books3", "epub", 12.07, 1.5, "all rights reserved"),
        "openwebtext2": _domain("OpenWebText2", "web_pages", 10.01, 2.0, "unknown (web)"),
        "arxiv": _domain("ArXiv", "latex", 8.96, 2.0, _PER_DOCUMENT),
        "github": _domain("Github", "github", 7.59, 1.0, "unknown", language=None),
        "freelaw": _domain("FreeLaw", "courtlistener", 6.12, 1.5, "public domain (US courts)"),
        "stackexchange": _domain("StackExchange", "stackexchange", 5.13, 2.0, "CC-BY-SA-4.0"),
        "uspto": _domain("USPTO Backgrounds", "uspto", 3.65, 2.0, _US_GOVERNMENT),
        "pubmed_abstracts": _domain("PubMed Abstracts", "medline", 3.07, 2.0, "unknown"),
        "gutenberg": _domain("Gutenberg (PG-19)", "gutenberg", 2.17, 2.5, "public domain (US)"),
        "opensubtitles": _domain(
            "OpenSubtitles", "opensubtitles", 1.55, 1.5, "all rights reserved", language=None
        ),
        "wikipedia_en": _domain("Wikipedia (en)", "wikipedia", 1.53, 3.0, "CC-BY-SA-4.0"),
        "dm_mathematics": _domain("DM Mathematics", "dm_mathematics", 1.24, 2.0, "Apache-2.0"),
        "ubuntu_irc": _domain("Ubuntu IRC", "ubuntu_irc", 0.88, 2.0, "public channel logs"),
        "bookcorpus2": _domain("BookCorpus2", "epub", 0.75, 1.5, "all rights reserved"),
        "europarl": _domain(
            "EuroParl", "europarl", 0.73, 2.0, "reuse with acknowledgement (EU)", language=None
        ),
        "hackernews": _domain("HackerNews", "hackernews", 0.62, 2.0, "unknown (forum)"),
        "youtube_subtitles": _domain(
            "YoutubeSubtitles",
            "youtube_subtitles",
            0.60,
            2.0,
            "all rights reserved",
            language=None,
        ),
        "philpapers": _domain("PhilPapers", "pdf", 0.38, 2.0, _PER_DOCUMENT, language=None),
        "nih_exporter": _domain("NIH ExPorter", "nih_exporter", 0.30, 2.0, _US_GOVERNMENT),
        "enron_emails": _domain("Enron Emails", "mail", 0.14, 2.0, "public record (FERC)"),
    }


def _domain(
    name: str,
    reader: str,
    weight: float,
    epochs: float,
    licence: str,
    *,
    language: str | None = "en",
) -> Domain:
    return Domain(
        name=name,
        reader=reader,
        licence=licence,
        weight=weight,
        epochs=epochs,
        language=language,
    )
