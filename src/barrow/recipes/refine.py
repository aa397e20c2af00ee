"""Documents that exist already, refined: any jsonl.zst, archive or parquet in, a corpus out.

The domain of a document is what its record says (``meta.pile_set_name``). Text of domains that The
Pile does not have is taken for web text.
"""

from __future__ import annotations

from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.filters.c4 import C4
from barrow.corpus.filters.choice import Filters
from barrow.corpus.filters.fineweb import FineWeb
from barrow.corpus.filters.gopher_quality import GopherQuality
from barrow.corpus.filters.gopher_repetition import GopherRepetition
from barrow.corpus.filters.length import Length
from barrow.corpus.filters.repair import Repair
from barrow.corpus.mix import Splits
from barrow.corpus.recipe import Domain, Recipe
from barrow.recipes import pile


def web_filters() -> Filters:
    """What FineWeb and its like do to web text, but for language and personal data."""
    return Filters(
        repair=Repair(),
        length=Length(min_bytes=100),
        gopher_quality=GopherQuality(),
        gopher_repetition=GopherRepetition(),
        c4=C4(),
        fineweb=FineWeb(),
    )


def _others() -> dict[str, Filters]:
    """Domains of The Pile that are not web text: what holds for pages is wrong for them."""
    return {
        domain.name: domain.filters
        for folder, domain in pile.recipe().domains.items()
        if folder not in ("pile_cc", "openwebtext2")
    }


def recipe() -> Recipe:
    """All stages but those that need a choice of yours: evaluation sets, a classifier, weights."""
    return Recipe(
        name="refine",
        domains={
            ".": Domain(name="", reader="records", filters=web_filters(), filters_of=_others())
        },
        deduplication=Deduplication(),
        splits=Splits(validation=0.005, test=0.005),
    )
