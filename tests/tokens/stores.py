"""Archives to tokenize, made here, and the plainest account of what a store should hold."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import barrow
from barrow import Document
from barrow.engine import Engine
from barrow.tokens import TokenStore
from barrow.tokens.store.store_file import Sizes

# Small enough for a few documents to make several parts, files and shards.
SMALL = Sizes(part_bytes=6_000, buffer_bytes=3_000, shard_bytes=8_000)
INLINE = Engine(num_workers=0)
WORDS = [
    "the",
    "of",
    "barrow",
    "mound",
    "stone",
    "na\u00efve",
    "日本語",
    "🙂",
    "<|endoftext|>",
    "\n",
]


def some_documents(num: int, *, seed: int = 0) -> list[Document]:
    """Texts of many lengths, some empty, of three domains and none, most with ids."""
    rng = random.Random(seed)
    made = []
    for number in range(num):
        length = int(rng.expovariate(1 / 30)) if rng.random() > 0.1 else 0
        meta: dict[str, object] = {"n": number}
        if (name := rng.choice(["Pile-CC", "Ünï / code", "B", None])) is not None:
            meta["pile_set_name"] = name
        if rng.random() > 0.2:
            meta["id"] = f"{rng.getrandbits(64):016x}-{rng.getrandbits(32):08x}"
        made.append(Document(" ".join(rng.choices(WORDS, k=length)), meta))
    return made


def expected(documents: Iterable[Document]) -> dict[str, list[list[int]]]:
    """The documents of every domain as the byte tokenizer has them, by plain Python."""
    found: dict[str, list[list[int]]] = {}
    for document in documents:
        name = document.meta.get("pile_set_name") or "unknown"
        data = list(document.text.encode())
        found.setdefault(name, []).append([256, *data] if data else [])
    return dict(sorted(found.items()))


def held(store: TokenStore) -> dict[str, list[list[int]]]:
    """The documents of every domain as a store has them."""
    found = {}
    for domain, name in enumerate(store.domains):
        starts = store.domain_starts(domain).tolist()
        pairs = pairwise(starts)
        found[name] = [store.read(domain, a, b).tolist() for a, b in pairs]
    return found


def files_of(folder: Path) -> dict[str, bytes]:
    """Everything in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write_archive(folder: Path, documents: Iterable[Document], **options: object) -> Path:
    """An archive of small frames and several shards."""
    options = {"frame_size": 1_000, "shard_size": 30_000, **options}
    with barrow.archive.Writer(folder, **options) as writer:  # type: ignore[arg-type]
        writer.extend(documents)
    return folder
