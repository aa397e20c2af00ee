"""Compressed fastText classifiers (.ftz): read, and applied to texts in one buffer.

Only what language identification uses is here: supervised models with a product-quantised input
matrix, character n-grams and hierarchical softmax. The answers are those of fastText itself.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled
from barrow.errors import ConfigError

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

_MAGIC, _VERSION = 793712314, 12
_SUPERVISED, _HIERARCHICAL_SOFTMAX = 3, 1
_ARGUMENTS = ("dim", "ws", "epoch", "min_count", "neg", "word_ngrams", "loss", "model", "bucket",
              "minn", "maxn", "lr_update_rate")  # fmt: skip
_LABEL = b"__label__"
_END_OF_LINE = b"</s>"
_NO_ROW = 0xFFFF

_FNV_START, _FNV_PRIME = np.uint32(2166136261), np.uint32(16777619)
_LOG_FLOOR = 1e-5  # fastText adds it before it takes a logarithm


@dataclass(frozen=True, eq=False)
class FastTextModel:
    """A classifier.

    The vector of known word i is ``rows[i]``; `words` are their bytes, found by hash through
    `word_slots` (places in `rows`, -1 is empty). The vector of an n-gram of `min_ngram` to
    `max_ngram` characters is ``rows[ngram_rows[hash % len(ngram_rows)]]``, if there is one. Inner
    node i of the tree over the labels has the vector ``nodes[i]`` and the two children
    ``children[i]``; a child below ``len(labels)`` is a label.
    """

    labels: tuple[str, ...]
    rows: Floats
    words: Bytes
    word_offsets: Offsets
    word_slots: npt.NDArray[np.int32]
    ngram_rows: npt.NDArray[np.uint16]
    min_ngram: int
    max_ngram: int
    end_of_line: int
    nodes: Floats
    children: npt.NDArray[np.int32]


def read_fasttext(path: Path) -> FastTextModel:
    """A compressed fastText classifier from its file."""
    try:
        return _read(_Fields(path.read_bytes()))
    except (struct.error, ValueError) as error:
        raise ConfigError(f"{path} is not a compressed fastText classifier: {error}") from None


def predict(
    model: FastTextModel, text: Bytes, offsets: Offsets
) -> tuple[npt.NDArray[np.int32], Floats]:
    """The likeliest label of each text and its probability; -1 for a text without any feature.

    As in fastText, words are separated by ASCII white space, and a text ends with a newline.
    But newlines and ``</s>`` within it do not end it.
    """
    num_texts = len(offsets) - 1
    labels, scores = np.empty(num_texts, np.int32), np.empty(num_texts, np.float32)
    _predict(
        text,
        offsets,
        model.rows,
        model.words,
        model.word_offsets,
        model.word_slots,
        model.ngram_rows,
        model.min_ngram,
        model.max_ngram,
        model.end_of_line,
        model.nodes,
        model.children,
        labels,
        scores,
    )
    return labels, scores


class _Fields:
    """Values one after the other, as in a file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self._data, self._at)
        self._at += struct.calcsize("<" + form)
        return values

    def array(self, size: int, dtype: str) -> npt.NDArray[Any]:
        values = np.frombuffer(self._data, dtype, size, self._at)
        self._at += values.nbytes
        return values

    def word(self) -> bytes:
        end = self._data.index(b"\0", self._at)
        word = self._data[self._at : end]
        self._at = end + 1
        return word


