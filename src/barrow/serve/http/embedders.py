"""Embedders of the models that can be served: decoders, RoBERTa, CLIP."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.models.decoder.model import Decoder
from barrow.models.roberta.encode import batches_of, embed
from barrow.models.roberta.model import Roberta
from barrow.models.rows import text_rows
from barrow.models.text import prompt_tokens
from barrow.serve.http.body import is_id
from barrow.serve.http.served import Embedder, Vectors
from barrow.tokens import Tokenizer

if TYPE_CHECKING:
    from barrow.models.clip.encoder import Clip
    from barrow.models.clip.load import Preprocess

_IMAGE = "data:image/"


def decoder_embedder(model: Decoder, params: Mapping[str, Any], tokenizer: Tokenizer) -> Embedder:
    """The mean over all tokens of the last hidden states, as the logits are made of."""
    model = replace(model, unroll=True, remat=None)
    config = model.config

    def read(one: Any) -> tuple[list[int], int]:
        ids = prompt_tokens(tokenizer, one) if isinstance(one, str) else one
        return _checked(ids, vocab=config.vocab_size, context=config.context), len(ids)

    def vectors(rows: Sequence[list[int]]) -> Vectors:
        found = np.empty((len(rows), config.width), np.float32)
        for batch in batches_of(rows, config.context):
            tokens = np.zeros((batch.num_rows, batch.length), np.int32)
            lengths = np.ones(batch.num_rows, np.int32)
            for line, number in enumerate(batch.rows):
                tokens[line, : len(rows[number])] = rows[number]
                lengths[line] = len(rows[number])
            means = _mean(model, params, tokens, lengths)
            found[list(batch.rows)] = np.asarray(means)[: len(batch.rows)]
        return found

    return Embedder(read, vectors)


@partial(jax.jit, static_argnames="model")
def _mean(
    model: Decoder, params: Mapping[str, Any], tokens: jax.Array, lengths: jax.Array
) -> jax.Array:
    hidden, _ = model.apply(params, tokens, lengths=lengths, method=model.hidden)
    real = (jnp.arange(tokens.shape[1]) < lengths[:, None])[..., None]
    total = jnp.where(real, hidden.astype(jnp.float32), 0).sum(axis=1)
    return total / lengths[:, None]


def roberta_embedder(model: Roberta, params: Mapping[str, Any], tokenizer: Tokenizer) -> Embedder:
    """As `barrow model embed`: the mean of the last layer."""
    config = model.config

    def read(one: Any) -> tuple[Any, int]:
        if isinstance(one, str):
            ids = text_rows(tokenizer, [one], config=config)[0].tokens.tolist()
        else:
            ids = one
        return _checked(ids, vocab=config.vocab_size, context=config.context), len(ids)

    def vectors(rows: Sequence[Any]) -> Vectors:
        return np.concatenate(list(embed(model, params, rows)))

    return Embedder(read, vectors)


def clip_embedder(clip: Clip, preprocess: Preprocess) -> Embedder:
    """Texts, and images as ``data:image/…;base64,…`` or ``{"image": "…"}``."""

    def read(one: Any) -> tuple[Any, int]:
        if isinstance(one, dict) and one.keys() in ({"image"}, {"text"}):
            kind, content = next(iter(one.items()))
        else:
            is_image = isinstance(one, str) and one.startswith(_IMAGE)
            kind, content = "image" if is_image else "text", one
        if not isinstance(content, str):
            raise ValueError('an input must be a string, {"text": "…"} or {"image": "data:…"}')
        if kind == "text":
            ids = clip.tokens([content])
            return content, int((ids != 0).sum())
        if content.startswith("data:"):
            content = content.partition(",")[2]
        try:
            data = base64.b64decode(content, validate=True)
        except binascii.Error:
            raise ValueError("an image must be base64") from None
        return preprocess([data])[0], 0

    def vectors(inputs: Sequence[Any]) -> Vectors:
        found = np.empty((len(inputs), clip.module.config.embed), np.float32)
        texts = [number for number, one in enumerate(inputs) if isinstance(one, str)]
        images = [number for number, one in enumerate(inputs) if not isinstance(one, str)]
        if texts:
            found[texts] = clip.encode_text([inputs[number] for number in texts])
        if images:
            found[images] = clip.encode_image(np.stack([inputs[number] for number in images]))
        return found

    return Embedder(read, vectors)


def _checked(ids: Any, *, vocab: int, context: int) -> list[int]:
    if not isinstance(ids, list) or not ids or not all(is_id(token) for token in ids):
        raise ValueError("an input must be a string or tokens, and not empty")
    if not 0 <= min(ids) <= max(ids) < vocab:
        raise ValueError(f"tokens must be from 0 to {vocab - 1}")
    if len(ids) > context:
        raise ValueError(f"an input has {len(ids)} tokens, the model {context} positions")
    return ids
