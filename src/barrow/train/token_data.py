"""Token stores as training reads them: looked through on the host, described, saved."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from barrow import config
from barrow.errors import ConfigError, StoreError
from barrow.stream import Batch, Mixture, Stream
from barrow.stream.choices import Choices, make_stream
from barrow.stream.explain import seen_at
from barrow.stream.placing import place_batch
from barrow.stream.saved import check_store, read_saved, saved_stream
from barrow.train.run import Run
from barrow.train.unigram import unigram_entropy

if TYPE_CHECKING:
    from jax.sharding import Sharding


@dataclass(frozen=True)
class TokenData:
    """A stream whose ids are all below a model's vocabulary; others raise before they are used.

    On a device an id over the vocabulary is no error: it would be taken for the last one.
    """

    stream: Stream
    vocab_size: int

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read."""
        return self.stream.num_steps

    @property
    def identity(self) -> str:
        """Of the store and of its tokenizer."""
        store = self.stream.store
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
        return [f"row {one.row}: {in_words(one)}" for one in seen_at(self.stream, step)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the stream, for `barrow explain`."""
        self.stream.save(path)

    def check(self, path: str | os.PathLike[str]) -> None:
        """Raise unless the store is the one that a stream was saved with."""
        check_store(read_saved(path), self.stream.store, name=str(path))

    def about(self) -> dict[str, Any]:
        """Where the tokenizer is, the stream, and the ids that begin and end a document.

        A document without an end is ended by the begin of the next one: that is what a model is
        trained to say after it, so there generated text stops.
        """
        store = self.stream.store
        return {
            "tokenizer": str(store.folder.resolve() / "tokenizer"),
            "stream": config.to_dict(saved_stream(store, self.stream.settings)),
            "begin": store.begin,
            "end": store.begin if store.end is None else store.end,
        }

    def baseline(self) -> str:
        """What knowing nothing but frequencies gives."""
        entropy = unigram_entropy(self.stream.store)
        return f"unigram entropy of the store: {entropy:.4f} nats per token"

    def _refuse(self, step: int, row: int, column: int, token: int, what: str) -> None:
        before = [s for s in seen_at(self.stream, step, row=row) if s.column <= column]
        where = in_words(before[-1]) if before else "padding"
        raise ValueError(
            f"step {step}, row {row}, column {column} ({where}) {what} id {token}, and the model's "
            f"vocabulary has {self.vocab_size} ids: model.vocab_size="
            f"{self.stream.store.vocab_size} is the store's"
        )


def token_data(run: Run, *, vocab_size: int) -> TokenData:
    """What a run trains on."""
    return TokenData(_stream(run), vocab_size)


def vocab_size_of(run: Run) -> int:
    """Ids of the tokenizer that a run's store was made with."""
    return _stream(run).store.vocab_size


def held_out_data(run: Run, data: TokenData) -> TokenData | None:
    """The held-out store, each of its domains read once, in rows as the run's; None without one."""
    if run.held_out is None:
        return None
    choices, trained_on = _choices(run), data.stream.store
    natural = Stream(run.held_out, seed=0, seq_len=run.seq_len, batch=max(run.batches))
    store = natural.store
    if store.tokenizer_hash != trained_on.tokenizer_hash:
        raise StoreError(
            f"the held-out store was made with tokenizer {store.tokenizer_hash[:16]}, the one that "
            f"is trained on with {trained_on.tokenizer_hash[:16]}: tokenize both alike",
            reason="other-tokenizer",
            file=str(store.folder),
        )
    mixture = natural.settings.schedule.phases[0].mixture
    stream = Stream(
        store,
        seed=choices.seed,
        seq_len=run.seq_len,
        batch=max(run.batches),
        mixture=Mixture(epochs=dict.fromkeys(mixture.amounts, 1.0)),
        packing=choices.packing,
        buckets=choices.buckets,
        mlm=choices.mlm,
        pad=choices.pad,
    )
    return TokenData(stream, data.vocab_size)


def in_words(seen: Any) -> str:
    """A part of a document."""
    name = seen.identity or f"{seen.shard} {seen.archive_number}"
    return f"{seen.domain}, {name}, tokens {seen.first:,}–{seen.stop:,} of {seen.num_tokens:,}"


def _stream(run: Run) -> Stream:
    if not run.store:
        raise ConfigError("a run needs a token store to train on: store=FOLDER")
    return make_stream(run.store, _choices(run))


def _choices(run: Run) -> Choices:
    assert isinstance(run.data, Choices)
    return run.data


def _start(part: slice | None) -> int:
    return 0 if part is None else part.start or 0
