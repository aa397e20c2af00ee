"""Finding evaluation data in documents: n words in a row that both have.

Words are those of `barrow.corpus.word_hashes`, so wrapping, case, punctuation, accents and Unicode
forms make no difference. In the evaluation sets a mark inside a word (don't, state-of-the-art) is
taken both as a gap and as nothing at all, for texts whose marks were removed. An item with fewer
than n words cannot be looked for; the index says how many there are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from barrow.corpus.array_files import safe_open, save_file
from barrow.corpus.compiled import compiled
from barrow.corpus.scratch import Scratch
from barrow.corpus.unpack import BadArchive, open_unpacked
from barrow.corpus.word_hashes import Hashes, Offsets, Words, finish_hash, word_hashes
from barrow.errors import ConfigError

NGRAM = 13

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MARKS = re.compile(r"[^\w\s]")
_MAX_PER_DOCUMENT = 64


class Item(NamedTuple):
    """A piece of an evaluation set: a question, a passage."""

    name: str
    number: int
    text: str


@dataclass(frozen=True)
class NgramIndex:
    """The n-grams of evaluation sets: an open-addressing table from hash to item.

    `slots` has hashes (0 is empty), `owners` the places in `items`; `filter_bits` says quickly that
    a hash is not there. `items` are (set, number).
    """

    slots: Hashes
    owners: npt.NDArray[np.uint32]
    filter_bits: npt.NDArray[np.uint8]
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

    Of JSON lines (also compressed) and Parquet, every string of a record belongs to its item; of
    any other file (also compressed), text between blank lines is an item.
    """
    name = name or path.name
    if re.search(r"\.(jsonl|json|ndjson|parquet)(\.\w+)?$", path.name):
        for number, record in enumerate(_records(path)):
            yield Item(name, number, "\n".join(_strings(record)))
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
        raise ConfigError(f"an n-gram has at least one word, unlike {ngram}")
    scratch = Scratch()
    hashes: list[Hashes] = []
    owners: list[npt.NDArray[np.uint32]] = []
    names: list[tuple[str, int]] = []
    num_too_short = 0
    for item in items:
        found = [ngram_hashes(text, ngram, scratch) for text in readings(item.text)]
        together = np.unique(np.concatenate(found))
        if not len(together):
            num_too_short += 1
            continue
        hashes.append(together)
        owners.append(np.full(len(together), len(names), np.uint32))
        names.append((item.name, item.number))
    keys = np.concatenate(hashes) if hashes else np.empty(0, np.uint64)
    # Of an n-gram that several items have, the first is told.
    unique, first = np.unique(keys, return_index=True)
    owner = (np.concatenate(owners) if owners else np.empty(0, np.uint32))[first]
    size = 1 << max(4, int(2 * len(unique)).bit_length())
    slots, table = np.zeros(size, np.uint64), np.zeros(size, np.uint32)
    bits = np.zeros(max(1 << 13, 1 << max(0, int(2 * len(unique)).bit_length())), np.uint8)
    _fill(unique, owner, slots, table, bits)
    return NgramIndex(slots, table, bits, names, ngram, num_too_short)


def find_matches(words: Words, index: NgramIndex) -> list[Match]:
    """What of the index is in which document, the most n-grams first."""
    found = np.empty((_MAX_PER_DOCUMENT, 2), np.int64)
    matches: list[Match] = []
    hits = _count_hits(words.hashes, words.offsets, index.ngram, index.slots, index.filter_bits)
    for document in np.flatnonzero(hits).tolist():
        span = words.hashes[words.offsets[document] : words.offsets[document + 1]]
        num_owners = _owners_of(span, index.ngram, index.slots, index.owners, found)
        told = sorted(found[:num_owners].tolist(), key=lambda pair: (-pair[1], pair[0]))
        for owner, num_ngrams in told:
            name, number = index.items[owner]
            matches.append(Match(document, name, number, num_ngrams))
    return matches


def mark_found(words: Words, index: NgramIndex, found: npt.NDArray[np.bool_]) -> None:
    """Set those of `found`, one for each slot of the index, whose n-grams some texts have."""
    _mark(words.hashes, words.offsets, index.ngram, index.slots, index.filter_bits, found)


def slots_of(ngrams: Hashes, index: NgramIndex) -> npt.NDArray[np.int64]:
    """The slot of each n-gram of `ngram_hashes`; −1 for those that the index does not have."""
    return _find_each(ngrams, index.slots)


