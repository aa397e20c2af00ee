"""Exported graphs to score: decoders as a `TokenModel`, encoders by pseudo-likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.models.onnx.model import OnnxModel
from barrow.models.row_batches import batches
from barrow.score.models.masked import Guess
from barrow.tokens import Tokenizer

_BATCH_TOKENS = 2048


class OnnxTokenModel:
    """A decoder's graph under `TokenModel`: rows of similar length together."""

    def __init__(
        self, model: OnnxModel, tokenizer: Tokenizer, *, batch_tokens: int | None = None
    ) -> None:
        _refuse_small(model, tokenizer)
        self.tokenizer = tokenizer
        self.max_length: int | None = model.config.context
        self.batch_tokens = batch_tokens or _BATCH_TOKENS
        self._model = model

    def log_probs(self, rows: Sequence[npt.NDArray[np.int32]]) -> list[npt.NDArray[np.float32]]:
        """As in `TokenModel`."""
        assert self.max_length is not None
        sizes = [len(row) - 1 for row in rows]
        found: list[npt.NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(rows)
        for batch in batches(sizes, max_length=self.max_length, batch_tokens=self.batch_tokens):
            ids = np.zeros((batch.num_rows, batch.length + 1), np.int32)
            for k, number in enumerate(batch.rows):
                ids[k, : len(rows[number])] = rows[number]
            logs = self._model.log_probs(ids[:, :-1], ids[:, 1:])
            for k, number in enumerate(batch.rows):
                found[number] = logs[k, : sizes[number]].copy()
        return found


def onnx_guess(model: OnnxModel, tokenizer: Tokenizer) -> Guess:
    """Log-probabilities of the tokens at masked places."""
    _refuse_small(model, tokenizer)

    def guess(
        rows: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
        targets: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.floating[Any]]:
        logits = model.masked_logits(rows, lengths, places[:, None])[:, 0].astype(np.float64)
        top = logits.max(axis=-1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(logits - top).sum(axis=-1))
        found: npt.NDArray[np.floating[Any]] = logits[np.arange(len(rows)), targets] - total
        return found

    return guess


def _refuse_small(model: OnnxModel, tokenizer: Tokenizer) -> None:
    if tokenizer.vocab_size > model.config.vocab_size:
        raise ValueError(
            f"the tokenizer has ids up to {tokenizer.vocab_size - 1}, but the model's vocabulary "
            f"is {model.config.vocab_size}: do they match?"
        )
