"""The compiled programs of the engine: one step of many requests, and a request into its slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.nn.attention.paged import Paged, Pages, Rows
from barrow.nn.tree import Tree
from barrow.serve.pages import PAGE
from barrow.serve.requests import MOST_BIASES, Choice
from barrow.serve.sampling import Settings, choose
from barrow.serve.schedule import Row

# Columns of a row before its page table.
_SLOT, _START, _NUM, _DRAWS, _TABLE = range(5)
Pool = tuple[tuple[Pages, Pages], ...]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Slots:
    """What the device knows of the request in each slot: its tokens [slots, context], settings."""

    tokens: jax.Array
    settings: Settings


def step(
    model: Decoder,
    params: Tree,
    pool: Pool,
    slots: Slots,
    rows: jax.Array,
    allowed: jax.Array,
    *,
    num_singles: int,
) -> tuple[Pool, Slots, jax.Array, jax.Array]:
    """Compute rows: `num_singles` of one token, then parts of prompts (see `packed`).

    The token after each row is chosen, [rows], with its log-probability; where the row draws, it is
    written after the tokens of its slot.
    """
    slot, start, num = rows[:, _SLOT], rows[:, _START], rows[:, _NUM]
    where = Rows(rows[:, _TABLE:], start, num, num_singles)
    parts = start[num_singles:, None] + jnp.arange(PAGE)
    of_token = jnp.concatenate([slot[:num_singles], jnp.repeat(slot[num_singles:], PAGE)])
    positions = jnp.concatenate([start[:num_singles], parts.reshape(-1)])
    positions = jnp.minimum(positions, model.config.context - 1)
    real = jnp.concatenate(
        [num[:num_singles] > 0, (parts < (start + num)[num_singles:, None]).reshape(-1)]
    )
    last = num_singles + PAGE * jnp.arange(len(parts)) + jnp.maximum(num[num_singles:], 1) - 1
    logits, caches = model.apply(
        params,
        slots.tokens[of_token, positions][None],
        positions=positions[None],
        segments=real[None].astype(jnp.int32),
        caches=tuple(Paged(keys, values, where) for keys, values in pool),
        at=jnp.concatenate([jnp.arange(num_singles), last])[None],
    )
    how = jax.tree.map(lambda x: x[slot], slots.settings)
    chosen, logprobs = choose(how, logits[0], slots.tokens[slot], start + num, allowed)
    place = jnp.where(rows[:, _DRAWS] > 0, start + num, slots.tokens.shape[1])
    tokens = slots.tokens.at[slot, place].set(chosen, mode="drop")
    pool = tuple((cache.keys, cache.values) for cache in caches)
    return pool, replace(slots, tokens=tokens), chosen, logprobs


def admit(slots: Slots, slot: jax.Array, one: Slots) -> Slots:
    """A request written into its slot."""
    return jax.tree.map(lambda all_, new: all_.at[slot].set(new), slots, one)


def packed(rows: Sequence[Row | None], *, width: int) -> npt.NDArray[np.int32]:
    """Rows as `step` takes them: slot, start, number of tokens, whether it draws, and its pages."""
    out = np.zeros((len(rows), _TABLE + width), np.int32)
    for line, row in zip(out, rows, strict=True):
        if row is not None:
            line[:_TABLE] = row.job.slot, row.start, row.num, row.draws
            line[_TABLE : _TABLE + len(row.job.pages)] = row.job.pages
    return out


def slot_of(config: DecoderConfig, tokens: list[int], num_prompt: int, choice: Choice) -> Slots:
    """A request as `admit` takes it."""
    text = np.zeros(config.context, np.int32)
    text[: len(tokens)] = tokens
    ids = np.full(MOST_BIASES, config.vocab_size, np.int32)
    biases = np.zeros(MOST_BIASES, np.float32)
    ids[: len(choice.bias)] = list(choice.bias)
    biases[: len(choice.bias)] = list(choice.bias.values())
    settings: Any = Settings(
        temperature=np.float32(choice.temperature),
        top_k=np.int32(min(choice.top_k or 0, config.vocab_size)),
        top_p=np.float32(choice.top_p),
        min_p=np.float32(choice.min_p),
        repetition=np.float32(choice.repetition),
        presence=np.float32(choice.presence),
        frequency=np.float32(choice.frequency),
        seed=np.uint32(choice.seed),
        num_prompt=np.int32(num_prompt),
        bias_ids=ids,
        biases=biases,
    )
    return Slots(text, settings)  # type: ignore[arg-type]


def empty_slots(config: DecoderConfig, num: int) -> Slots:
    """Slots without requests."""
    one = slot_of(config, [], 0, Choice())
    return jax.tree.map(lambda x: jnp.asarray(np.stack([x] * num)), one)


def empty_pool(config: DecoderConfig, num: int, dtype: Any) -> Pool:
    """Pages for each layer."""
    heads, dim = config.num_kv_heads, config.size_of_head
    make = partial(Pages.empty, num, PAGE, heads, dim, dtype)
    return tuple((make(), make()) for _ in range(config.layers))
