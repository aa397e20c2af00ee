"""Image–text pairs: an index made once, and batches as a function of (seed, step)."""

from __future__ import annotations

from barrow.stream.pairs.batch import PairBatch
from barrow.stream.pairs.choices import PairChoices, make_pairs
from barrow.stream.pairs.explain import PairSeen, pairs_at
from barrow.stream.pairs.index import PairIndex, open_index
from barrow.stream.pairs.make_index import index_pairs
from barrow.stream.pairs.placing import place_rows
from barrow.stream.pairs.settings import PairSettings
from barrow.stream.pairs.stream import PairStream
from barrow.stream.pairs.texts import ClipTexts, TextEncoder

__all__ = [
    "ClipTexts",
    "PairBatch",
    "PairChoices",
    "PairIndex",
    "PairSeen",
    "PairSettings",
    "PairStream",
    "TextEncoder",
    "index_pairs",
    "make_pairs",
    "open_index",
    "pairs_at",
    "place_rows",
]
