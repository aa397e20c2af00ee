"""Guesses of masked tokens by our own RoBERTa."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.errors import ScoreError
from barrow.models.buckets import bucket, row_bucket
from barrow.models.roberta.model import Roberta
from barrow.score.masked_model import Guess
from barrow.tokens import Tokenizer


def roberta_guess(model: Roberta, params: Any, tokenizer: Tokenizer) -> Guess:
    """Compiled for few shapes: rows in powers of two, lengths in buckets."""
    vocab = model.config.vocab_size
    if tokenizer.vocab_size > vocab:
        raise ScoreError(
            f"the tokenizer has ids up to {tokenizer.vocab_size - 1} and the model {vocab} of "
            "them: it is another model's tokenizer"
        )

    @jax.jit
    def logs(params: Any, ids: Any, lengths: Any, places: Any, targets: Any) -> jax.Array:
        logits = model.apply(
            params, ids, places[:, None], method=model.masked_logits, lengths=lengths
        )
        told = jax.nn.log_softmax(logits[:, 0].astype(jnp.float32), axis=-1)
        return jnp.take_along_axis(told, targets[:, None], axis=-1)[:, 0]

    def guess(
        rows: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
        targets: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.floating[Any]]:
        num, length = rows.shape
        filled = row_bucket(num)
        wide = bucket(length, model.config.context)
        ids = np.full((filled, wide), model.config.pad, np.int32)
        ids[:num, :length] = np.where(np.arange(length) < lengths[:, None], rows, model.config.pad)
        # Rows that fill the batch up have one token, so that no row sees nothing.
        sizes, at, chosen = (np.zeros(filled, np.int32) for _ in range(3))
        sizes[:] = 1
        sizes[:num], at[:num], chosen[:num] = lengths, places, targets
        return np.asarray(logs(params, ids, sizes, at, chosen))[:num]

    return guess
