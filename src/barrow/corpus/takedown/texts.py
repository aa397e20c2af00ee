"""Texts to remove wherever they occur, stored as hashes only.

A text is kept as the hashes of its n-grams, n being 13 words, or all of them where it has fewer.
They are compared as `barrow.corpus.kernels.word_runs` does, as in decontamination. A document
contains a text if it has at least a `share` of the text's different n-grams; with a share of 1, all
of them.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from barrow.corpus.build.decontaminate import NGRAM
from barrow.corpus.input.unpack import BadArchive, open_unpacked
from barrow.corpus.kernels.word_hashes import Offsets
from barrow.corpus.kernels.word_runs import (
    KEY,
    Runs,
    find_runs,
    num_words,
    places_of,
    run_table,
    runs_of,
    with_places,
)
from barrow.errors import ConfigError, NotFound

# Hashed when a list is written and read: another word hash would silently match nothing.
_PROBE = "The quick brown fox — déjà vu, Straße; 你好, 13 words in a row?"


@dataclass(frozen=True)
class TextRule:
    """One text: `ngrams` are the rows of its runs, numbers of 8 bytes, in base64."""

    ngram: int
    share: float
    ngrams: str

    @classmethod
    def of(cls, text: str, *, share: float = 1.0) -> TextRule:
        """The rule for a text."""
        if not 0 < share <= 1:
            raise ConfigError(f"share must be > 0 and ≤ 1, got {share}")
        ngram = min(NGRAM, num_words(text))
        if not ngram:
            raise ConfigError("the text has no words to look for")
        runs, _ = runs_of([text], ngram, whole_words=True)
        # Equal runs count once: their index is the rank of their first row's key.
        places, first = np.unique(places_of(runs), return_index=True)
        _, ranks = np.unique(runs[first, KEY], return_inverse=True)
        runs = np.unique(with_places(runs, ranks[np.searchsorted(places, places_of(runs))]), axis=0)
        return cls(ngram, share, base64.b64encode(runs.astype("<u8").tobytes()).decode())

    def runs(self) -> Runs:
        """The rows of its runs."""
        return np.frombuffer(base64.b64decode(self.ngrams), "<u8").astype(np.uint64).reshape(-1, 3)


class TextMatcher:
    """Finds documents that contain one of some texts."""

    def __init__(self, rules: Sequence[TextRule]) -> None:
        texts = [rule.runs() for rule in rules]
        runs = np.concatenate([np.empty((0, 3), np.uint64), *texts])
        self._table, found = run_table(runs)
        # The texts of each run of the table: several may share one.
        order = np.argsort(found, kind="stable")
        self._runs = found[order]
        self._of = np.repeat(np.arange(len(texts)), [len(text) for text in texts])[order]
        self._place = places_of(runs)[order]
        num_places = np.array([places_of(text).max(initial=-1) + 1 for text in texts])
        shares = np.array([rule.share for rule in rules])
        self._needed = np.maximum(1, np.ceil(shares * num_places - 1e-9))

    def contains(
        self, text: npt.NDArray[np.uint8], offsets: Offsets, *, any_ngram: bool = False
    ) -> npt.NDArray[np.bool_]:
        """Which documents contain a text, or with `any_ngram` at least one n-gram of it."""
        found = np.zeros(len(offsets) - 1, np.bool_)
        hits = find_runs(text, offsets, self._table)
        if any_ngram:
            found[hits.document] = True
            return found
        for number in np.unique(hits.document).tolist():
            runs = np.unique(hits.run[hits.document == number])
            first = np.searchsorted(self._runs, runs, side="left")
            sizes = np.searchsorted(self._runs, runs, side="right") - first
            within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            rows = np.repeat(first, sizes) + within
            places = np.unique(np.stack([self._of[rows], self._place[rows]], axis=1), axis=0)
            counts = np.bincount(places[:, 0], minlength=len(self._needed))
            found[number] = bool((counts >= self._needed).any())
        return found


def words_scheme() -> str:
    """The name of the word hash: it changes when the hash does."""
    runs, _ = runs_of([_PROBE], NGRAM)
    return hashlib.sha256(runs.astype("<u8").tobytes()).hexdigest()[:16]


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
        if not num_words(text):
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
