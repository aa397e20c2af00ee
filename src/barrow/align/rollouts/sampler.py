"""Answers from the serving engine, in this process, on the arrays that are trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from barrow.align.model import Aligned
from barrow.models.decoder.model import Decoder
from barrow.nn.layers.repeat import take_apart
from barrow.nn.tree import Tree
from barrow.serve.engine import Engine
from barrow.serve.offline import answers_in_order
from barrow.serve.programs import EngineSettings
from barrow.serve.requests import Choice, Request
from barrow.stream.order.permutation import derive
from barrow.train.state import TrainState


@dataclass(frozen=True, eq=False)
class Drawn:
    """An answer: its tokens with the one that ended it, and the sampler's log-probabilities."""

    ids: npt.NDArray[np.int32]
    logprobs: npt.NDArray[np.float32]
    reason: str

    @property
    def said(self) -> npt.NDArray[np.int32]:
        """The tokens without the one that ended it."""
        return self.ids[:-1] if self.reason == "stop" else self.ids


def small_engine(model: Decoder, params: Any, *, slots: int, tokens: int) -> Engine:
    """An engine whose answers have at most so many tokens with their prompts.

    Its pages are no more than all slots need: the rest of the memory is the update's.
    """
    room = (-(-tokens // 64) + 1) * 64 * slots
    # Few slots are for little work: fewer programs are compiled for it.
    parts = (1,) if slots <= 8 else None
    settings = EngineSettings(slots, parts, max_tokens_in_flight=room, plain=True, wide_logits=True)
    return Engine(model, params, settings=settings)


def drawn(
    engine: Engine,
    prompts: Sequence[Sequence[int]],
    seeds: Sequence[int],
    *,
    max_tokens: int,
    stops: Sequence[int],
) -> list[Drawn]:
    """An answer to each prompt at temperature 1, a function of its seed."""
    requests = [
        Request(
            [int(token) for token in prompt],
            max_tokens,
            Choice(temperature=1.0, seed=seed % (1 << 32)),
            stops=tuple(stops),
        )
        for prompt, seed in zip(prompts, seeds, strict=True)
    ]
    found = []
    for answer in answers_in_order(engine, requests):
        ids, logs = list(answer.tokens), list(answer.logprobs)
        if answer.stop is not None:
            ids.append(answer.stop[0])
            logs.append(answer.stop[1])
        assert answer.reason is not None
        found.append(Drawn(np.array(ids, np.int32), np.array(logs, np.float32), answer.reason))
    return found


class Sampler:
    """Draws answers from the policy of a state, at temperature 1.

    With adapters the engine computes with the very arrays of the state. Otherwise it has the layers
    apart, in the type of the computation, made again at each step.
    """

    def __init__(self, model: Aligned, *, dtype: str, slots: int | None, tokens: int) -> None:
        self._model = model
        self._decoder = replace(model.body, dtype=dtype, unroll=True, remat=None)
        self._dtype, self._slots, self._tokens = dtype, slots, tokens
        self._engine: Engine | None = None
        self._whole = jax.jit(self._made)

    def draw(
        self,
        state: TrainState,
        prompts: Sequence[Sequence[int]],
        *,
        answers: int,
        max_tokens: int,
        stops: Sequence[int],
        seed: int,
        step: int,
    ) -> list[Drawn]:
        """So many answers to each prompt, those of one prompt next to each other.

        They are a function of the state, the prompts, the seed and the step.
        """
        params = self.params(state)
        if self._engine is None:
            usual = 8 if jax.default_backend() == "cpu" else 512
            slots = self._slots or min(usual, len(prompts) * answers)
            self._engine = small_engine(self._decoder, params, slots=slots, tokens=self._tokens)
        else:
            self._engine.use(params)
        seeds = [
            derive(seed, "answer", step, at, number)
            for at in range(len(prompts))
            for number in range(answers)
        ]
        asked = [prompt for prompt in prompts for _ in range(answers)]
        return drawn(self._engine, asked, seeds, max_tokens=max_tokens, stops=stops)

    def params(self, state: TrainState) -> Any:
        """All parameters of the policy, with the layers apart, on one device."""
        params, frozen = jax.tree.map(_on_one, (state.params, state.collections))
        if self._model.config.lora is not None:
            # The base is not copied: leaves of LoRA hold the state's arrays.
            trained = jax.tree.map(lambda x: x.astype(self._dtype), params)
            return _policy(self._model.whole(trained, frozen))
        return self._whole(_policy(params))

    def _made(self, params: Any) -> Any:
        return take_apart(jax.tree.map(lambda x: x.astype(self._dtype), params), "layers")


def _policy(params: Any) -> Tree:
    """Without the heads, which rollouts do not need."""
    return Tree({name: x for name, x in params.items() if name not in ("score", "critic")})


def _on_one(x: jax.Array) -> jax.Array:
    """An array on one device; a replicated one is not copied."""
    if len(x.sharding.device_set) == 1:
        return x
    if x.is_fully_replicated:
        part: jax.Array = x.addressable_data(0)
        return part
    here: jax.Array = jax.device_put(x, jax.local_devices()[0])
    return here
