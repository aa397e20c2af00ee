"""A small token store in memory, and what is obviously in it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@dataclass(frozen=True)
class MemoryStore:
    """Documents as (domain, ids), by domain, with the methods that a stream needs of a store."""

    documents: tuple[tuple[int, tuple[int, ...]], ...]
    domains: tuple[str, ...]
    begin: int | None = 0
    end: int | None = None
    vocab_size: int = 1000
    tokenizer_hash: str = "t" * 64
    identity: str = ""
    folder: Path = Path("nowhere")

    @cached_property
    def sequences(self) -> list[list[int]]:
        return [[i for d, ids in self.documents if d == k for i in ids] for k in self._all]

    @property
    def _all(self) -> range:
        return range(len(self.domains))

    def domain_tokens(self, domain: int) -> int:
        return len(self.sequences[domain])

    def domain_range(self, domain: int) -> range:
        numbers = [n for n, (d, _) in enumerate(self.documents) if d == domain]
        return range(numbers[0], numbers[-1] + 1) if numbers else range(0)

    def domain_starts(self, domain: int) -> np.ndarray:
        lengths = [len(ids) for d, ids in self.documents if d == domain]
        return np.cumsum([0, *lengths]).astype(np.int64)

    def read(self, domain: int, start: int, stop: int) -> np.ndarray:
        assert 0 <= start <= stop <= len(self.sequences[domain])
        return np.array(self.sequences[domain][start:stop], np.uint16)


@dataclass(frozen=True, eq=False)
class Parts:
    """Data that are just their three parts."""

    order: Any
    source: Any
    collate: Any
    at_once: int = 1
    has_columns: bool = True


def make_store(
    lengths: Sequence[Sequence[int]],
    *,
    begin: int | None = 0,
    end: int | None = None,
    seed: int = 0,
    **more: Any,
) -> MemoryStore:
    """Documents of given lengths by domain; every id but begin and end is random.

    Lengths count begin and end; a document of length 0 has no tokens.
    """
    rng = random.Random(seed)
    documents = []
    for domain, sizes in enumerate(lengths):
        for size in sizes:
            ids = [rng.randrange(10, 1000) for _ in range(size)]
            if ids and begin is not None:
                ids[0] = begin
            if len(ids) > 1 and end is not None:
                ids[-1] = end
            documents.append((domain, tuple(ids)))
    names = tuple("ABCDEFGH"[: len(lengths)])
    more.setdefault("identity", hashlib.sha256(repr((names, documents)).encode()).hexdigest())
    return MemoryStore(tuple(documents), names, begin, end, **more)


@pytest.fixture(scope="session")
def stores() -> Callable[..., MemoryStore]:
    """Makes stores in memory; see `make_store`."""
    return make_store


def slow_cut(store: MemoryStore, row: tuple[int, int, int]) -> list[tuple[int, int]]:
    """The (document, place in it) of each token of a row that is a stretch of a domain."""
    domain, start, length = row
    places = [
        (number, k)
        for number, (d, ids) in enumerate(store.documents)
        if d == domain
        for k in range(len(ids))
    ]
    return places[start : start + length]


def slow_arrays(
    store: MemoryStore, rows: list[list[tuple[int, int]]], width: int, pad: int
) -> dict[str, list[list[int]]]:
    """The arrays of rows of (document, place in it), one place after another.

    A new segment begins where the document changes, or a place does not follow the one before.
    """
    out: dict[str, list[list[int]]] = {
        name: [] for name in ("tokens", "targets", "segments", "positions", "mask", "documents")
    }
    for row in rows:
        line = {name: [] for name in out}
        segment, position, before = 0, 0, None
        for document, place in row:
            ids = store.documents[document][1]
            if before is None or document != before[0] or place != before[1] + 1:
                segment, position = segment + 1, 0
                line["documents"].append(document)
            follows = place + 1 < len(ids)
            ends_well = store.begin is not None and store.end is None
            line["tokens"].append(ids[place])
            line["targets"].append(ids[place + 1] if follows else store.begin)
            line["segments"].append(segment)
            line["positions"].append(position)
            line["mask"].append(int(follows or ends_well))
            position, before = position + 1, (document, place)
        rest = width - len(row)
        for name in ("tokens", "targets"):
            line[name] += [pad] * rest
        for name in ("segments", "positions", "mask"):
            line[name] += [0] * rest
        for name, values in line.items():
            out[name].append(values)
    return out


@pytest.fixture(scope="session")
def check_batch() -> Callable[..., None]:
    """Compares a batch with `slow_arrays`; where a target does not count, it may be anything."""

    def check(batch: Any, expected: dict[str, list[list[int]]]) -> None:
        for name in ("tokens", "segments", "positions", "mask"):
            assert getattr(batch, name).astype(int).tolist() == expected[name], name
        counts = np.array(expected["mask"], bool).reshape(batch.mask.shape)
        wanted = np.array(
            [[-1 if t is None else t for t in row] for row in expected["targets"]]
        ).reshape(counts.shape)
        assert (batch.targets[counts] == wanted[counts]).all()
        for row, documents in zip(batch.documents.tolist(), expected["documents"], strict=True):
            assert [d for d in row if d >= 0] == documents
            assert row == documents + [-1] * (len(row) - len(documents))
        longest = max((len(d) for d in expected["documents"]), default=0)
        assert batch.documents.shape[1] == longest
        kinds = {"mask": np.bool_, "documents": np.int64}
        for name in ("tokens", "targets", "segments", "positions", "mask", "documents"):
            assert getattr(batch, name).dtype == kinds.get(name, np.int32), name
        for array in batch.arrays().values():
            assert array.shape == batch.tokens.shape

    return check


@pytest.fixture(scope="session")
def slow() -> Any:
    """The slow reference: `slow.cut` and `slow.arrays`."""

    class Slow:
        cut = staticmethod(slow_cut)
        arrays = staticmethod(slow_arrays)

    return Slow


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small archive with ids, licences and urls; one document is empty."""
    import barrow
    from barrow import Document

    rng = random.Random(5)
    folder = tmp_path_factory.mktemp("corpus") / "archive"
    with barrow.archive.Writer(folder, shard_size=4000, frame_size=1000) as writer:
        for number in range(60):
            words = rng.choices(["stone", "cart", "mound", "na\u00efve", "🙂"], k=number % 13)
            meta = {
                "pile_set_name": rng.choice(["A", "B", "C"]),
                "id": f"{number + 1:016x}-{number:08x}",
                "licence": rng.choice(["CC0-1.0", "MIT"]),
                "url": f"https://example.org/{number}",
            }
            writer.add(Document(" ".join(words), meta))
    return folder


@pytest.fixture(scope="session")
def token_store(corpus: Path) -> Any:
    """The archive as a token store of bytes."""
    from barrow.engine import Engine
    from barrow.tokens import load, tokenize

    out = corpus.parent / "store"
    return tokenize(corpus, tokenizer=load("bytes"), out=out, engine=Engine("local", 0))
