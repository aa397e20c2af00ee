"""Which filters a domain's documents go through, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

from barrow.corpus.filters.deciding import Filter, Rewriter
from barrow.corpus.filters.length import Length


@dataclass(frozen=True)
class Filters:
    """Filters that are set are run, in the order of the fields: rewriters, then those that decide.

    The first that objects to a text gives the reason.
    """

    length: Length | None = None

    @property
    def rewriters(self) -> list[Rewriter]:
        """What mends texts, before anything is decided."""
        return []

    @property
    def deciding(self) -> list[Filter]:
        """What decides, the cheapest first."""
        return [chosen for chosen in (self.length,) if chosen is not None]
