"""Token stores as training data: checked on the host, described, saved."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from barrow import config
from barrow.errors import ConfigError, StoreError
from barrow.stream import Batch, Stream, StreamSettings, Tokens
from barrow.stream.placing import place_batch
from barrow.stream.saved import Saved
from barrow.train.run import Run

if TYPE_CHECKING:
    from jax.sharding import Sharding

    from barrow.stream.store import Store


@dataclass(frozen=True)
class TokenData:
    """A stream whose ids are all below a model's vocabulary; others raise before they are used.

    On a device an id outside the vocabulary is not an error: it would be read as the last one.
    """

    stream: Stream[Batch]
    vocab_size: int
    has_columns: ClassVar[bool] = True

    @property
    def store(self) -> Store:
        """The store."""
        assert isinstance(self.stream.data, Tokens)
        return self.stream.data.store

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read."""
        return self.stream.num_steps

    @property
    def identity(self) -> str:
        """Of the store and of its tokenizer."""
        store = self.store
        return f"store {store.identity[:16]}, tokenizer {store.tokenizer_hash[:16]}"

    def shape(self, step: int) -> tuple[int, int]:
        """Rows and columns of a step."""
        return self.stream.shape(step)

    def batch(self, step: int, *, rows: slice | None = None, columns: slice | None = None) -> Batch:
        """A part of the batch of a step."""
        batch = self.stream.batch(step, rows=rows, columns=columns)
        targets = np.where(batch.mask, batch.targets, 0)
        second = "is followed by" if self.stream.settings.mlm is None else "hides"
        for ids, what in ((batch.tokens, "has"), (targets, second)):
            if ids.size and not 0 <= ids.min() <= ids.max() < self.vocab_size:
                wrong = (ids < 0) | (ids >= self.vocab_size)
                row, column = (int(at[0]) for at in np.nonzero(wrong))
                places = _start(rows) + row, _start(columns) + column
                self._refuse(step, *places, int(ids[row, column]), what)
        return batch

    def place(self, step: int, sharding: Sharding) -> dict[str, Any]:
        """The batch of a step on the devices."""
        return place_batch(self, step, sharding)

    def describe(self, step: int) -> list[str]:
        """The documents of a step, row by row."""
        return [str(seen) for seen in self.stream.explain(step)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the stream, for `barrow tokens lineage`."""
        self.stream.save(path)

    def check(self, path: str | os.PathLike[str]) -> None:
        """Raise unless the store is the one that a stream was saved with."""
        Saved.read(path).check(self.stream.data, name=str(path))

    def about(self) -> dict[str, Any]:
        """Where the tokenizer is, the stream, and the ids that begin and end a document.

        A document without an end token is followed by the next one's begin token: the model learns
        to generate it there, so generation stops at it.
        """
        store = self.store
        return {
            "tokenizer": str(store.folder.resolve() / "tokenizer"),
            "stream": config.to_dict(self.stream.saved()),
            "begin": store.begin,
            "end": store.begin if store.end is None else store.end,
        }

    def baseline(self) -> str:
        """The loss of a model that knows only frequencies."""
        entropy = unigram_entropy(self.store)
        return f"unigram entropy of the store: {entropy:.4f} nats per token"

    def _refuse(self, step: int, row: int, column: int, token: int, what: str) -> None:
        before = [s for s in self.stream.explain(step, row=row) if s.column <= column]
        where = str(before[-1]).partition(": ")[2] if before else "padding"
        raise ValueError(
            f"step {step}, row {row}, column {column} ({where}) {what} id {token}, but the "
            f"model's vocabulary has {self.vocab_size} ids: set "
            f"model.vocab_size={self.store.vocab_size}, as in the store"
        )


def token_data(run: Run, *, vocab_size: int) -> TokenData:
    """The training data of a run."""
    if not run.store:
        raise ConfigError("a run needs a token store to train on: --store FOLDER")
    return TokenData(Stream(_settings(run).open(run.store)), vocab_size)


def vocab_size_of(run: Run) -> int:
    """Ids of the tokenizer that a run's store was made with."""
    return token_data(run, vocab_size=0).store.vocab_size


def validation_data(run: Run, data: TokenData) -> TokenData | None:
    """The validation store, each of its domains read once, in rows like the run's; or None."""
    if run.validation is None:
        return None
    store, trained_on = _settings(run).open(run.validation).store, data.store
    if store.tokenizer_hash != trained_on.tokenizer_hash:
        raise StoreError(
            f"the validation store was made with tokenizer {store.tokenizer_hash[:16]}, "
            f"the training store with {trained_on.tokenizer_hash[:16]}: tokenize both with "
            "the same",
            reason="other-tokenizer",
            file=str(store.folder),
        )
    once = {name: 1.0 for d, name in enumerate(store.domains) if store.domain_tokens(d)}
    settings = replace(
        _settings(run),
        schedule=None,
        weights=None,
        tokens=None,
        max_epochs=None,
        epochs=once,
        seq_len=run.seq_len,
        batch=max(run.batches),
    )
    return TokenData(Stream(settings.open(store)), data.vocab_size)


def _settings(run: Run) -> StreamSettings:
    assert isinstance(run.data, StreamSettings)
    return run.data


def _start(part: slice | None) -> int:
    return 0 if part is None else part.start or 0


_AT_ONCE = 1 << 22


def unigram_entropy(store: Store, *, most: int = 1 << 27) -> float:
    """−Σ p·ln p over the ids of a store, p being their frequencies, in nats per token.

    A model that knows these frequencies and nothing else has this loss. In larger stores the first
    `most` tokens are counted, in proportion to the domains.
    """
    counts = np.zeros(store.vocab_size, np.int64)
    sizes = [store.domain_tokens(domain) for domain in range(len(store.domains))]
    share = min(1.0, most / max(1, sum(sizes)))
    for domain, size in enumerate(sizes):
        wanted = math.ceil(size * share)
        for start in range(0, wanted, _AT_ONCE):
            ids = store.read(domain, start, min(wanted, start + _AT_ONCE))
            counts += np.bincount(ids, minlength=len(counts))[: len(counts)]
    seen = counts[counts > 0] / max(1, counts.sum())
    return float(-(seen * np.log(seen)).sum())
