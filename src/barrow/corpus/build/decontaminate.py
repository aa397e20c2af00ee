"""Finding evaluation data in documents: n-grams of words that both have.

Words are those of `barrow.corpus.kernels.word_runs` on both sides: letters and digits count, what
is between them does not. An item with fewer than n words cannot be searched for; the index counts
such items.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, permutations
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save

from barrow.config import parse_json
from barrow.corpus.input.unpack import BadArchive, open_unpacked
from barrow.corpus.kernels.word_hashes import Offsets
from barrow.corpus.kernels.word_runs import RunTable, find_runs, run_table, runs_of
from barrow.corpus.recipe import Decontamination
from barrow.engine import File, Output, Outputs, Stage, Task
from barrow.errors import ConfigError, NotFound
from barrow.files import sha256_of, write_part

NGRAM = 13

_ITEMS_AT_ONCE = 256
_MAX_STRINGS = 32  # strings of a record that are read in every order


class Item(NamedTuple):
    """A piece of an evaluation set: a question, a passage.

    `strings` are its parts where a document may have them in any order: a question and its answers.
    """

    name: str
    number: int
    text: str
    strings: tuple[str, ...] = ()


@dataclass(frozen=True)
class NgramIndex:
    """The n-grams of evaluation sets; `owners` maps each to an index into `items`, which are (set,
    number).
    """

    table: RunTable
    owners: npt.NDArray[np.uint32]
    items: list[tuple[str, int]]
    ngram: int
    num_too_short: int


class Match(NamedTuple):
    """`num_ngrams` n-grams of a document are in an item of a set."""

    document: int
    name: str
    number: int
    num_ngrams: int


def read_items(path: Path, *, name: str | None = None) -> Iterator[Item]:
    """The items of an evaluation set.

    A record of JSON lines or Parquet is an item, with all its strings; in any other file, text
    between blank lines is an item. Files may be compressed.
    """
    name = name or path.name
    if re.search(r"\.(jsonl|json|ndjson|parquet)(\.\w+)?$", path.name):
        for number, record in enumerate(_records(path)):
            strings = tuple(_strings(record))
            yield Item(name, number, "\n".join(strings), strings)
        return
    try:
        with open_unpacked(path) as file:
            text = file.read().decode("utf-8", "replace")
    except BadArchive as error:
        raise ConfigError(f"{path}: {error}") from None
    for number, part in enumerate(re.split(r"\n\s*\n", text)):
        yield Item(name, number, part)


def ngram_index(items: Iterable[Item], *, ngram: int = NGRAM) -> NgramIndex:
    """An index of all n-grams of some items."""
    if ngram < 1:
        raise ConfigError(f"ngram must be ≥ 1, got {ngram}")
    names: list[tuple[str, int]] = []
    num_too_short = 0
    found, owners = [np.empty((0, 3), np.uint64)], [np.empty(0, np.uint32)]
    items = iter(items)
    while some := list(islice(items, _ITEMS_AT_ONCE)):
        readings = [_readings(item, ngram) for item in some]
        runs, offsets = runs_of([text for texts in readings for text in texts], ngram)
        sizes = np.diff(offsets[np.cumsum([0, *map(len, readings)])])
        places = np.cumsum(sizes > 0) - 1 + len(names)
        names += [(item.name, item.number) for item, size in zip(some, sizes, strict=True) if size]
        num_too_short += int((sizes == 0).sum())
        found.append(runs)
        owners.append(np.repeat(places, sizes).astype(np.uint32))
    table, places = run_table(np.concatenate(found))
    # An n-gram of several items is reported for the first.
    owner_of = np.full(len(table.keys), len(names), np.uint32)
    np.minimum.at(owner_of, places, np.concatenate(owners))
    return NgramIndex(table, owner_of, names, ngram, num_too_short)


def find_matches(text: npt.NDArray[np.uint8], offsets: Offsets, index: NgramIndex) -> list[Match]:
    """Matches of each document of a block, those with the most n-grams first."""
    hits = find_runs(text, offsets, index.table)
    # A position where several n-grams of an item begin counts once.
    owners = index.owners[hits.run].tolist()
    found = set(zip(hits.document.tolist(), owners, hits.piece.tolist(), strict=True))
    counts = Counter((document, owner) for document, owner, _ in found)
    return [
        Match(document, index.items[owner][0], index.items[owner][1], count)
        for (document, owner), count in sorted(
            counts.items(), key=lambda match: (match[0][0], -match[1], match[0][1])
        )
    ]


def save_index(index: NgramIndex, path: Path) -> None:
    """Write an index as safetensors."""
    arrays: dict[str, Any] = {"owners": index.owners}
    fields: dict[str, Any] = {
        name: getattr(index, name) for name in ("items", "ngram", "num_too_short")
    }
    for name, value in index.table._asdict().items():
        (arrays if isinstance(value, np.ndarray) else fields)[name] = value
    write_part(path, save(arrays, {"index": json.dumps(fields)}))


def load_index(path: str | Path) -> NgramIndex:
    """Read an index back."""
    with safe_open(path, "numpy") as file:
        fields = parse_json(file.metadata()["index"], path)
        fields |= {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    table = RunTable(*(fields.pop(name) for name in RunTable._fields))
    items = [(name, number) for name, number in fields.pop("items")]
    return NgramIndex(table=table, items=items, **fields)


def _records(path: Path) -> Iterator[Any]:
    if ".parquet" in path.name:
        import pyarrow.parquet

        yield from pyarrow.parquet.read_table(path).to_pylist()
        return
    try:
        with open_unpacked(path) as file:
            for number, line in enumerate(file):
                if line.strip():
                    try:
                        yield msgspec.json.decode(line)
                    except msgspec.DecodeError as error:
                        raise ConfigError(f"{path}, line {number + 1}: {error}") from None
    except BadArchive as error:
        raise ConfigError(f"{path}: {error}") from None


def _strings(record: Any) -> Iterator[str]:
    waiting = [record]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)


def _readings(item: Item, ngram: int) -> list[str]:
    """The text of an item, and the texts around each junction of two of its strings."""
    readings = [item.text]
    if 2 < len(item.strings) <= _MAX_STRINGS:
        words = [string.split() for string in item.strings]
        readings += [
            " ".join((*before[-ngram:], *after[:ngram]))
            for before, after in permutations(words, 2)
            if before and after and len(before) + len(after) > 1
        ]
    return readings


@dataclass(frozen=True)
class Settings:
    """The length of an n-gram, and the names of the sets."""

    ngram: int
    names: tuple[str, ...]


class Indexed(Outputs):
    """All n-grams of the sets."""

    ngrams = Output("index.safetensors")


def index_task(decontamination: Decontamination) -> Task[Indexed]:
    """The task for some evaluation sets, named by their content."""
    sets = []
    for name in decontamination.sets:
        path = Path(name)
        if not path.is_file():
            raise NotFound(f"{name}: no such evaluation set")
        sets.append(File(path, sha256_of(path)))
    settings = Settings(decontamination.ngram, tuple(file.path.name for file in sets))
    return INDEX.task("evaluation sets", settings, tuple(sets))


def make_index(settings: Settings, sets: tuple[File, ...], out: Indexed) -> None:
    """Index all n-grams of some evaluation sets."""
    items = (
        item
        for file, name in zip(sets, settings.names, strict=True)
        for item in read_items(file.path, name=name)
    )
    save_index(ngram_index(items, ngram=settings.ngram), out.ngrams.path)


INDEX = Stage("corpus.index", 3, make_index, Indexed)
