"""Refines existing documents: any jsonl.zst, archive or parquet in, a corpus out.

The domain of a document is that of its record (``meta.pile_set_name``). Domains that The Pile does
not have count as web text.
"""

from __future__ import annotations

from barrow.corpus import (
    C4,
    Deduplication,
    Domain,
    Filter,
    FineWeb,
    GopherQuality,
    GopherRepetition,
    Length,
    Recipe,
    Records,
    Repair,
    Rewriter,
    Splits,
)
from barrow.corpus.filters.by_language import recipe_by_language
from barrow.recipes import pile

# The filters of FineWeb and others for web text, except language and personal data.
WEB_FILTERS = (
    Repair(),
    Length(min_bytes=100),
    GopherQuality(),
    GopherRepetition(),
    C4(),
    FineWeb(),
)


def _others() -> dict[str, tuple[Filter | Rewriter, ...]]:
    """Domains of The Pile that are not web text, with other filters."""
    return {
        domain.name: domain.filters
        for folder, domain in pile.recipe().domains.items()
        if folder not in ("pile_cc", "openwebtext2")
    }


def recipe(language: str = "en") -> Recipe:
    """All stages but those that need a choice of yours: evaluation sets, a classifier, weights.

    The rules for web text are those of a `language`, or with ``auto`` of each document's.
    """
    made = Recipe(
        name="refine",
        domains={".": Domain(name="", reader=Records(), filters=WEB_FILTERS, filters_of=_others())},
        deduplication=Deduplication(),
        splits=Splits(validation=0.005, test=0.005),
    )
    return recipe_by_language(made, language)
