from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from barrow import Document
from barrow.errors import ScoreError
from barrow.score import PROTOCOLS, ModelInfo, Protocol, WindowedModel
from barrow.tokens import ByteTokenizer

BEGIN, CONTEXT = 256, 32
INFO = ModelInfo("x", "custom", "id")
STRIDED = Protocol("custom", 20, 5, "begin", "every")
BARE = Protocol("custom", 16, 7, "none")


def slow(text: bytes, protocol: str, log_probs: Callable[[Sequence[int]], Any]) -> float:
    """Nats of a document, in plain loops written from the protocols' definitions."""
    ids = list(text)
    nats: list[float] = []
    if protocol == "pile":
        context = CONTEXT
        while len(nats) < len(ids):
            if not nats:
                row = [BEGIN, *ids[:context]]
                nats += (-log_probs(row)).tolist()
            else:
                end = min(len(ids), len(nats) + context)
                row = ids[max(0, end - context - 1) : end]
                nats += (-log_probs(row))[-(end - len(nats)) :].tolist()
    elif protocol == "none":
        context, stride = 16, 7
        nats = [math.log(259)] if ids else []
        if len(ids) > 1:
            nats += (-log_probs(ids[: context + 1])).tolist()
        while len(nats) < len(ids):
            end = min(len(ids), len(nats) + stride)
            nats += (-log_probs(ids[max(0, end - context - 1) : end]))[
                -(end - len(nats)) :
            ].tolist()
    else:
        context, stride = (20, 5) if protocol == "custom" else (CONTEXT, CONTEXT // 2)
        nats = (-log_probs([BEGIN, *ids[:context]])).tolist() if ids else []
        while len(nats) < len(ids):
            end = min(len(ids), len(nats) + stride)
            row = [BEGIN, *ids[max(0, end - context) : end]]
            nats += (-log_probs(row))[-(end - len(nats)) :].tolist()
    return math.fsum(nats)


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        ("barrow", PROTOCOLS["barrow"]),
        ("pile", PROTOCOLS["pile"]),
        ("custom", STRIDED),
        ("none", BARE),
    ],
)
def test_a_plain_float64_loop_gives_the_same(
    name: str,
    protocol: Protocol,
    windowed: Callable[[Protocol], WindowedModel],
    few: list[Document],
    reference: Callable[[Sequence[int]], Any],
) -> None:
    """PILE-2: −Σ log p to 1e-6, whichever windows."""
    texts = [document.text.encode() for document in few]
    scores = windowed(protocol).score(texts)
    for text, found in zip(texts, scores, strict=True):
        assert found.nats == pytest.approx(slow(text, name, reference), rel=1e-6)
        assert found.tokens == len(text)
        assert found.byte_nats is not None
        assert found.byte_nats.sum() == pytest.approx(found.nats, rel=1e-12)
        assert found.projection == "bytes"


class Counting:
    """Probabilities that say where they were asked: those of token t are 2^-(1 + place)."""

    tokenizer = ByteTokenizer()
    max_length: int | None = 8

    def __init__(self) -> None:
        self.rows: list[list[int]] = []

    def log_probs(self, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
        self.rows += [row.tolist() for row in rows]
        return [-math.log(2) * np.arange(1, len(row)) for row in rows]


def test_the_prefix_is_there_once_in_every_window() -> None:
    """Mistakes: double BOS, BOS missing in later windows, unshifted targets."""
    model = Counting()
    scored = WindowedModel(model, PROTOCOLS["barrow"], INFO)
    (found,) = scored.score([b"abcdefghijkl"])
    assert model.rows == [
        [BEGIN, *b"abcdefgh"],
        [BEGIN, *b"efghijkl"],
    ]
    # The second window charges its last four: places 5 to 8.
    assert found.nats == pytest.approx(math.log(2) * (sum(range(1, 9)) + sum(range(5, 9))))


def test_documents_are_apart_and_in_order() -> None:
    """Packed rows would let a document see the one before."""
    model = Counting()
    scores = WindowedModel(model, PROTOCOLS["barrow"], INFO).score([b"ab", b"", b"c"])
    assert model.rows == [[BEGIN, *b"ab"], [BEGIN, *b"c"]]
    assert [(s.nats / math.log(2), s.tokens) for s in scores] == [(3.0, 2), (0.0, 0), (1.0, 1)]


class Bad(Counting):
    def __init__(self, answer: Callable[[np.ndarray], Any], num: int = 1) -> None:
        super().__init__()
        self._answer = answer

    def log_probs(self, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
        answers = [self._answer(row) for row in rows]
        return [answer for answer in answers if answer is not None]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda row: np.zeros(len(row)), r"shape \(2,\) for a row of 3 ids.*got \(3,\)"),
        (lambda row: np.full(len(row) - 1, 4.0), "are these logits"),
        (lambda row: None, "must return 1 rows, got 0"),
    ],
)
def test_answers_that_cannot_be_right(answer: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(ScoreError, match=words):
        WindowedModel(Bad(answer), PROTOCOLS["barrow"], INFO).score([b"ab"])


def test_rows_of_a_long_document_are_handed_over_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from barrow.score.models import windowed as module

    monkeypatch.setattr(module, "_HANDED", 30)
    sizes = []

    class Watching(Counting):
        def log_probs(self, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
            sizes.append(sum(len(row) for row in rows))
            return super().log_probs(rows)

    text = bytes(range(97, 117)) * 10
    (found,) = WindowedModel(Watching(), PROTOCOLS["barrow"], INFO).score([text])
    assert len(sizes) > 10
    assert max(sizes) < 30 + 10
    (whole,) = WindowedModel(Counting(), PROTOCOLS["barrow"], INFO).score([text])
    assert found.nats == pytest.approx(whole.nats)
