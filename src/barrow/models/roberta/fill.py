"""Fill-mask: the likeliest tokens for each mask in a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.models.buckets import row_bucket
from barrow.models.onnx.model import OnnxModel
from barrow.models.roberta.encode import for_inference
from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.models.rows import marked_row, padded

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer


@dataclass(frozen=True)
class Filling:
    """A token for a mask: its probability, its text, and the whole text with it.

    With several masks the whole text shows the others as they were, and the begin and end tokens.
    """

    score: float
    token: int
    token_text: str
    text: str


def fill(
    model: Roberta | RobertaWithHead | OnnxModel,
    params: Mapping[str, Any],
    tokenizer: Tokenizer,
    text: str,
    *,
    top: int = 5,
    truncate: bool = False,
) -> list[list[Filling]]:
    """For each mask of a text, the `top` likeliest tokens, the likeliest first.

    Probabilities are softmax over the whole vocabulary, of each mask with the others masked.
    """
    body = _refuse_headless(model)
    config: RobertaConfig = body.config
    if not 1 <= top <= config.vocab_size:
        raise ValueError(f"top must be from 1 to {config.vocab_size}, got {top}")
    row = marked_row(tokenizer, text, config=config, truncate=truncate)
    masks = _masks(row.tokens, tokenizer, num_cut=row.num_cut)
    tokens, lengths = padded([row.tokens], config=config)
    # As many places as a power of two, for which few programs are compiled.
    at = np.resize(masks, row_bucket(len(masks)))[None]
    if isinstance(body, OnnxModel):
        found = _best(jnp.asarray(body.masked_logits(tokens, lengths, at)[0]), top)
    else:
        found = _likeliest(for_inference(body, params), params, tokens, lengths, at, top=top)
    scores, ids = (np.asarray(x)[: len(masks)] for x in found)
    return [
        [
            _filling(tokenizer, row.tokens, int(place), int(token), float(score), len(masks) == 1)
            for score, token in zip(of_scores, of_ids, strict=True)
        ]
        for place, of_scores, of_ids in zip(masks, scores, ids, strict=True)
    ]


@partial(jax.jit, static_argnames=("body", "top"))
def _likeliest(
    body: Roberta,
    params: Mapping[str, Any],
    tokens: jax.Array,
    lengths: jax.Array,
    at: jax.Array,
    *,
    top: int,
) -> tuple[jax.Array, jax.Array]:
    logits = body.apply(params, tokens, at, lengths=lengths, method=body.masked_logits)
    return _best(logits[0].astype(jnp.float32), top)


def _best(logits: jax.Array, top: int) -> tuple[jax.Array, jax.Array]:
    shares = jax.nn.softmax(logits, axis=-1)
    best: tuple[jax.Array, jax.Array] = jax.lax.top_k(shares, top)
    return best


def _refuse_headless(model: Roberta | RobertaWithHead | OnnxModel) -> Roberta | OnnxModel:
    has_labels = isinstance(model, RobertaWithHead) or getattr(model, "head", None) is not None
    if not has_labels and getattr(model.config, "mlm_head", False):
        return model  # type: ignore[return-value]
    raise ValueError(
        "the model has no LM head (lm_head.*) to fill masks with; use a masked language "
        "model such as distilroberta-base"
    )


def _masks(tokens: Any, tokenizer: Tokenizer, *, num_cut: int) -> Any:
    if tokenizer.mask is None:
        raise ValueError("the tokenizer has no mask token")
    masks = np.flatnonzero(tokens == tokenizer.mask)
    if not len(masks):
        name = next(name for name, i in tokenizer.specials.items() if i == tokenizer.mask)
        cut = f" ({num_cut} tokens were cut off its end)" if num_cut else ""
        raise ValueError(f"the text has no {name}{cut}; write it where a word is missing")
    return masks


def _filling(
    tokenizer: Tokenizer, tokens: Any, place: int, token: int, score: float, is_only: bool
) -> Filling:
    whole = tokens.copy()
    whole[place] = token
    whole = whole[whole != tokenizer.pad] if tokenizer.pad is not None else whole
    decode = tokenizer.decode if is_only else tokenizer.decode_marked
    return Filling(score, token, tokenizer.decode_marked([token]), decode(whole))
