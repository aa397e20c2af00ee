"""Which filters a domain's documents go through, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from barrow.corpus.filters.boilerplate import DropBoilerplate
from barrow.corpus.filters.c4 import C4
from barrow.corpus.filters.c4_lines import C4Lines
from barrow.corpus.filters.classifier import Quality
from barrow.corpus.filters.deciding import Filter, Rewriter
from barrow.corpus.filters.fineweb import FineWeb
from barrow.corpus.filters.gopher_quality import GopherQuality
from barrow.corpus.filters.gopher_repetition import GopherRepetition
from barrow.corpus.filters.language import Language
from barrow.corpus.filters.length import Length
from barrow.corpus.filters.pii import RedactPii, RejectPii
from barrow.corpus.filters.ratios import Ratios
from barrow.corpus.filters.repair import Repair
from barrow.corpus.filters.rules import LicenceRule, UrlRule


@dataclass(frozen=True)
class Filters:
    """What is set is run, in the order of the fields: first what mends texts, then what decides.

    The first that objects to a text gives the reason.
    """

    repair: Repair | None = None
    boilerplate: DropBoilerplate | None = None
    c4_lines: C4Lines | None = None
    redact_pii: RedactPii | None = None
    licence: LicenceRule | None = None
    url: UrlRule | None = None
    length: Length | None = None
    language: Language | None = None
    gopher_quality: GopherQuality | None = None
    gopher_repetition: GopherRepetition | None = None
    c4: C4 | None = None
    fineweb: FineWeb | None = None
    ratios: Ratios | None = None
    quality: Quality | None = None
    reject_pii: RejectPii | None = None

    @property
    def rewriters(self) -> list[Rewriter]:
        """What mends texts, before anything is decided."""
        chosen = (self.repair, self.boilerplate, self.c4_lines, self.redact_pii)
        return [rewriter for rewriter in chosen if rewriter is not None]

    @property
    def deciding(self) -> list[Filter]:
        """What decides, the cheapest first."""
        chosen: tuple[Filter | None, ...] = (
            self.licence,
            self.url,
            self.length,
            self.language,
            self.gopher_quality,
            self.gopher_repetition,
            self.c4,
            self.fineweb,
            self.ratios,
            self.quality,
            self.reject_pii,
        )
        return [decider for decider in chosen if decider is not None]

    def resolved(self) -> Filters:
        """The same, with the hashes of the files that filters read: those decide, too."""
        found = {
            field.name: value.resolved()
            for field in fields(self)
            if hasattr(value := getattr(self, field.name), "resolved")
        }
        return replace(self, **found)
