"""Documents that exist already, refined: any jsonl.zst, archive or parquet in, a corpus out.

The domain of a document is what its record says (``meta.pile_set_name``).
"""

from __future__ import annotations

from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.mix import Splits
from barrow.corpus.recipe import Domain, Recipe


def recipe() -> Recipe:
    """All stages but those that need a choice of yours: evaluation sets, a classifier, weights."""
    return Recipe(
        name="refine",
        domains={".": Domain(name="", reader="records")},
        deduplication=Deduplication(),
        splits=Splits(validation=0.005, test=0.005),
    )