def _read(fields: _Fields) -> FastTextModel:
    magic, version = fields.take("ii")
    if (magic, version) != (_MAGIC, _VERSION):
        raise ValueError(f"it begins with {magic}, {version}")
    settings = dict(zip(_ARGUMENTS, fields.take("12i"), strict=True))
    fields.take("d")
    if (settings["model"], settings["loss"]) != (_SUPERVISED, _HIERARCHICAL_SOFTMAX):
        raise ValueError("it is not a classifier with hierarchical softmax")
    num_entries, num_words, num_labels, _, num_kept = fields.take("iiiqq")
    entries = [(fields.word(), *fields.take("qb")) for _ in range(num_entries)]
    words = [word for word, _, kind in entries if kind == 0]
    labels = [(word, count) for word, count, kind in entries if kind == 1]
    if (len(words), len(labels)) != (num_words, num_labels):
        raise ValueError("its dictionary is not in order")
    kept = fields.array(2 * max(0, num_kept), "<i4").reshape(-1, 2)
    if not fields.take("?")[0] or settings["word_ngrams"] != 1:
        raise ValueError("it is not quantised, or has word n-grams")
    rows = _read_quantised(fields)
    if fields.take("?")[0]:
        raise ValueError("its output is quantised")
    num_nodes, dim = fields.take("qq")
    nodes = fields.array(num_nodes * dim, "<f4").reshape(num_nodes, dim)
    ngram_rows = np.full(settings["bucket"], _NO_ROW, np.uint16)
    if len(rows) >= _NO_ROW or not len(kept):
        raise ValueError("its n-grams are not pruned")
    ngram_rows[kept[:, 0]] = num_words + kept[:, 1]
    word_offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return FastTextModel(
        labels=tuple(word.removeprefix(_LABEL).decode() for word, _ in labels),
        rows=rows,
        words=np.frombuffer(b"".join(words), np.uint8),
        word_offsets=word_offsets,
        word_slots=_word_slots(words),
        ngram_rows=ngram_rows,
        min_ngram=settings["minn"],
        max_ngram=settings["maxn"],
        end_of_line=words.index(_END_OF_LINE),
        nodes=nodes[: num_labels - 1].copy(),
        children=_label_tree([count for _, count in labels]),
    )


def _read_quantised(fields: _Fields) -> Floats:
    """The rows of a product-quantised matrix, norms multiplied in."""
    has_norms, num_rows, dim, num_codes = fields.take("?qqi")
    codes = fields.array(num_codes, "u1").reshape(num_rows, -1)
    rows = _decode(fields, codes, dim)
    if has_norms:
        norm_codes = fields.array(num_rows, "u1").reshape(num_rows, 1)
        rows *= _decode(fields, norm_codes, 1)
    return rows


def _decode(fields: _Fields, codes: Bytes, dim: int) -> Floats:
    stored_dim, num_parts, size, last_size = fields.take("iiii")
    if (stored_dim, num_parts, last_size) != (dim, codes.shape[1], size):
        raise ValueError("its quantiser does not fit its matrix")
    centroids = fields.array(dim * 256, "<f4").reshape(num_parts, 256, size)
    return np.concatenate([centroids[k][codes[:, k]] for k in range(num_parts)], axis=1)


def _word_slots(words: list[bytes]) -> npt.NDArray[np.int32]:
    slots = np.full(1 << (4 * len(words)).bit_length(), -1, np.int32)
    for i, word in enumerate(words):
        at = _fnv(word) % len(slots)
        while slots[at] >= 0:
            at = (at + 1) % len(slots)
        slots[at] = i
    return slots


def _fnv(word: bytes) -> int:
    """FNV-1a as in fastText, which takes bytes as signed."""
    value = int(_FNV_START)
    for byte in word:
        value ^= byte if byte < 128 else byte | 0xFFFFFF00
        value = value * int(_FNV_PRIME) & 0xFFFFFFFF
    return value


def _label_tree(counts: list[int]) -> npt.NDArray[np.int32]:
    """Huffman's tree over labels that are sorted by falling count; the root is the last node."""
    num_labels = len(counts)
    weights = [*counts, *[10**15] * (num_labels - 1)]
    children = np.empty((num_labels - 1, 2), np.int32)
    leaf, node = num_labels - 1, num_labels
    for i in range(num_labels - 1):
        for side in range(2):
            if leaf >= 0 and weights[leaf] < weights[node]:
                children[i, side] = leaf
                leaf -= 1
            else:
                children[i, side] = node
                node += 1
        weights[num_labels + i] = weights[children[i, 0]] + weights[children[i, 1]]
    return children


@compiled
def _is_gap(byte: np.uint8) -> bool:
    return bool(byte == 32 or 9 <= byte <= 13 or byte == 0)


@compiled
def _next_hash(value: np.uint32, byte: np.uint8) -> np.uint32:
    return np.uint32((value ^ np.uint32(np.int8(byte))) * _FNV_PRIME)


