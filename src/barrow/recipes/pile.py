"""The Pile: 22 domains with their published weights and epochs.

Weights are percent of the effective bytes, epochs how often each domain is seen in them, both from
the paper. Processing follows the paper where a reader's defaults say so: Stack Exchange keeps
answers that were accepted or scored 3 or more, GitHub files under 100 kB, EuroParl chapters of 200
characters, DM Mathematics documents of 8 KiB. Users need the rights to their own copies of these
texts; barrow ships none. `permissive` leaves out what may not be redistributed.

Some steps go beyond The Pile: duplicates are removed over all domains, and validation and test are
split off after that, by cluster. Web text passes the heuristics of Gopher, is repaired, and loses
boilerplate lines and personal data; other prose is repaired, and code is not changed. The Pile's
quality classifier needs a model of yours (`barrow corpus classifier train`), and decontamination
needs your evaluation sets.
"""

from __future__ import annotations

from barrow.corpus import (
    CourtListener,
    Deduplication,
    DmMathematics,
    Domain,
    DropBoilerplate,
    Epub,
    EuroParl,
    Filter,
    GitHub,
    GopherQuality,
    GopherRepetition,
    Gutenberg,
    HackerNews,
    Jats,
    Language,
    Latex,
    Mail,
    Medline,
    Mixture,
    NihExporter,
    OpenSubtitles,
    Pdf,
    Reader,
    Recipe,
    RedactPii,
    Repair,
    Rewriter,
    Splits,
    StackExchange,
    UbuntuIrc,
    Uspto,
    Warc,
    WebPages,
    Wikipedia,
    YoutubeSubtitles,
)
from barrow.corpus.licences.detect import RESERVED, UNKNOWN

_US_PUBLIC_DOMAIN = "LicenseRef-public-domain-US"
_US_GOVERNMENT = "LicenseRef-US-government-work"


_PROSE = (Repair(),)
_GOPHER = (GopherQuality(), GopherRepetition())
_WEB = (Repair(), DropBoilerplate(), RedactPii(), Language(()), *_GOPHER)
_ENGLISH_WEB = (Repair(), DropBoilerplate(), RedactPii(), Language(("en",)), *_GOPHER)


def recipe() -> Recipe:
    """The 22 domains."""
    return Recipe(
        name="pile",
        domains=_domains(),
        # One film has many subtitle files, and one book many editions: more may be removed there.
        deduplication=Deduplication(budgets={"OpenSubtitles": 0.8, "Gutenberg (PG-19)": 0.7}),
        splits=Splits(validation=0.005, test=0.005),
        mixture=Mixture(by="epochs"),
    )


def _domains() -> dict[str, Domain]:
    return {
        "pile_cc": _domain("Pile-CC", Warc(), 18.11, 1.0, UNKNOWN, filters=_ENGLISH_WEB),
        "pubmed_central": _domain("PubMed Central", Jats(), 14.40, 2.0, UNKNOWN),
        "books3": _domain("Books3", Epub(), 12.07, 1.5, RESERVED),
        "openwebtext2": _domain("OpenWebText2", WebPages(), 10.01, 2.0, UNKNOWN, filters=_WEB),
        "arxiv": _domain("ArXiv", Latex(), 8.96, 2.0, UNKNOWN),
        "github": _domain("Github", GitHub(), 7.59, 1.0, UNKNOWN, language=None, filters=()),
        "freelaw": _domain("FreeLaw", CourtListener(), 6.12, 1.5, _US_GOVERNMENT),
        "stackexchange": _domain("StackExchange", StackExchange(), 5.13, 2.0, "CC-BY-SA-4.0"),
        "uspto": _domain("USPTO Backgrounds", Uspto(), 3.65, 2.0, _US_GOVERNMENT),
        "pubmed_abstracts": _domain("PubMed Abstracts", Medline(), 3.07, 2.0, UNKNOWN),
        "gutenberg": _domain("Gutenberg (PG-19)", Gutenberg(), 2.17, 2.5, _US_PUBLIC_DOMAIN),
        "opensubtitles": _domain(
            "OpenSubtitles", OpenSubtitles(), 1.55, 1.5, RESERVED, language=None
        ),
        "wikipedia_en": _domain("Wikipedia (en)", Wikipedia(), 1.53, 3.0, "CC-BY-SA-4.0"),
        "dm_mathematics": _domain(
            "DM Mathematics", DmMathematics(), 1.24, 2.0, "Apache-2.0", filters=()
        ),
        "ubuntu_irc": _domain("Ubuntu IRC", UbuntuIrc(), 0.88, 2.0, "LicenseRef-public-channel"),
        "bookcorpus2": _domain("BookCorpus2", Epub(), 0.75, 1.5, RESERVED),
        "europarl": _domain(
            "EuroParl",
            EuroParl(),
            0.73,
            2.0,
            "LicenseRef-EU-reuse",
            language=None,
        ),
        "hackernews": _domain("HackerNews", HackerNews(), 0.62, 2.0, UNKNOWN),
        "youtube_subtitles": _domain(
            "YoutubeSubtitles",
            YoutubeSubtitles(),
            0.60,
            2.0,
            RESERVED,
            language=None,
        ),
        "philpapers": _domain("PhilPapers", Pdf(), 0.38, 2.0, UNKNOWN, language=None),
        "nih_exporter": _domain("NIH ExPorter", NihExporter(), 0.30, 2.0, _US_GOVERNMENT),
        "enron_emails": _domain("Enron Emails", Mail(), 0.14, 2.0, "LicenseRef-public-record-FERC"),
    }


def _domain(
    name: str,
    reader: Reader,
    weight: float,
    epochs: float,
    licence: str,
    *,
    language: str | None = "en",
    filters: tuple[Filter | Rewriter, ...] = _PROSE,
) -> Domain:
    return Domain(
        name=name,
        reader=reader,
        licence=licence,
        weight=weight,
        epochs=epochs,
        language=language,
        filters=filters,
    )
