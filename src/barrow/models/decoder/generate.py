"""Generation: completions of prompts of different lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.interrupt import check_interrupt
from barrow.models.buckets import bucket
from barrow.models.decoder.decoding import decode, prefill, row_keys
from barrow.models.decoder.model import Decoder
from barrow.models.decoder.one_token import for_one_token
from barrow.models.decoder.sampling import GREEDY, Sampling, chooser
from barrow.nn.layers.repeat import take_apart
from barrow.nn.tree import Tree

_NUM_STOPS = 8


@dataclass(frozen=True)
class Completion:
    """Tokens after a prompt, without the stop that may have ended them."""

    tokens: npt.NDArray[np.int32]
    reason: Literal["stop", "length"]


def generate(
    model: Decoder,
    params: Mapping[str, Any],
    prompts: Sequence[Sequence[int]],
    *,
    max_tokens: int,
    sampling: Sampling = GREEDY,
    seed: int = 0,
    stops: Sequence[int] = (),
) -> tuple[Completion, ...]:
    """Completions of each prompt: up to `max_tokens`, or until one of `stops`.

    The same arguments give the same tokens; a row depends only on its prompt, the seed and its
    number. Stacked layers are unstacked first, and on a Hopper GPU weights turned: do that once
    (`for_decoding`, then `for_one_token`) for many calls.
    """
    pieces = stream(
        model,
        params,
        prompts,
        max_tokens=max_tokens,
        sampling=sampling,
        seed=seed,
        stops=stops,
        chunk=max_tokens,
    )
    rows = [np.concatenate(row) for row in zip(*pieces, strict=True)]
    known = set(stops)
    return tuple(
        Completion(row[:-1], "stop") if row[-1] in known else Completion(row, "length")
        for row in rows
    )


def stream(
    model: Decoder,
    params: Mapping[str, Any],
    prompts: Sequence[Sequence[int]],
    *,
    max_tokens: int,
    sampling: Sampling = GREEDY,
    seed: int = 0,
    stops: Sequence[int] = (),
    chunk: int = 8,
) -> Iterator[tuple[npt.NDArray[np.int32], ...]]:
    """As `generate`, in pieces: the first token of every row, then up to `chunk` at a time.

    A stop is the last token of its row. The tokens do not depend on `chunk`.
    """
    _refuse(model, prompts, max_tokens, chunk, stops)
    model = replace(model, unroll=True, remat=None)
    params = for_one_token(model, for_decoding(params), len(prompts))
    tokens, lengths = _padded(prompts, model.config.context)
    longest = int(lengths.max()) + max_tokens
    capacity = max(bucket(longest, model.config.context), tokens.shape[1])
    how, ends = chooser(sampling), _ends(stops)
    state = prefill(
        model,
        params,
        tokens,
        lengths,
        row_keys(seed, len(prompts)),
        how,
        ends,
        capacity=capacity,
    )
    yield tuple(np.asarray(state.last)[:, None])
    room = bucket(min(chunk, max_tokens), model.config.context)
    left = max_tokens - 1
    while left > 0 and not bool(np.all(state.done)):
        check_interrupt()
        limit = min(left, chunk)
        state, out = decode(model, params, state, how, ends, jnp.int32(limit), room=room)
        yield tuple(row[row >= 0] for row in np.asarray(out)[:, :limit])
        left -= limit


def for_decoding(params: Mapping[str, Any]) -> Tree:
    """Parameters with unstacked layers, as generation needs them."""
    if isinstance(params["layers"], tuple):
        return params if isinstance(params, Tree) else Tree(params)
    apart: Tree = _take_apart(params)
    return apart


_take_apart = jax.jit(partial(take_apart, name="layers"))


def _padded(prompts: Sequence[Sequence[int]], context: int) -> tuple[jax.Array, jax.Array]:
    lengths = np.array([len(prompt) for prompt in prompts], np.int32)
    tokens = np.zeros((len(prompts), bucket(int(lengths.max()), context)), np.int32)
    for row, prompt in zip(tokens, prompts, strict=True):
        row[: len(prompt)] = prompt
    return jnp.asarray(tokens), jnp.asarray(lengths)


def _ends(stops: Sequence[int]) -> jax.Array:
    # Always so many, so that another set of stops needs no other program; −2 is not a token.
    num = -(-max(len(stops), 1) // _NUM_STOPS) * _NUM_STOPS
    return jnp.asarray([*stops, *[-2] * (num - len(stops))], jnp.int32)


def _refuse(
    model: Decoder,
    prompts: Sequence[Sequence[int]],
    max_tokens: int,
    chunk: int,
    stops: Sequence[int],
) -> None:
    config = model.config
    if not prompts:
        raise ValueError("no prompts")
    if max_tokens < 1 or chunk < 1:
        raise ValueError(f"max_tokens and chunk must be ≥ 1, got {max_tokens} and {chunk}")
    for number, prompt in enumerate(prompts):
        if not len(prompt):
            raise ValueError(f"prompt {number} is empty: start it with the tokenizer's begin token")
        if len(prompt) + max_tokens > config.context:
            raise ValueError(
                f"prompt {number} has {len(prompt)} tokens, with {max_tokens} new ones too "
                f"many for the model's {config.context} positions; max_tokens can be at "
                f"most {max(config.context - len(prompt), 0)}, or shorten the prompt"
            )
        low, high = min(prompt), max(prompt)
        if low < 0 or high >= config.vocab_size:
            wrong = low if low < 0 else high
            raise ValueError(
                f"prompt {number} has token {wrong}; ids must be from 0 to {config.vocab_size - 1}"
            )
    if any(stop < 0 for stop in stops):
        raise ValueError(f"stops must be ids ≥ 0, got {list(stops)}")
