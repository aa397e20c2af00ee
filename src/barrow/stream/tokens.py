"""Tokens of a store as the data of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from barrow.errors import ConfigError
from barrow.stream.batch import Batch
from barrow.stream.explain import Seen
from barrow.stream.order.order import Order
from barrow.stream.order.schedule import Schedule
from barrow.stream.part import Part
from barrow.stream.rows.collate import MaskedCollate, TokenCollate
from barrow.stream.rows.cut_rows import CutRows
from barrow.stream.rows.masking import mask_ids
from barrow.stream.rows.packed_rows import BucketedRows, PackedRows
from barrow.stream.rows.packing import Packing
from barrow.stream.rows.packing_file import open_packing
from barrow.stream.rows.spans import Spans
from barrow.stream.settings import StreamSettings
from barrow.stream.source import Collate, Source
from barrow.stream.store import Store, store_tokenizer

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer, TokenStore


@dataclass(frozen=True, eq=False)
class Tokens:
    """The token rows of a store, in the order and form of the settings."""

    store: Store
    settings: StreamSettings
    tokenizer: Tokenizer | None = None
    cache: Path | None = None
    at_once: ClassVar[int] = 1024
    has_columns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        store = self.store
        if self.tokenizer is not None and self.tokenizer.hash != store.tokenizer_hash:
            raise ValueError(
                f"the store was made with tokenizer {store.tokenizer_hash[:16]}, got "
                f"{self.tokenizer.hash[:16]}; use the one in the store's folder, or "
                "tokenize again"
            )
        if not any(self.sizes.values()):
            raise ValueError(f"the store at {store.folder} has no tokens; there is nothing to read")
        if not 0 <= self.settings.pad < store.vocab_size:
            raise ConfigError(f"pad must be an id from 0 to {store.vocab_size - 1}")

    @property
    def folder(self) -> Path:
        """Of the store."""
        return self.store.folder

    @property
    def identity(self) -> dict[str, str]:
        """Of the store's content and its tokenizer."""
        return {"tokenizer": self.store.tokenizer_hash, "store": self.store.identity}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Tokens by domain."""
        return {name: self.store.domain_tokens(d) for d, name in enumerate(self.store.domains)}

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule of the settings for this store."""
        return self.settings.resolve(self.sizes)

    @cached_property
    def packings(self) -> dict[int, Packing] | None:
        """How each domain that is read is packed; None where rows are cut."""
        kind, phases = self.settings.packing, self.schedule.phases
        if kind == "cut":
            return None
        read = {d for phase in phases for d, much in phase.mixture.amounts.items() if much}
        return {
            d: open_packing(self.store, d, kind=kind, seq_len=phases[0].seq_len, folder=self.cache)
            for d, name in enumerate(self.store.domains)
            if name in read
        }

    @cached_property
    def order(self) -> Order:
        """Of tokens, or of packed rows."""
        seed, packings = self.settings.seed, self.packings
        if packings is None:
            return Order(seed, self.schedule, self.sizes)
        rows = {
            name: packings[d].num_rows if d in packings else 0
            for d, name in enumerate(self.store.domains)
        }
        return Order.of_items(seed, self.schedule, rows)

    @cached_property
    def source(self) -> Source[Spans]:
        """Of the parts of documents in rows."""
        if self.packings is None:
            return CutRows(self.store)
        if self.settings.packing == "fit":
            return PackedRows(self.store, self.packings)
        return BucketedRows(self.store, self.packings, self.settings.widths)

    @cached_property
    def collate(self) -> Collate[Spans, Batch]:
        """Reads the tokens."""
        plain, mlm = TokenCollate(self.store, self.settings.pad), self.settings.mlm
        if mlm is None:
            return plain
        ids = mask_ids(self.tokenizer or store_tokenizer(self.store), whole_word=mlm.whole_word)
        return MaskedCollate(plain, mlm, ids, self.settings.seed)

    def explain(self, spans: Spans, part: Part) -> list[Seen]:
        """The parts of documents in rows."""
        store = cast("TokenStore", self.store)
        columns = (spans.row, spans.column, spans.document, spans.start, spans.length)
        return [
            Seen.of(store.document(document), part.step, part.rows.start + row, column, start, size)
            for row, column, document, start, size in zip(
                *(array.tolist() for array in columns), strict=True
            )
        ]

    def places(self, document: int) -> tuple[int, list[tuple[int, int]]]:
        """Where a document is: its tokens, or the packed rows that have some of them."""
        entry = cast("TokenStore", self.store).document(document)
        domain = self.store.domains.index(entry.domain)
        if self.packings is None:
            return domain, [(entry.start, entry.stop)]
        if (packing := self.packings.get(domain)) is None:
            return domain, []
        within = document - self.store.domain_range(domain).start
        pieces = np.flatnonzero(packing.document == within)
        rows = np.unique(packing.offsets.searchsorted(pieces, side="right") - 1)
        return domain, [(row, row + 1) for row in rows.tolist()]
