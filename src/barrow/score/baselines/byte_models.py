"""Models of bytes: uniform, by frequency, or by the bytes before them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.score.baselines.kneser_ney import ngram_tables, text_nats
from barrow.score.baselines.ngram_counts import NgramCounts
from barrow.score.models.model import Model, ModelInfo, TextScore

BYTE_NATS = 8 * math.log(2)


class Uniform(Model):
    """8 bits for every byte."""

    def __init__(self) -> None:
        self.info = ModelInfo("uniform", "baseline", _identity("uniform"), num_params=0)

    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        """The scores of documents, in order."""
        return [
            TextScore(len(text) * BYTE_NATS, len(text), np.full(len(text), BYTE_NATS))
            for text in texts
        ]


class Unigram(Model):
    """Each byte by its frequency in the training text, with ½ added to every count.

    p(b) = (n_b + ½) / (n + 128), the estimate of Krichevsky and Trofimov.
    """

    def __init__(
        self, counts: npt.NDArray[np.int64], *, about: Mapping[str, Any] | None = None
    ) -> None:
        if counts.shape != (256,) or counts.min() < 0:
            raise ValueError(f"expected 256 counts ≥ 0, got shape {counts.shape}")
        total = int(counts.sum())
        self._nats = math.log(total + 128) - np.log(counts + 0.5)
        self.info = ModelInfo(
            "unigram",
            "baseline",
            _identity("unigram", counts),
            num_params=256,
            size_bytes=self._nats.nbytes,
            train_tokens=total,
            about=dict(about or {}),
        )

    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        """The scores of documents, in order."""
        return [_text_score(self._nats[np.frombuffer(text, np.uint8)]) for text in texts]


class Ngram(Model):
    """Each byte by the `order` − 1 before it; see `score.kneser_ney`."""

    def __init__(self, counts: NgramCounts, *, about: Mapping[str, Any] | None = None) -> None:
        self.tables = ngram_tables(counts)
        self.info = ModelInfo(
            f"ngram:{counts.order}",
            "baseline",
            _identity(f"ngram:{counts.order}", counts.keys, counts.counts),
            num_params=self.tables.num_values,
            # A key and a value for each; free slots of the tables do not count.
            size_bytes=16 * self.tables.num_values,
            train_tokens=counts.num_bytes,
            about={**(about or {}), "ngrams": len(counts.keys), "dropped": counts.num_dropped},
        )

    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        """The scores of documents, in order."""
        return [_text_score(self._nats(text)) for text in texts]

    def _nats(self, text: bytes) -> npt.NDArray[np.float64]:
        tables, nats = self.tables, np.empty(len(text))
        data = np.frombuffer(text, np.uint8)
        text_nats(data, tables.order, tables.slots, tables.values, tables.begins, nats)
        return nats


def _text_score(byte_nats: npt.NDArray[np.float64]) -> TextScore:
    return TextScore(float(byte_nats.sum()), len(byte_nats), byte_nats)


def _identity(name: str, *arrays: npt.NDArray[Any]) -> str:
    found = hashlib.sha256(name.encode())
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()
