"""Texts that are to be removed wherever they stand, remembered without a word of them.

A text is kept as the hashes of its n-grams, n being 13 words, or all of them where it has fewer.
Words are those of `barrow.corpus.word_hashes`: wrapping, case, punctuation and accents make no
difference. A document contains a text if it has at least a `share` of the text's different
n-grams; with a share of 1 that is the whole of it.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from barrow.corpus.decontaminate import NGRAM, readings
from barrow.corpus.scratch import Scratch
from barrow.corpus.unpack import BadArchive, open_unpacked
from barrow.corpus.word_hashes import Hashes, Words, word_hashes
from barrow.errors import ConfigError, NotFound

_PRIME = np.uint64(0x9E3779B97F4A7C15)
# Hashed whenever a list is made and read: another hash of words would match nothing, silently.
_PROBE = "The quick brown fox — déjà vu, Straße; 你好, 13 words in a row?"


@dataclass(frozen=True)
class TextRule:
    """One text: `ngrams` are the different hashes, ascending, 8 bytes each, in base64."""

    ngram: int
    share: float
    ngrams: str

    @classmethod
    def of(cls, text: str, *, share: float = 1.0) -> tuple[TextRule, ...]:
        """A rule for a text as it stands, and if that differs for it without its marks."""
        if not 0 < share <= 1:
            raise ConfigError(f"share is more than 0 and at most 1, unlike {share}")
        rules = []
        for reading in readings(text):
            words = _words_of(reading)
            if len(words):
                ngram = min(NGRAM, len(words))
                hashes = np.unique(ngram_hashes(words, ngram)).astype("<u8")
                rules.append(cls(ngram, share, base64.b64encode(hashes.tobytes()).decode()))
        return tuple(dict.fromkeys(rules))

    def hashes(self) -> Hashes:
        """The n-grams' hashes."""
        return np.frombuffer(base64.b64decode(self.ngrams), "<u8").astype(np.uint64)


class TextMatcher:
    """Finds documents that contain one of some texts."""

    def __init__(self, rules: Sequence[TextRule]) -> None:
        by_size: dict[int, list[TextRule]] = defaultdict(list)
        for rule in rules:
            by_size[rule.ngram].append(rule)
        self._tables = [_Table.of_rules(ngram, theirs) for ngram, theirs in sorted(by_size.items())]

    def contains(self, words: Words, *, any_ngram: bool = False) -> npt.NDArray[np.bool_]:
        """Which documents contain a text; with `any_ngram`, or as little as one n-gram of it."""
        found = np.zeros(len(words.offsets) - 1, np.bool_)
        for table in self._tables:
            hashes = ngram_hashes(words.hashes, table.ngram)
            at = np.flatnonzero(table.has(hashes))
            document = np.searchsorted(words.offsets, at, side="right") - 1
            inside = at + table.ngram <= words.offsets[document + 1]
            at, document = at[inside], document[inside]
            if any_ngram:
                found[document] = True
                continue
            for number in np.unique(document).tolist():
                if not found[number]:
                    found[number] = table.enough(np.unique(hashes[at[document == number]]))
        return found


@dataclass(frozen=True)
class _Table:
    """All n-grams of one size: `keys` ascending, the text each is `of`, and how many a text needs.

    An n-gram that several texts have stands there once for each.
    """

    ngram: int
    keys: Hashes
    of: npt.NDArray[np.int64]
    needed: npt.NDArray[np.int64]

    @classmethod
    def of_texts(cls, ngram: int, texts: Sequence[tuple[Hashes, float]]) -> _Table:
        keys = np.concatenate([hashes for hashes, _ in texts])
        of = np.repeat(np.arange(len(texts)), [len(hashes) for hashes, _ in texts])
        order = np.argsort(keys, kind="stable")
        needed = [int(np.ceil(share * len(hashes) - 1e-9)) for hashes, share in texts]
        return cls(ngram, keys[order], of[order], np.maximum(1, np.array(needed)))

    @classmethod
    def of_rules(cls, ngram: int, rules: Sequence[TextRule]) -> _Table:
        return cls.of_texts(ngram, [(rule.hashes(), rule.share) for rule in rules])

    def has(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        at = np.minimum(np.searchsorted(self.keys, hashes), len(self.keys) - 1)
        present: npt.NDArray[np.bool_] = self.keys[at] == hashes
        return present

    def enough(self, hashes: Hashes) -> bool:
        """Whether different n-grams, all of them in the table, are enough for one of its texts."""
        first = np.searchsorted(self.keys, hashes, side="left")
        last = np.searchsorted(self.keys, hashes, side="right")
        sizes = last - first
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        counts = np.bincount(self.of[np.repeat(first, sizes) + within], minlength=len(self.needed))
        return bool((counts >= self.needed).any())


def ngram_hashes(words: Hashes, ngram: int) -> Hashes:
    """A hash for every place where `ngram` words in a row begin."""
    size = max(0, len(words) - ngram + 1)
    value = np.zeros(size, np.uint64)
    for k in range(ngram):
        value *= _PRIME
        value += words[k : k + size]
    return value


def words_scheme() -> str:
    """Names the way words are hashed: it changes whenever that does."""
    return f"{int(ngram_hashes(_words_of(_PROBE), NGRAM)[0]):016x}"


def read_texts(path: Path) -> list[str]:
    """The texts of a file: of JSON lines one for each line, of any other file all of it.

    A line is a string, or an object whose `text` is one. The file may be compressed.
    """
    if not path.is_file():
        raise NotFound(f"{path}: no such file of texts")
    try:
        with open_unpacked(path) as file:
            if any(part in (".jsonl", ".ndjson", ".json") for part in path.suffixes[-2:]):
                texts = list(_lines(path, file))
            else:
                texts = [file.read().decode("utf-8")]
    except BadArchive as error:
        raise ConfigError(f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start:,}") from None
    for number, text in enumerate(texts):
        if not len(_words_of(text)):
            raise ConfigError(f"{path}: text {number + 1} has no words to look for")
    if not texts:
        raise ConfigError(f"{path}: no texts in it")
    return texts


def _lines(path: Path, lines: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line)
        except msgspec.DecodeError as error:
            raise ConfigError(f"{path}, line {number + 1}: {error}") from None
        text = value.get("text") if isinstance(value, dict) else value
        if not isinstance(text, str):
            raise ConfigError(
                f"{path}, line {number + 1}: expected a string, or an object with a text"
            )
        yield text


def _words_of(text: str) -> Hashes:
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    return word_hashes(data, np.array([0, len(data)], np.int64), Scratch()).hashes
