"""A model of tokens as a scorer of documents: tokens, windows, totals, bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import ScoreError
from barrow.score.card import Window
from barrow.score.models.model import Model, ModelInfo, TextScore, TokenModel
from barrow.score.projection import project
from barrow.score.protocol import Protocol, prefix_token
from barrow.score.windows import windows
from barrow.tokens.tokenizer import offsets_of

# Tokens in rows that a model gets at once: bounds memory for documents of any length.
_HANDED = 1 << 20
# Rounding may lift log p slightly above 0; logits are far above it.
_ABOVE_ZERO = 1e-2


class WindowedModel(Model):
    """Any `TokenModel` under a protocol."""

    likelihood = "causal"

    def __init__(
        self,
        model: TokenModel,
        protocol: Protocol,
        info: ModelInfo,
        *,
        group_bytes: int = Model.group_bytes,
    ) -> None:
        self._model = model
        self.window = protocol.window(model.tokenizer, model.max_length)
        _, self._prefix = prefix_token(model.tokenizer, protocol.prefix)
        self.info = replace(info, tokenizer=model.tokenizer.hash)
        self.group_bytes = group_bytes

    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        """As in `Model`."""
        tokenizer = self._model.tokenizer
        starts = offsets_of(np.array([len(text) for text in texts], np.int64))
        joined = np.frombuffer(b"".join(texts), np.uint8)
        encoded, places = tokenizer.encode_texts(joined, starts)
        ids = encoded.astype(np.int32)
        nats = np.full(len(ids), np.nan)
        assert self.window is not None
        for handed in _handed(window_rows(ids, places, self.window, self._prefix)):
            self._charge(handed, nats)
        scores = []
        for text, start, stop in zip(texts, places[:-1].tolist(), places[1:].tolist(), strict=True):
            own = nats[start:stop]
            byte_nats, how = project(text, ids[start:stop], own, tokenizer)
            scores.append(TextScore(float(own.sum()), stop - start, byte_nats, how))
        return scores

    def _charge(self, rows: list[WindowRow], nats: npt.NDArray[np.float64]) -> None:
        """Write the nats of the tokens that rows score to their positions."""
        uniform = math.log(self._model.tokenizer.vocab_size)
        seen = [row for row in rows if row.ids is not None]
        for row in rows:
            if row.ids is None:
                nats[row.first : row.end] = uniform
        found = self._model.log_probs([row.ids for row in seen if row.ids is not None])
        if len(found) != len(seen):
            raise ScoreError(f"log_probs must return {len(seen)} rows, got {len(found)}")
        for row, logs in zip(seen, found, strict=True):
            nats[row.first : row.end] = _checked(row, logs)


@dataclass(frozen=True, eq=False)
class WindowRow:
    """Ids of a window, and the positions of the tokens it scores; without ids they are uniform."""

    ids: npt.NDArray[np.int32] | None
    first: int
    end: int


def window_rows(
    ids: npt.NDArray[np.int32],
    places: npt.NDArray[np.int64],
    window: Window,
    prefix: int | None,
) -> Iterator[WindowRow]:
    """The rows that a model sees of documents, whose ids are between `places`."""
    before = np.array([] if prefix is None else [prefix], np.int32)
    for start, stop in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
        own = windows(stop - start, window)
        if own.num_unseen:
            yield WindowRow(None, start, start + own.num_unseen)
        for k in range(len(own)):
            held = ids[start + own.begin[k] : start + own.end[k]]
            row = np.concatenate([before, held]) if own.prefixed[k] else held
            yield WindowRow(row, start + int(own.first[k]), start + int(own.end[k]))


def _handed(rows: Iterator[WindowRow]) -> Iterator[list[WindowRow]]:
    held: list[WindowRow] = []
    size = 0
    for row in rows:
        held.append(row)
        size += 1 if row.ids is None else len(row.ids)
        if size >= _HANDED:
            yield held
            held, size = [], 0
    if held:
        yield held


def _checked(row: WindowRow, logs: Any) -> npt.NDArray[np.float64]:
    """Nats of the scored tokens, from the logarithms of all but the first of a row."""
    assert row.ids is not None
    array = np.asarray(logs, np.float64)
    if array.shape != (len(row.ids) - 1,):
        raise ScoreError(
            f"log_probs must return shape ({len(row.ids) - 1},) for a row of "
            f"{len(row.ids)} ids, one for each id but the first, got {array.shape}"
        )
    charged = array[len(array) - (row.end - row.first) :]
    if charged.size and charged.max() > _ABOVE_ZERO:
        raise ScoreError(
            f"log_probs must return logarithms ≤ 0, got {charged.max():.3g}; are these logits?"
        )
    return np.maximum(-charged, 0.0)