def save_index(index: NgramIndex, path: Path) -> None:
    """Write an index as safetensors."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "slots": index.slots,
        "owners": index.owners,
        "filter_bits": index.filter_bits,
    }
    told = {"items": index.items, "ngram": index.ngram, "num_too_short": index.num_too_short}
    save_file(arrays, path, {"index": json.dumps(told)})


def load_index(path: str | Path) -> NgramIndex:
    """Read an index back."""
    with safe_open(path, "numpy") as file:
        told = json.loads(file.metadata()["index"])
        arrays = {name: file.get_tensor(name) for name in ("slots", "owners", "filter_bits")}
    items = [(name, number) for name, number in told.pop("items")]
    return NgramIndex(**arrays, **told, items=items)


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


def readings(text: str) -> tuple[str, ...]:
    """The text, and if that differs the text without its marks."""
    bare = _MARKS.sub("", text)
    return (text,) if bare == text else (text, bare)


def ngram_hashes(text: str, ngram: int, scratch: Scratch) -> Hashes:
    """The values of the n-grams of a text, one for each word but the last n − 1."""
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    words = word_hashes(data, np.array([0, len(data)], np.int64), scratch).hashes
    if len(words) < ngram:
        return np.empty(0, np.uint64)
    value = np.zeros(len(words) - ngram + 1, np.uint64)
    for k in range(ngram):
        value = value * _PRIME + words[k : len(words) - ngram + 1 + k]
    return value


# The value of an n-gram is a polynomial in its words' hashes, which can be rolled; a slot holds it
# as it is, with 1 in place of 0.


@compiled
def _fill(
    keys: Hashes,
    owners: npt.NDArray[np.uint32],
    slots: Hashes,
    table: npt.NDArray[np.uint32],
    bits: npt.NDArray[np.uint8],
) -> None:
    mask, bit_mask = np.uint64(len(slots) - 1), np.uint64(8 * len(bits) - 1)
    for k in range(len(keys)):
        key = max(keys[k], np.uint64(1))
        spread = finish_hash(key)
        place = spread & mask
        while slots[place] != 0 and slots[place] != key:
            place = (place + np.uint64(1)) & mask
        if slots[place] == 0:
            slots[place] = key
            table[place] = owners[k]
        bit = (key * _PRIME >> np.uint64(20)) & bit_mask
        bits[bit >> np.uint64(3)] |= np.uint8(1) << np.uint8(bit & np.uint64(7))


@compiled
def _find(key: np.uint64, slots: Hashes) -> np.int64:
    mask = np.uint64(len(slots) - 1)
    place = finish_hash(key) & mask
    while slots[place] != 0:
        if slots[place] == key:
            return np.int64(place)
        place = (place + np.uint64(1)) & mask
    return np.int64(-1)


@compiled
def _count_hits(
    words: Hashes,
    offsets: Offsets,
    ngram: int,
    slots: Hashes,
    bits: npt.NDArray[np.uint8],
) -> npt.NDArray[np.int64]:
    """How many n-grams of each document are in the table."""
    counts = np.zeros(len(offsets) - 1, np.int64)
    bit_mask = np.uint64(8 * len(bits) - 1)
    highest = np.uint64(1)
    for _ in range(ngram):
        highest *= _PRIME
    for document in range(len(offsets) - 1):
        first, last = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        if last - first < np.uint64(ngram):
            continue
        value = np.uint64(0)
        for at in range(first, last):
            value = value * _PRIME + words[at]
            if at >= first + np.uint64(ngram):
                value -= words[at - np.uint64(ngram)] * highest
            if at + np.uint64(1) >= first + np.uint64(ngram):
                key = max(value, np.uint64(1))
                bit = (key * _PRIME >> np.uint64(20)) & bit_mask
                if bits[bit >> np.uint64(3)] >> np.uint8(bit & np.uint64(7)) & np.uint8(1):
                    counts[document] += _find(key, slots) >= 0
    return counts


@compiled
def _mark(
    words: Hashes,
    offsets: Offsets,
    ngram: int,
    slots: Hashes,
    bits: npt.NDArray[np.uint8],
    found: npt.NDArray[np.bool_],
) -> None:
    """As `_count_hits`, but which, not how many."""
    bit_mask = np.uint64(8 * len(bits) - 1)
    highest = np.uint64(1)
    for _ in range(ngram):
        highest *= _PRIME
    for document in range(len(offsets) - 1):
        first, last = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        value = np.uint64(0)
        for at in range(first, last):
            value = value * _PRIME + words[at]
            if at >= first + np.uint64(ngram):
                value -= words[at - np.uint64(ngram)] * highest
            if at + np.uint64(1) >= first + np.uint64(ngram):
                key = max(value, np.uint64(1))
                bit = (key * _PRIME >> np.uint64(20)) & bit_mask
                if bits[bit >> np.uint64(3)] >> np.uint8(bit & np.uint64(7)) & np.uint8(1):
                    place = _find(key, slots)
                    if place >= 0:
                        found[place] = True


@compiled
def _find_each(keys: Hashes, slots: Hashes) -> npt.NDArray[np.int64]:
    places = np.empty(len(keys), np.int64)
    for k in range(len(keys)):
        places[k] = _find(max(keys[k], np.uint64(1)), slots)
    return places


@compiled
def _owners_of(
    words: Hashes,
    ngram: int,
    slots: Hashes,
    owners: npt.NDArray[np.uint32],
    found: npt.NDArray[np.int64],
) -> int:
    """Owners and numbers of the n-grams of one document, as many as `found` has room for."""
    num_owners = 0
    for at in range(len(words) - ngram + 1):
        value = np.uint64(0)
        for k in range(ngram):
            value = value * _PRIME + words[at + k]
        place = _find(max(value, np.uint64(1)), slots)
        if place < 0:
            continue
        owner = np.int64(owners[place])
        k = 0
        while k < num_owners and found[k, 0] != owner:
            k += 1
        if k < num_owners:
            found[k, 1] += 1
        elif num_owners < len(found):
            found[k, 0], found[k, 1] = owner, 1
            num_owners += 1
    return num_owners
