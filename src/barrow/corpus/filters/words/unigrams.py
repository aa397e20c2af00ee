"""How common the words of a text are: their mean log-probability under a table of counts.

A word is as for near-duplicates: a run of letters and digits, whatever its case and accents; in
scripts without blanks, every character is one.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import barrow.archive
from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Hashes, Offsets, word_hashes
from barrow.corpus.kernels.word_spans import word_spans
from barrow.errors import ConfigError, NotFound
from barrow.files import Version, version_of, write_bytes

_LINE = re.compile(r"(.+)[\t,]\s*(\d+)")


@dataclass(frozen=True)
class Unigrams(Filter):
    """Keeps texts whose words are common: by their mean log-probability under a table of counts.

    Logarithms are natural. A text without words has the mean 0.

    - `table`: a file, ``word<tab>count`` or ``word,count``; ``barrow corpus unigrams`` makes one
    - `min_mean`, `max_mean`: texts below or above are rejected; null: no limit
    - `unseen`: the probability of a word that is not in the table
    - `sha256`: that of the table, set by the build: equal settings mean equal decisions
    """

    table: Path
    min_mean: float = -10.0
    max_mean: float | None = None
    unseen: float = 1e-9
    sha256: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.unseen < 1:
            raise ConfigError(f"unseen must be > 0 and < 1, got {self.unseen}")
        if self.max_mean is not None and not self.max_mean >= self.min_mean:
            raise ConfigError(f"max_mean must be ≥ min_mean {self.min_mean}, got {self.max_mean}")

    def resolved(self) -> Unigrams:
        """The same with the file's `sha256`, for the key of a task; a wrong one is an error."""
        return replace(self, sha256=self._table().sha256)

    @property
    def reasons(self) -> tuple[str, ...]:
        return ("uncommon-words", "common-words")

    def means(self, texts: Texts) -> npt.NDArray[np.float64]:
        """The mean log-probability of the words of each text."""
        table, words = self._table(), texts.words
        sums = np.zeros(len(texts), np.float64)
        unseen = float(np.log(self.unseen))
        _sum(words.hashes, words.offsets, table.slots, table.logs, unseen, sums)
        return sums / np.maximum(np.diff(words.offsets), 1)

    def decide(self, texts: Texts) -> Decisions:
        """Keep, or a reason, for each text; the value is the mean."""
        means = self.means(texts)
        decisions = Decisions.keep_all(len(texts))
        decisions.reject(1, means < self.min_mean, means)
        if self.max_mean is not None:
            decisions.reject(2, means > self.max_mean, means)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        if reason == "common-words":
            return f"mean log-probability {value:.2f}, more than {self.max_mean}"
        return f"mean log-probability {value:.2f}, less than {self.min_mean}"

    def _table(self) -> _Table:
        if not self.table.is_file():
            raise NotFound(f"{self.table} is not a file; expected a table of words and counts")
        table = _read(self.table, version_of(self.table))
        if self.sha256 not in (None, table.sha256):
            raise ConfigError(
                f"{self.table} has changed: expected sha256 {self.sha256}, got {table.sha256}"
            )
        return table


def count_unigrams(corpus: str | PathLike[str], out: Path, *, min_count: int = 1) -> int:
    """Write the words of an archive that occur `min_count` times, with their counts.

    The most frequent come first; a word is in lower case, with the accents of its first
    occurrence. Returns how many there are.
    """
    if min_count < 1:
        raise ConfigError(f"min_count must be ≥ 1, got {min_count}")
    scratch = Scratch()
    counts: dict[int, int] = {}
    names: dict[int, str] = {}
    for block in barrow.archive.open(corpus).blocks():
        words = word_hashes(block.text, block.offsets, scratch)
        spans = word_spans(block.text, block.offsets, scratch)
        found, first, number = np.unique(words.hashes, return_index=True, return_counts=True)
        for value, at, times in zip(found.tolist(), first.tolist(), number.tolist(), strict=True):
            if value not in counts:
                span = block.text[spans.starts[at] : spans.ends[at]]
                names[value] = span.tobytes().decode().lower()
            counts[value] = counts.get(value, 0) + times
    rows = sorted((-n, names[value]) for value, n in counts.items() if n >= min_count)
    write_bytes(out, "".join(f"{name}\t{-n}\n" for n, name in rows).encode())
    return len(rows)


class _Table(NamedTuple):
    """Hashes of words in an open-addressing table (0 is empty), and their log-probabilities."""

    slots: Hashes
    logs: npt.NDArray[np.float64]
    sha256: str


@lru_cache(maxsize=4)
def _read(path: Path, version: Version) -> _Table:
    """A table; read again only when the file has changed."""
    del version
    data = path.read_bytes()
    names, numbers = [], []
    for k, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            names.append(match[1])
            numbers.append(int(match[2]))
        elif line.strip() and k > 1:  # the first may be a header
            raise ConfigError(f"{path}, line {k}: expected a word and its count, got {line!r}")
    texts = Texts.of_strings(names, [], Scratch())
    # What has several words here (don't) counts for each of them.
    each = np.repeat(np.array(numbers, np.float64), np.diff(texts.words.offsets))
    hashes, place = np.unique(texts.words.hashes, return_inverse=True)
    counts = np.bincount(place, each, len(hashes))
    hashes, counts = hashes[counts > 0], counts[counts > 0]
    if not len(hashes):
        raise ConfigError(f"{path} has no words; expected lines such as 'the<tab>23135851162'")
    num_slots = 2 << len(hashes).bit_length()
    slots, logs = np.zeros(num_slots, np.uint64), np.zeros(num_slots, np.float64)
    _fill(hashes, np.log(counts / counts.sum()), slots, logs)
    return _Table(slots, logs, hashlib.sha256(data).hexdigest())


@compiled
def _place(word: np.uint64, slots: Hashes) -> np.uint64:
    mask = np.uint64(len(slots) - 1)
    at = word & mask
    while slots[at] != 0 and slots[at] != word:
        at = (at + np.uint64(1)) & mask
    return at


@compiled
def _fill(
    words: Hashes, values: npt.NDArray[np.float64], slots: Hashes, logs: npt.NDArray[np.float64]
) -> None:
    for k in range(len(words)):
        at = _place(words[k], slots)
        slots[at], logs[at] = words[k], values[k]


@compiled
def _sum(
    words: Hashes,
    offsets: Offsets,
    slots: Hashes,
    logs: npt.NDArray[np.float64],
    unseen: float,
    sums: npt.NDArray[np.float64],
) -> None:
    for document in range(len(offsets) - 1):
        total = 0.0
        for k in range(offsets[document], offsets[document + 1]):
            at = _place(words[k], slots)
            total += logs[at] if slots[at] != 0 else unseen
        sums[document] = total
