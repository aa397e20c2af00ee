"""Answers of the model before and after, to the same prompts, and what they look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.align.data.rows import Words
from barrow.models.buckets import bucket
from barrow.models.decoder.model import Decoder
from barrow.models.decoder.next_token_nats import next_token_nats
from barrow.models.load import Loaded
from barrow.models.open_model import of_kind
from barrow.serve.engine import Engine
from barrow.serve.offline import answers_in_order
from barrow.serve.programs import EngineSettings
from barrow.serve.requests import Choice, Request
from barrow.stream.order.permutation import derive

_GRAM, _SLOTS = 4, 4


@dataclass(frozen=True)
class Said:
    """An answer: its text, its tokens without the end, and how it ended."""

    text: str
    tokens: tuple[int, ...]
    ids: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class Style:
    """Of several answers: tokens of each, the share that ended by itself, and of repetitions.

    `repeated` is the share of runs of four tokens that the same answer has had before.
    """

    length: float
    ended: float
    repeated: float


def engine_of(loaded: Loaded, prompts: Sequence[Sequence[int]], *, max_tokens: int) -> Engine:
    """An engine for a few answers: few programs are compiled."""
    model = of_kind(loaded, "the model", Decoder)
    longest = max(map(len, prompts)) + max_tokens
    room = _SLOTS * (-(-longest // 64) * 64 + 64)
    settings = EngineSettings(slots=_SLOTS, parts=(1,), max_tokens_in_flight=room)
    return Engine(model, loaded.params, settings=settings)


def draw(
    engine: Engine, words: Words, prompts: Sequence[Sequence[int]], *, max_tokens: int, seed: int
) -> list[Said]:
    """An answer to each prompt, at temperature 1; the same seed gives the same draws."""
    requests = [
        Request(
            [int(token) for token in prompt],
            max_tokens,
            Choice(temperature=1.0, seed=derive(seed, "sample", number) % (1 << 32)),
            stops=words.stops,
        )
        for number, prompt in enumerate(prompts)
    ]
    found = []
    for answer in answers_in_order(engine, requests):
        end = () if answer.stop is None else (answer.stop[0],)
        text = words.tokenizer.decode(answer.tokens)
        tokens = tuple(answer.tokens)
        found.append(Said(text, tokens, (*tokens, *end), str(answer.reason)))
    return found


def style(answers: Sequence[Said]) -> Style:
    """Length and repetition."""
    repeated, runs = 0, 0
    for answer in answers:
        grams = [answer.tokens[at : at + _GRAM] for at in range(len(answer.tokens) - _GRAM + 1)]
        repeated += len(grams) - len(set(grams))
        runs += len(grams)
    return Style(
        float(np.mean([len(answer.tokens) for answer in answers])),
        float(np.mean([answer.reason == "stop" for answer in answers])),
        repeated / runs if runs else 0.0,
    )


def divergence(
    after: Loaded, before: Loaded, prompts: Sequence[Sequence[int]], answers: Sequence[Said]
) -> float:
    """KL(after ‖ before) in nats per answer, estimated on answers that `after` drew."""
    longest = max(len(p) + len(a.ids) for p, a in zip(prompts, answers, strict=True))
    context = of_kind(after, "the model", Decoder).config.context
    ids = np.zeros((len(answers), bucket(longest, context)), np.int32)
    mask = np.zeros((len(answers), ids.shape[1] - 1))
    for line, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        whole = [*prompt, *answer.ids]
        ids[line, : len(whole)] = whole
        mask[line, len(prompt) - 1 : len(whole) - 1] = 1

    def nats(loaded: Loaded) -> Any:
        model = of_kind(loaded, "the model", Decoder)
        found = jax.jit(lambda p, x: next_token_nats(model, p, x))(loaded.params, jnp.asarray(ids))
        return np.asarray(found, np.float64)

    return float(((nats(before) - nats(after)) * mask).sum() / len(answers))
