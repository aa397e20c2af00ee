"""The compiled programs of the engine: logits of a step, its tokens, a request into its slot."""

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
from barrow.serve.requests import GREEDY, MOST_BIASES, Level, Request
from barrow.serve.sampling import Settings, choose, known, likeliest
from barrow.serve.schedule import Row

# Columns of a row before its page table.
_SLOT, _START, _NUM, _DRAWS, _TABLE = range(5)
Pool = tuple[tuple[Pages, Pages], ...]
Top = tuple[jax.Array, jax.Array]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Slots:
    """What the device knows of the request in each slot: its tokens [slots, context], settings."""

    tokens: jax.Array
    settings: Settings


def forward(
    model: Decoder,
    params: Tree,
    pool: Pool,
    tokens: jax.Array,
    rows: jax.Array,
    *,
    shape: tuple[int, int],
    slots: int,
    reads: bool = False,
    wide: bool = False,
) -> tuple[Pool, jax.Array, tuple[jax.Array, Top] | None]:
    """The pages with new keys, and logits [rows, vocab] after each of `rows` (see `Packing`).

    Of the first rows, as many as there are `slots`, each has one token; the others are parts of
    prompts. Only the first `shape` of each kind are computed; others have logits of 0. With
    `reads`, also the log-probability of the token after each position, and the likeliest there.
    With `wide` logits are float32, otherwise of the model's type.
    """
    singles, parts = shape
    taken = jnp.concatenate([rows[:singles], rows[slots : slots + parts]])
    slot, start, num = taken[:, _SLOT], taken[:, _START], taken[:, _NUM]
    places = start[singles:, None] + jnp.arange(PAGE)
    is_real = places < (start + num)[singles:, None]
    real = jnp.concatenate([num[:singles] > 0, is_real.reshape(-1)])
    positions = jnp.concatenate([start[:singles], places.reshape(-1)])
    positions = jnp.minimum(positions, model.config.context - 1)
    of_token = jnp.concatenate([slot[:singles], jnp.repeat(slot[singles:], PAGE)])
    last = singles + PAGE * jnp.arange(parts) + jnp.maximum(num[singles:], 1) - 1
    where = Rows(taken[:, _TABLE:], start, num, singles)
    at = jnp.arange(len(real)) if reads else jnp.concatenate([jnp.arange(singles), last])
    compute = partial(
        model.apply,
        params,
        tokens[of_token, positions][None],
        positions=positions[None],
        segments=real[None].astype(jnp.int32),
        caches=tuple(Paged(keys, values, where) for keys, values in pool),
    )
    if wide:
        hidden, caches = compute(method=model.hidden)
        weight, transposed = model.head_weight(params)
        product = (((1,), (int(transposed),)), ((), ()))
        found = jax.lax.dot_general(
            hidden[0][at], weight.astype(hidden.dtype), product, preferred_element_type=jnp.float32
        )
    else:
        logits, caches = compute(at=None if reads else at[None])
        found = logits[0]
    read = None
    if reads:
        after = tokens[of_token, jnp.minimum(positions + 1, model.config.context - 1)]
        read = known(found, after), likeliest(found)
        found = found[last]
    alone, rest = jnp.split(found, [singles])
    alone = jnp.pad(alone, ((0, slots - singles), (0, 0)))
    rest = jnp.pad(rest, ((0, len(rows) - slots - parts), (0, 0)))
    pages = tuple((cache.keys, cache.values) for cache in caches)
    return pages, jnp.concatenate([alone, rest]), read


def draw(
    slots: Slots, logits: jax.Array, rows: jax.Array, allowed: jax.Array, *, level: Level
) -> tuple[Slots, jax.Array]:
    """The token after each row, [rows].

    Where a row draws, the token is written after those of its slot. A program of its own, the same
    after every `forward`: it takes longer to compile than a layer.
    """
    slot, length = rows[:, _SLOT], rows[:, _START] + rows[:, _NUM]
    how = jax.tree.map(lambda x: x[slot], slots.settings)
    chosen = choose(how, logits, slots.tokens[slot], length, allowed, level=level)
    place = jnp.where(rows[:, _DRAWS] > 0, length, slots.tokens.shape[1])
    tokens = slots.tokens.at[slot, place].set(chosen, mode="drop")
    return replace(slots, tokens=tokens), chosen


def admit(slots: Slots, places: jax.Array, ones: Slots) -> Slots:
    """Requests written into their slots; one past the last is left out."""

    def write(held: jax.Array, new: jax.Array) -> jax.Array:
        return held.at[places].set(new, mode="drop")

    after: Slots = jax.tree.map(write, slots, ones)
    return after


class Packing:
    """Rows as `forward` takes them; remembers the pages of each slot, which seldom change."""

    def __init__(self, slots: int, width: int) -> None:
        self._tables = np.zeros((slots, width), np.int32)
        self._known: list[tuple[list[int], int]] = [([], 0)] * slots

    def __call__(self, rows: Sequence[Row | None]) -> npt.NDArray[np.int32]:
        """Of each: slot, start, number of tokens, whether it draws, and its pages."""
        for row in rows:
            if row is not None:
                slot, pages = row.job.slot, row.job.pages
                assert slot is not None
                held, num = self._known[slot]
                # A list only grows; a job that gives its pages back gets another.
                if held is not pages or num != len(pages):
                    self._known[slot] = pages, len(pages)
                    self._tables[slot] = 0
                    self._tables[slot, : len(pages)] = pages
        head = np.array(
            [(0, 0, 0, 0) if r is None else (r.job.slot, r.start, r.num, r.draws) for r in rows],
            np.int32,
        )
        is_real = head[:, _NUM : _NUM + 1] > 0
        return np.concatenate([head, np.where(is_real, self._tables[head[:, _SLOT]], 0)], axis=1)


def slot_of(config: DecoderConfig, tokens: list[int], request: Request) -> Slots:
    """A request, with the tokens known so far, as `admit` takes it."""
    choice = request.choice
    text: Any = np.zeros(config.context, np.int32)
    text[: len(tokens)] = tokens
    ids = np.full(MOST_BIASES, config.vocab_size, np.int32)
    biases = np.zeros(MOST_BIASES, np.float32)
    ids[: len(choice.bias)] = list(choice.bias)
    biases[: len(choice.bias)] = list(choice.bias.values())
    settings: dict[str, Any] = {
        "temperature": np.float32(choice.temperature),
        "top_k": np.int32(min(choice.top_k or 0, config.vocab_size)),
        "top_p": np.float32(choice.top_p),
        "min_p": np.float32(choice.min_p),
        "repetition": np.float32(choice.repetition),
        "presence": np.float32(choice.presence),
        "frequency": np.float32(choice.frequency),
        "seed": np.uint32(choice.seed),
        "num_prompt": np.int32(len(request.prompt)),
        "bias_ids": ids,
        "biases": biases,
    }
    return Slots(text, Settings(**settings))


def empty_slots(config: DecoderConfig, num: int) -> Slots:
    """Slots without requests."""
    one = slot_of(config, [], Request([], 0, GREEDY))
    made: Slots = jax.tree.map(lambda x: jnp.asarray(np.stack([x] * num)), one)
    return made


def empty_pool(config: DecoderConfig, num: int, dtype: Any) -> Pool:
    """Pages for each layer."""
    heads, dim = config.num_kv_heads, config.size_of_head
    make = partial(Pages.empty, num, PAGE, heads, dim, dtype)
    return tuple((make(), make()) for _ in range(config.layers))
