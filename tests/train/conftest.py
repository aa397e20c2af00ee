"""Small decoders, ragged batches, and steps on one device or a mesh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.models.decoder import Decoder, DecoderConfig
from barrow.nn.rotary import Rotary
from barrow.parallel import ZERO, constrainer, make_mesh
from barrow.train import (
    OptimizerSettings,
    Placement,
    Schedule,
    StepSettings,
    TrainState,
    causal_objective,
    init_state,
    make_optimizer,
    make_step,
)

TOKENS = jax.ShapeDtypeStruct((1, 8), jnp.int32)
GPT2 = DecoderConfig(vocab_size=96, width=32, layers=2, heads=4, hidden=64, context=16)
LLAMA = replace(
    GPT2,
    kv_heads=2,
    norm="rms",
    activation="silu",
    gated=True,
    rotary=Rotary(),
    attention_bias=False,
    out_bias=False,
    mlp_bias=False,
    tied=False,
)


@dataclass(frozen=True)
class Trial:
    """A model with its step, and the state it begins with."""

    state: TrainState
    step: Any
    placement: Placement | None

    def run(self, *batches: Any) -> tuple[TrainState, list[Any]]:
        """The state after all batches, and the metrics of each."""
        state, found = self.state, []
        for batch in batches:
            state, metrics = self.step(state, batch)
            found.append(jax.device_get(metrics))
        return state, found


@pytest.fixture(scope="session")
def configs() -> dict[str, DecoderConfig]:
    return {"gpt2": GPT2, "llama": LLAMA}


@pytest.fixture(scope="session")
def batch_of() -> Callable[..., dict[str, Any]]:
    """Rows of random tokens of ragged lengths."""

    def make(rows: int = 16, *, seed: int = 0, length: int = 16, vocab: int = 96) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        ids = rng.integers(0, vocab, (rows, length + 1)).astype(np.int32)
        mask = np.arange(length) < rng.integers(1, length + 1, rows)[:, None]
        return {"tokens": ids[:, :-1], "targets": ids[:, 1:], "mask": mask.astype(np.float32)}

    return make


@pytest.fixture(scope="session")
def trial() -> Callable[..., Trial]:
    def make(
        config: DecoderConfig = GPT2,
        settings: StepSettings = StepSettings(),  # noqa: B008 frozen
        *,
        mesh: tuple[int, int] | None = None,
        stage: int = 0,
        rate: float = 1e-3,
        eps: float = 1e-6,
        **how: Any,
    ) -> Trial:
        model = Decoder(config, **how)
        schedule = Schedule(peak=rate, kind="constant")
        optimizer = make_optimizer(OptimizerSettings(schedule=schedule, eps=eps), 100)
        placement = constrain = None
        if mesh is not None:
            laid = make_mesh(data=mesh[0], fsdp=mesh[1], devices=jax.devices()[: mesh[0] * mesh[1]])
            placement = Placement(laid, ZERO[stage], nn.axes(model, TOKENS))
            constrain = constrainer(placement.zero.activations, laid)
        objective = causal_objective(model, is_parted=False, constrain=constrain)
        state = init_state(
            lambda key: model.init(key, TOKENS),
            optimizer,
            settings,
            jax.random.key(0),
            placement=placement,
        )
        return Trial(
            state, make_step(objective, optimizer, settings, placement=placement), placement
        )

    return make


def _apart(ours: Any, theirs: Any) -> float:
    """The largest distance between numbers of two trees."""
    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
    return max(float(np.max(np.abs(jax.device_get(a) - jax.device_get(b)))) for a, b in pairs)


@pytest.fixture(scope="session")
def apart() -> Callable[[Any, Any], float]:
    return _apart