@compiled
def _predict(
    text: Bytes,
    offsets: Offsets,
    rows: Floats,
    words: Bytes,
    word_offsets: Offsets,
    word_slots: npt.NDArray[np.int32],
    ngram_rows: npt.NDArray[np.uint16],
    min_ngram: int,
    max_ngram: int,
    end_of_line: int,
    nodes: Floats,
    children: npt.NDArray[np.int32],
    labels: npt.NDArray[np.int32],
    scores: Floats,
) -> None:
    dim = rows.shape[1]
    num_labels = len(children) + 1
    hidden = np.empty(dim, np.float32)
    reach = np.empty(2 * num_labels - 1, np.float32)
    one = np.uint64(1)
    for document in range(len(offsets) - 1):
        hidden[:] = 0
        num_features = 0
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        while at < end:
            if _is_gap(text[at]):
                at += one
                continue
            start = at
            value = _FNV_START
            while at < end and not _is_gap(text[at]):
                value = _next_hash(value, text[at])
                at += one
            num_features += _add_word(
                text, start, at, value, rows, words, word_offsets, word_slots, hidden
            )
            num_features += _add_ngrams(
                text, start, at, rows, ngram_rows, min_ngram, max_ngram, hidden
            )
        if num_features == 0:
            labels[document], scores[document] = -1, 0.0
            continue
        hidden += rows[end_of_line]
        hidden /= np.float32(num_features + 1)
        # The likelier side at every node gives a label that others have to beat, so most nodes need
        # no evaluation.
        reach[:] = 0.0
        root = 2 * num_labels - 2
        best, best_reach = root, np.float32(1.0)
        while best >= num_labels:
            right = _right_share(nodes, best - num_labels, hidden)
            side = 1 if right > 0.5 else 0
            best = children[best - num_labels, side]
            best_reach *= np.float32(max(right, np.float32(1.0) - right) + _LOG_FLOOR)
        reach[root] = 1.0
        for node in range(num_labels - 2, -1, -1):
            here = reach[num_labels + node]
            if here < best_reach:
                continue
            right = _right_share(nodes, node, hidden)
            for side in range(2):
                child = children[node, side]
                share = right if side == 1 else np.float32(1.0) - right
                reach[child] = here * np.float32(share + _LOG_FLOOR)
                if child < num_labels and reach[child] > best_reach:
                    best, best_reach = child, reach[child]
        labels[document], scores[document] = best, best_reach


@compiled
def _right_share(nodes: Floats, node: int, hidden: Floats) -> np.float32:
    """The probability of the second child of a node."""
    total = np.float32(0.0)
    for k in range(len(hidden)):
        total += nodes[node, k] * hidden[k]
    return np.float32(1.0 / (1.0 + np.exp(-total)))


@compiled
def _add_word(
    text: Bytes,
    start: np.uint64,
    end: np.uint64,
    value: np.uint32,
    rows: Floats,
    words: Bytes,
    word_offsets: Offsets,
    word_slots: npt.NDArray[np.int32],
    hidden: Floats,
) -> int:
    """Add the vector of a word, if it has one; how many were added."""
    mask = np.uint64(len(word_slots) - 1)
    slot = np.uint64(value) & mask
    size = end - start
    while word_slots[slot] >= 0:
        row = np.uint64(word_slots[slot])
        first = np.uint64(word_offsets[row])
        if np.uint64(word_offsets[row + np.uint64(1)]) - first == size:
            k = np.uint64(0)
            while k < size and words[first + k] == text[start + k]:
                k += np.uint64(1)
            if k == size:
                for d in range(len(hidden)):
                    hidden[d] += rows[row, np.uint64(d)]
                return 1
        slot = (slot + np.uint64(1)) & mask
    return 0


@compiled
def _add_ngrams(
    text: Bytes,
    start: np.uint64,
    end: np.uint64,
    rows: Floats,
    ngram_rows: npt.NDArray[np.uint16],
    min_ngram: int,
    max_ngram: int,
    hidden: Floats,
) -> int:
    """Add the vectors of the n-grams of a word between ``<`` and ``>``; how many were added."""
    one = np.uint64(1)
    num_added = 0
    # Places are counted from the mark before the word.
    last = end - start + one
    at = np.uint64(0)
    while at <= last:
        value = _FNV_START
        upto = at
        for size in range(1, max_ngram + 1):
            if upto > last:
                break
            while True:
                byte = np.uint8(60) if upto == 0 else np.uint8(62)
                if upto > 0 and upto < last:
                    byte = text[start + upto - one]
                value = _next_hash(value, byte)
                upto += one
                if upto >= last or text[start + upto - one] & 0xC0 != 0x80:
                    break
            if size >= min_ngram:
                row = ngram_rows[value % np.uint32(len(ngram_rows))]
                if row != _NO_ROW:
                    for d in range(len(hidden)):
                        hidden[d] += rows[np.uint64(row), np.uint64(d)]
                    num_added += 1
        at += one
        while at < last and text[start + at - one] & 0xC0 == 0x80:
            at += one
    return num_added
