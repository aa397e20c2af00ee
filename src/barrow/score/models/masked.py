"""Masked language models: pseudo-likelihood, each token predicted from all the others.

The product of these predictions is not a probability of the text: every token sees both sides, so
the sum is smaller than a causal model's. Its bits per byte are labelled "pseudo" and compared only
with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.errors import ScoreError
from barrow.models.buckets import bucket, row_bucket
from barrow.models.roberta.model import Roberta
from barrow.models.row_batches import batches
from barrow.score.card import Window
from barrow.score.models.model import Model, ModelInfo, TextScore
from barrow.score.models.transformers import import_torch, max_length_of, refuse_small_vocabulary
from barrow.score.projection import project
from barrow.score.protocol import Protocol
from barrow.tokens import Tokenizer
from barrow.tokens.tokenizer import offsets_of

# Families whose positions start after the padding id, so that some rows are never used.
_OFFSET = ("roberta", "camembert", "mpnet", "longformer", "data2vec-text", "ibert")
_HEADS = ("lm_head", "cls")

Ids = npt.NDArray[np.int32]
# Rows, lengths, one masked position in each and its token, to log-probabilities.
Guess = Callable[
    [npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]],
    npt.NDArray[np.floating[Any]],
]


class MaskedModel(Model):
    """Documents in disjoint windows, each between the tokens that begin and end a text.

    `guess` gives the log-probability of the token at one masked position in each row.
    """

    likelihood = "pseudo"
    group_bytes = 1 << 16

    def __init__(
        self,
        guess: Guess,
        tokenizer: Tokenizer,
        info: ModelInfo,
        protocol: Protocol,
        *,
        max_length: int | None,
        batch_tokens: int = 4096,
    ) -> None:
        if tokenizer.mask is None:
            raise ValueError("the tokenizer has no mask token, which a masked model needs")
        window = protocol.window(tokenizer, max_length)
        self._before = [] if tokenizer.begin is None else [tokenizer.begin]
        self._after = [] if tokenizer.end is None else [tokenizer.end]
        room = window.context - len(self._before) - len(self._after)
        if room < 1:
            raise ValueError(
                f"a context of {window.context} tokens has no room beside the special ones"
            )
        self.window = Window(
            window.context,
            room,
            "begin" if self._before else "none",
            "every",
            protocol.name,
        )
        self.info = replace(info, tokenizer=tokenizer.hash)
        self._guess = guess
        self._tokenizer = tokenizer
        self._batch_tokens = batch_tokens

    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        """As in `Model`."""
        starts = offsets_of(np.array([len(text) for text in texts], np.int64))
        joined = np.frombuffer(b"".join(texts), np.uint8)
        encoded, places = self._tokenizer.encode_texts(joined, starts)
        ids = encoded.astype(np.int32)
        nats = self._nats(ids, places)
        scores = []
        for text, start, stop in zip(texts, places[:-1].tolist(), places[1:].tolist(), strict=True):
            own = nats[start:stop]
            byte_nats, how = project(text, ids[start:stop], own, self._tokenizer)
            scores.append(TextScore(float(own.sum()), stop - start, byte_nats, how))
        return scores

    def _nats(self, ids: Ids, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        assert self.window is not None
        pieces = [
            (at, min(at + self.window.stride, stop))
            for start, stop in zip(places[:-1].tolist(), places[1:].tolist(), strict=True)
            for at in range(start, stop, self.window.stride)
        ]
        rows = {
            start: np.array([*self._before, *ids[start:stop], *self._after], np.int64)
            for start, stop in pieces
        }
        # A row for each token: (the piece it is of, its place in the text).
        wanted = [(start, at) for start, stop in pieces for at in range(start, stop)]
        nats = np.full(len(ids), np.nan)
        lengths = [len(rows[start]) for start, _ in wanted]
        for batch in batches(
            lengths, max_length=max(lengths, default=0), batch_tokens=self._batch_tokens
        ):
            chosen = [wanted[number] for number in batch.rows]
            sizes = np.array([len(rows[start]) for start, _ in chosen])
            masked = np.zeros((len(chosen), sizes.max()), np.int64)
            for k, (start, _) in enumerate(chosen):
                masked[k, : sizes[k]] = rows[start]
            where = np.array([at - start + len(self._before) for start, at in chosen])
            targets = masked[np.arange(len(chosen)), where].copy()
            masked[np.arange(len(chosen)), where] = self._tokenizer.mask
            found = np.asarray(self._guess(masked, sizes, where, targets), np.float64)
            nats[[at for _, at in chosen]] = -found
        return nats


def transformers_guess(model: Any, tokenizer: Tokenizer, *, device: Any) -> Guess:
    """A masked model of `transformers`; the head runs only at masked positions if possible."""
    torch, _ = import_torch()
    refuse_small_vocabulary(tokenizer, model.get_input_embeddings().num_embeddings)
    head = next((getattr(model, name) for name in _HEADS if hasattr(model, name)), None)
    body = model.base_model

    def guess(
        rows: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
        targets: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.floating[Any]]:
        ids, at, chosen = (torch.from_numpy(x).to(device) for x in (rows, places, targets))
        seen = torch.from_numpy(np.arange(rows.shape[1]) < lengths[:, None]).long().to(device)
        # Rows are padded with the padding id: some families number positions by it.
        pad = tokenizer.pad if tokenizer.pad is not None else 0
        ids = torch.where(seen.bool(), ids, pad)
        every = torch.arange(len(rows), device=device)
        with torch.inference_mode():
            if head is not None and body is not model:
                hidden = body(input_ids=ids, attention_mask=seen).last_hidden_state
                logits = head(hidden[every, at])
            else:
                logits = model(input_ids=ids, attention_mask=seen).logits[every, at]
            logs = torch.log_softmax(logits.float(), -1)[every, chosen]
        found: npt.NDArray[np.floating[Any]] = logs.cpu().numpy()
        return found

    return guess


def usable_length(config: Any) -> int | None:
    """Tokens that a masked model sees at once: RoBERTa has 514 rows of positions and uses 512."""
    length = max_length_of(config)
    if length is not None and any(name in str(config.model_type) for name in _OFFSET):
        length -= (config.pad_token_id or 0) + 1
    return length


@partial(jax.jit, static_argnums=0)
def _target_logs(
    model: Roberta, params: Any, ids: Any, lengths: Any, places: Any, targets: Any
) -> jax.Array:
    logits = model.apply(params, ids, places[:, None], method=model.masked_logits, lengths=lengths)
    log_probs = jax.nn.log_softmax(logits[:, 0].astype(jnp.float32), axis=-1)
    return jnp.take_along_axis(log_probs, targets[:, None], axis=-1)[:, 0]


def roberta_guess(model: Roberta, params: Any, tokenizer: Tokenizer) -> Guess:
    """Compiled for few shapes: rows in powers of two, lengths in buckets."""
    vocab = model.config.vocab_size
    if tokenizer.vocab_size > vocab:
        raise ScoreError(
            f"the tokenizer has ids up to {tokenizer.vocab_size - 1}, but the model's "
            f"vocabulary is {vocab}: do they match?"
        )

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
        # Padding rows have one token, so that no row is empty.
        sizes, at, chosen = (np.zeros(filled, np.int32) for _ in range(3))
        sizes[:] = 1
        sizes[:num], at[:num], chosen[:num] = lengths, places, targets
        return np.asarray(_target_logs(model, params, ids, sizes, at, chosen))[:num]

    return guess
