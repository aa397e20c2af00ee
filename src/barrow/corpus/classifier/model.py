"""A linear classifier over hashed words and word pairs of a part of each text.

The features of a text are its words (`barrow.corpus.kernels.word_hashes`) and its pairs
of neighbouring words, each an index into one table of weights. The score is the logistic function
of the bias plus the sum of the weights over the square root of the number of features.

It reads the same part as The Pile's Common Crawl filter: the last 1,500 of the first 4,000
characters, so characters 2,500 to 4,000 of a long text. Line ends are spaces there; here they are
not part of words.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow import config
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import (
    Hashes,
    Offsets,
    eight_byte_view,
    finish_hash,
    word_hashes,
)
from barrow.errors import ConfigError, MissingExtra
from barrow.files import Version, sha256_of, version_of, write_bytes

_METADATA_KEY = "barrow.classifier"
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_LOWEST = np.uint64(0x0101010101010101)


@dataclass(frozen=True)
class ClassifierSettings:
    """The part of a text that is read: the last `last_characters` of the first `first_characters`.

    Texts of at most `min_characters` are not scored. There are 2 ** `table_bits` weights.
    """

    table_bits: int = 20
    first_characters: int = 4000
    last_characters: int = 1500
    min_characters: int = 100

    def __post_init__(self) -> None:
        if not 8 <= self.table_bits <= 28:
            raise ConfigError(f"table_bits must be from 8 to 28, got {self.table_bits}")
        if min(self.first_characters, self.last_characters) < 1 or self.min_characters < 0:
            raise ConfigError("first_characters, last_characters must be ≥ 1, min_characters ≥ 0")


@dataclass(frozen=True, eq=False)
class Classifier:
    """A trained classifier; `sha256` is that of its file."""

    settings: ClassifierSettings
    weights: npt.NDArray[np.float32]
    bias: float
    sha256: str

    def scores(self, texts: Texts) -> npt.NDArray[np.float32]:
        """The similarity of each text to the positives, from 0 to 1; 0 if it is too short."""
        words = looked_at(texts, self.settings)
        scores = np.empty(len(texts), np.float32)
        _score(words.hashes, words.offsets, words.enough, self.weights, self.bias, scores)
        return scores


class LookedAt(NamedTuple):
    """The words of text i are ``hashes[offsets[i]:offsets[i + 1]]``, if there was `enough` text."""

    hashes: Hashes
    offsets: Offsets
    enough: npt.NDArray[np.bool_]


def looked_at(texts: Texts, settings: ClassifierSettings) -> LookedAt:
    """The words of the part of each text that a classifier reads."""
    num_texts = len(texts)
    room = np.minimum(texts.sizes, 4 * settings.last_characters)
    cut = texts.scratch.take("classifier-text", int(room.sum()), np.uint8)
    offsets = np.zeros(num_texts + 1, np.int64)
    num_characters = np.empty(num_texts, np.int64)
    _cut(
        texts.text,
        eight_byte_view(texts.text),
        texts.offsets,
        settings.first_characters,
        settings.last_characters,
        cut,
        offsets,
        num_characters,
    )
    # Its own scratch: the shared one has the words of whole texts under the same name.
    words = word_hashes(cut, offsets, Scratch())
    return LookedAt(words.hashes, words.offsets, num_characters > settings.min_characters)


def save_classifier(
    path: Path, settings: ClassifierSettings, weights: npt.NDArray[np.float32], bias: float
) -> Classifier:
    """Write a classifier as safetensors; the same weights give the same file."""
    from safetensors.numpy import save

    tensors = {"weights": weights, "bias": np.array([bias], np.float32)}
    # One key: the order of several is not deterministic.
    data = save(tensors, {_METADATA_KEY: json.dumps(config.to_dict(settings))})
    write_bytes(path, data)
    return _classifier(data, path)


def load_classifier(path: Path) -> Classifier:
    """A classifier from its file; read again only when the file has changed."""
    return _load(path, version_of(path))


def classifier_sha256(path: Path) -> str:
    """The hash that identifies the classifier in the key of a task."""
    return sha256_of(path)


@lru_cache(maxsize=4)
def _load(path: Path, version: Version) -> Classifier:
    del version
    return _classifier(path.read_bytes(), path)


def _classifier(data: bytes, path: Path) -> Classifier:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
    except ImportError:
        raise MissingExtra("safetensors", "corpus", "a quality classifier") from None
    try:
        tensors = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        settings = config.from_json(ClassifierSettings, header["__metadata__"][_METADATA_KEY])
        weights, bias = tensors["weights"], tensors["bias"]
        if weights.shape != (1 << settings.table_bits,) or weights.dtype != np.float32:
            raise ValueError(f"weights of {weights.dtype} and shape {weights.shape}")
        if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
            raise ValueError("weights are not finite")
    except (SafetensorError, KeyError, ValueError) as error:
        raise ConfigError(
            f"{path} is not a classifier ({error}); train one with barrow corpus classifier train"
        ) from None
    return Classifier(settings, weights, float(bias[0]), hashlib.sha256(data).hexdigest())


@compiled
def pair_hash(first: np.uint64, second: np.uint64) -> np.uint64:
    """The hash of two words, one after the other."""
    return finish_hash(first * _PRIME + second)


@compiled
def _score(
    hashes: Hashes,
    offsets: Offsets,
    enough: npt.NDArray[np.bool_],
    weights: npt.NDArray[np.float32],
    bias: float,
    scores: npt.NDArray[np.float32],
) -> None:
    shift = np.uint64(64)
    size = len(weights)
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    for document in range(len(offsets) - 1):
        first, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        if not enough[document] or first == end:
            scores[document] = 0.0
            continue
        total = float(weights[hashes[first] >> shift])
        for i in range(first + np.uint64(1), end):
            at = np.uint64(i)
            total += weights[hashes[at] >> shift]
            total += weights[pair_hash(hashes[at - np.uint64(1)], hashes[at]) >> shift]
        num_features = 2.0 * (end - first) - 1.0
        scores[document] = 1.0 / (1.0 + np.exp(-(bias + total / np.sqrt(num_features))))


@compiled
def _cut(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    offsets: Offsets,
    first_characters: int,
    last_characters: int,
    cut: npt.NDArray[np.uint8],
    cut_offsets: Offsets,
    num_characters: npt.NDArray[np.int64],
) -> None:
    """Copy the last of the first characters of each text, and count the first ones."""
    one, eight = np.uint64(1), np.uint64(8)
    num_written = np.uint64(0)
    for document in range(len(offsets) - 1):
        start, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        at, count = start, np.int64(0)
        # Eight bytes at a time: a character begins where a byte is not 10xxxxxx.
        while count + 8 <= first_characters and at + eight <= end:
            chunk = eights[at]
            inside = (chunk >> np.uint64(7)) & ~(chunk >> np.uint64(6)) & _LOWEST
            count += np.int64(8) - np.int64(inside * _LOWEST >> np.uint64(56))
            at += eight
        while at < end:
            begins = text[at] & 0xC0 != 0x80
            if begins and count == first_characters:
                break
            count += begins
            at += one
        num_characters[document] = count
        stop = at
        remaining = last_characters
        while at > start and remaining > 0:
            at -= one
            remaining -= text[at] & 0xC0 != 0x80
        for i in range(at, stop):
            cut[num_written] = text[np.uint64(i)]
            num_written += one
        cut_offsets[document + 1] = num_written
