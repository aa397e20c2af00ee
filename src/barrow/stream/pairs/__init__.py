"""Image–text pairs: an index made once, and batches as a function of (seed, step)."""

from __future__ import annotations

from barrow.stream.pairs.collate import PairBatch
from barrow.stream.pairs.index import PairIndex, open_index
from barrow.stream.pairs.make_index import index_pairs
from barrow.stream.pairs.pairs import Pairs, PairSeen
from barrow.stream.pairs.settings import PairSettings
from barrow.stream.pairs.texts import ClipTexts, TextEncoder

__all__ = [
    "ClipTexts",
    "PairBatch",
    "PairIndex",
    "PairSeen",
    "PairSettings",
    "Pairs",
    "TextEncoder",
    "index_pairs",
    "open_index",
]
