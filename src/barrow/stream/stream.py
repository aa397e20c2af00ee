"""A stream of batches: a function of (store, settings, step), and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barrow.errors import ConfigError
from barrow.stream.batch import Batch
from barrow.stream.batches import Batches
from barrow.stream.collate import TokenCollate
from barrow.stream.cut_rows import CutRows
from barrow.stream.masked_collate import MaskedCollate
from barrow.stream.masking import Mlm, mask_ids
from barrow.stream.order import Order
from barrow.stream.packed_rows import BucketedRows, PackedRows
from barrow.stream.packing import Packing as PackedDomain
from barrow.stream.packing_file import open_packing
from barrow.stream.prefetch import Prefetch
from barrow.stream.saved import check_store, read_saved, save_stream
from barrow.stream.schedule import Mixture, Phase, Schedule, constant
from barrow.stream.settings import Packing, StreamSettings
from barrow.stream.source import Collate, Source
from barrow.stream.spans import Spans
from barrow.stream.store import Store
from barrow.stream.store_tokenizer import store_tokenizer

if TYPE_CHECKING:
    from jax.sharding import Sharding

    from barrow.tokens import Tokenizer

# Rows that are located together; only the rows asked for are read.
_AT_ONCE = 1024


class Stream:
    """Batches of a token store, in a shuffled order, mixed from its domains.

    `stream.batch(step)` depends on the store, the settings and the step alone. So it is the same on
    any number of ranks and after any restart, and there is nothing to save but the step.
    """

    def __init__(
        self,
        store: Store | str | os.PathLike[str],
        *,
        seed: int,
        seq_len: int | None = None,
        batch: int | None = None,
        mixture: Mixture | None = None,
        schedule: Schedule | None = None,
        packing: Packing = "cut",
        buckets: tuple[int, ...] | None = None,
        mlm: Mlm | None = None,
        pad: int = 0,
        tokenizer: Tokenizer | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        """Give `seq_len` and `batch`, with a `mixture` or for all domains as they are, or else a
        `schedule`. `tokenizer` is checked against the store's. `cache` is a folder for packings,
        by default one within the store.
        """
        opened = _open(store)
        if schedule is None:
            if seq_len is None or batch is None:
                raise ConfigError("say seq_len=… and batch=…, or schedule=…")
            mixture = natural_mixture(opened) if mixture is None else mixture
            schedule = constant(seq_len=seq_len, batch=batch, mixture=mixture)
        elif any(value is not None for value in (seq_len, batch, mixture)):
            raise ConfigError(
                "seq_len, batch and mixture are those of the schedule; do not give them besides"
            )
        settings = StreamSettings(seed, schedule, packing, buckets, mlm, pad)
        self._build(opened, settings, tokenizer, cache)

    @classmethod
    def from_settings(
        cls,
        store: Store | str | os.PathLike[str],
        settings: StreamSettings,
        *,
        tokenizer: Tokenizer | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> Stream:
        """The stream of some settings."""
        stream = cls.__new__(cls)
        stream._build(_open(store), settings, tokenizer, cache)
        return stream

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        store: Store | str | os.PathLike[str] | None = None,
        tokenizer: Tokenizer | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> Stream:
        """A stream that was saved; `store` says where its store lies now, if it was moved."""
        saved = read_saved(path)
        opened = _open(saved.store if store is None else store)
        check_store(saved, opened, name=str(path))
        return cls.from_settings(opened, saved.settings, tokenizer=tokenizer, cache=cache)

    def _build(
        self,
        store: Store,
        settings: StreamSettings,
        tokenizer: Tokenizer | None,
        cache: str | os.PathLike[str] | None,
    ) -> None:
        if tokenizer is not None and tokenizer.hash != store.tokenizer_hash:
            raise ValueError(
                f"the tokenizer is {tokenizer.hash[:16]}, the store was made with "
                f"{store.tokenizer_hash[:16]}; use the one in its folder, or tokenize again"
            )
        if not any(store.domain_tokens(d) for d in range(len(store.domains))):
            raise ValueError(f"the store at {store.folder} has no tokens; there is nothing to read")
        if not 0 <= settings.pad < store.vocab_size:
            raise ConfigError(f"pad: expected an id from 0 to {store.vocab_size - 1}")
        self.store = store
        self.settings = settings
        self._cache = None if cache is None else Path(cache)
        order, source = self._rows()
        collate: Collate[Spans, Batch] = TokenCollate(store, settings.pad)
        if settings.mlm is not None:
            speaker = store_tokenizer(store) if tokenizer is None else tokenizer
            ids = mask_ids(speaker, whole_word=settings.mlm.whole_word)
            collate = MaskedCollate(collate, settings.mlm, ids, settings.seed)
        self._tokenizer = tokenizer
        self.batches = Batches(order, source, collate, at_once=_AT_ONCE)

    def _rows(self) -> tuple[Order, Source[Spans]]:
        store, settings = self.store, self.settings
        seed, schedule, kind = settings.seed, settings.schedule, settings.packing
        sizes = {name: store.domain_tokens(d) for d, name in enumerate(store.domains)}
        for phase in schedule.phases:
            phase.mixture.check(sizes)
        if kind == "cut":
            return Order(seed, schedule, sizes), CutRows(store)
        read = {d for phase in schedule.phases for d, much in phase.mixture.amounts.items() if much}
        packings: dict[int, PackedDomain] = {
            d: open_packing(
                store, d, kind=kind, seq_len=schedule.phases[0].seq_len, folder=self._cache
            )
            for d, name in enumerate(store.domains)
            if name in read
        }
        rows = {n: packings[d].num_rows if n in read else 0 for d, n in enumerate(store.domains)}
        order = Order.of_items(seed, schedule, rows)
        if kind == "fit":
            return order, PackedRows(store, packings)
        return order, BucketedRows(store, packings, settings.widths)

    def __reduce__(self) -> tuple[Callable[..., Stream], tuple[Any, ...]]:
        return _rebuild, (self.store, self.settings, self._tokenizer, self._cache)

    def __repr__(self) -> str:
        phases = self.settings.schedule.phases
        shapes = ", ".join(f"{p.batch}×{p.seq_len} from step {p.start}" for p in phases)
        steps = "endless" if self.num_steps is None else f"{self.num_steps:,} steps"
        return f"<barrow.stream.Stream of {str(self.store.folder)!r}: {shapes}; {steps}>"

    @property
    def order(self) -> Order:
        """Which rows each step has."""
        return self.batches.order

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read, a last partial batch included; None if never."""
        return self.batches.num_steps

    def shape(self, step: int) -> tuple[int, int]:
        """Rows and columns of the global batch of a step."""
        return self.batches.shape(step)

    def spans(self, step: int) -> Spans:
        """Which parts of which documents stand where at a step."""
        return self.batches.samples(step)

    def batch(
        self,
        step: int,
        *,
        rank: int | None = None,
        of: int | None = None,
        rows: slice | None = None,
        columns: slice | None = None,
    ) -> Batch:
        """The batch of a step, or the part that rank `rank` of `of`, or slices, ask for.

        Only that part is computed and read. Ranks have equal parts, in order.
        """
        return self.batches.batch(step, rank=rank, of=of, rows=rows, columns=columns)

    def then(self, phase: Phase) -> Stream:
        """The stream with one more phase; what steps before it see stays the same."""
        from dataclasses import replace

        settings = replace(self.settings, schedule=self.settings.schedule.then(phase))
        return _rebuild(self.store, settings, self._tokenizer, self._cache)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the settings, and which store they are for, as JSON."""
        save_stream(path, self.store, self.settings)

    # Iteration, here and in other frameworks -----------------------------------------------------

    def prefetch(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        depth: int = 2,
        threads: int = 1,
        rank: int | None = None,
        of: int | None = None,
        place: Sharding | None = None,
    ) -> Prefetch[Any]:
        """(step, batch) from a step on, prepared ahead on threads.

        With `place`, a JAX sharding of [rows, columns], a batch is a dict of global arrays; every
        process computes the parts of its own devices.
        """
        stop = self.batches.stop(start, stop)
        if place is None:

            def make(step: int) -> Any:
                return self.batch(step, rank=rank, of=of)

        else:
            from barrow.stream.placing import place_batch

            if rank is not None or of is not None:
                raise ValueError("the sharding says who has which rows; leave out rank and of")

            def make(step: int) -> Any:
                return place_batch(self, step, place)

        return Prefetch(make, start=start, stop=stop, depth=depth, threads=threads)

    def numpy(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        rank: int | None = None,
        of: int | None = None,
    ) -> Iterator[tuple[int, Batch]]:
        """(step, batch) from a step on, each made when it is asked for."""
        from barrow.stream.views.numpy import numpy_view

        return numpy_view(self, start, self.batches.stop(start, stop), rank=rank, of=of)

    def jax(
        self, sharding: Sharding, start: int = 0, stop: int | None = None, *, depth: int = 2
    ) -> Prefetch[Any]:
        """(step, dict of global JAX arrays) from a step on, prepared ahead."""
        return self.prefetch(start, stop, depth=depth, place=sharding)

    def torch(self, start: int = 0, *, rank: int | None = None, of: int | None = None) -> Any:
        """A `torch.utils.data.IterableDataset` of dicts of tensors, one for each step."""
        from barrow.stream.views.torch import TorchView

        return TorchView(self, start=start, rank=rank, of=of)

    def tf(self, start: int = 0, *, rank: int | None = None, of: int | None = None) -> Any:
        """A `tf.data.Dataset` of dicts of tensors, one for each step."""
        from barrow.stream.views.tf import tf_view

        return tf_view(self, start, rank=rank, of=of)


def natural_mixture(store: Store) -> Mixture:
    """All domains in proportion to their tokens, without end."""
    sizes = {name: float(store.domain_tokens(d)) for d, name in enumerate(store.domains)}
    if not any(sizes.values()):
        raise ValueError(f"the store at {store.folder} has no tokens; there is nothing to read")
    return Mixture(weights={name: size for name, size in sizes.items() if size})


def _open(store: Store | str | os.PathLike[str]) -> Store:
    if not isinstance(store, str | os.PathLike):
        return store
    from barrow.tokens import open_store

    return open_store(store)


def _rebuild(
    store: Store,
    settings: StreamSettings,
    tokenizer: Tokenizer | None,
    cache: Path | None,
) -> Stream:
    return Stream.from_settings(store, settings, tokenizer=tokenizer, cache=cache)
