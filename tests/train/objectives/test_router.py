"""What routers add to the loss of a causal model, and to its metrics (DEEPSPEED-11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.nn.attention.rotary import Rotary
from barrow.nn.layers.experts import ROUTER, Routing
from barrow.train import StepSettings, causal_objective
from barrow.train.objectives.router import with_routers

CONFIG = DecoderConfig(
    vocab_size=96,
    width=16,
    layers=2,
    heads=2,
    hidden=8,
    context=16,
    norm="rms",
    gated=True,
    activation="silu",
    rotary=Rotary(),
    mlp_bias=False,
    experts=Routing(4, 2, capacity=1.0, balance=0.2, z=0.1),
)
KEY = jax.random.key(0)


def test_rows_count_by_their_tokens_and_layers_equally() -> None:
    """By hand: two layers, of which one is not repeated, and two rows."""
    collected = nn.from_paths(
        {
            "layers/mlp/balance": jnp.array([[1.0, 2.0]]),
            "layers/mlp/z": jnp.array([[3.0, 4.0]]),
            "layers/mlp/penalty": jnp.array([[0.5, 1.5]]),
            "layers/mlp/load": jnp.array([[[2.0, 0.0], [1.0, 1.0]]]),
            "layers/mlp/kept": jnp.array([[2.0, 1.0]]),
            "layers/mlp/dropped": jnp.array([[0.0, 1.0]]),
            "last/balance": jnp.array([3.0, 4.0]),
            "last/z": jnp.array([1.0, 2.0]),
            "last/penalty": jnp.array([0.0, 2.0]),
            "last/load": jnp.array([[1.0, 1.0], [2.0, 0.0]]),
            "last/kept": jnp.array([2.0, 2.0]),
            "last/dropped": jnp.array([0.0, 0.0]),
        }
    )
    total, metrics = with_routers(jnp.float32(10.0), collected, jnp.array([3.0, 1.0]))
    assert float(total) == 10.0 + 3 * 0.25 + 1 * 1.75
    values = {name: float(mean.value) for name, mean in metrics.items()}
    assert values == pytest.approx(
        {
            "nats": 10 / 4,
            "balance": (3 * 2 + 1 * 3) / 4,
            "router_z": (3 * 2 + 1 * 3) / 4,
            "dropped": 1 / 8,
            "busiest": (3 / 4 + 3 / 4) / 2,
        }
    )


def test_a_model_without_experts_has_the_same_loss() -> None:
    total = jnp.float32(3.5)
    assert with_routers(total, nn.Tree(), jnp.ones(2)) == (total, {})


@pytest.fixture(scope="module")
def params() -> Any:
    return jax.jit(lambda: Decoder(CONFIG).init(KEY, jax.ShapeDtypeStruct((1, 8), jnp.int32)))()


def packed(batch: dict[str, Any]) -> dict[str, Any]:
    """Rows that end in padding, which has no target."""
    segments = (batch["mask"] > 0).astype(np.int32)
    positions = np.broadcast_to(np.arange(16, dtype=np.int32), segments.shape)
    return batch | {"segments": segments, "positions": positions}


@pytest.mark.parametrize("mask_documents", [True, False])
def test_the_loss_has_its_penalties_in_training(
    params: Any, batch_of: Any, mask_documents: bool
) -> None:
    batch = packed(batch_of(4))
    model = Decoder(CONFIG)

    @jax.jit
    def both(params: Any, batch: Any) -> Any:
        losses = [
            causal_objective(model, mask_documents=mask_documents, is_training=is_training).loss
            for is_training in (True, False)
        ]
        _, collected = model.apply_and_collect(
            params,
            batch["tokens"],
            segments=batch["segments"],
            positions=batch["positions"],
            mutable=(ROUTER,),
        )
        return [loss(params, nn.Tree(), batch, KEY) for loss in losses], collected

    (training, evaluation), collected = both(params, batch)
    wanted = (
        collected[ROUTER]["layers"]["mlp"]["penalty"].mean(axis=0) * batch["mask"].sum(1)
    ).sum()
    nats = training.metrics["nats"]
    assert float(training.total) == pytest.approx(float(nats.total + wanted), rel=1e-6)
    assert float(wanted) > 0.01 * float(nats.total)
    choices = 2 * CONFIG.layers * batch["mask"].sum()
    assert float(training.metrics["dropped"].weight) == choices, "padding chooses no expert"
    assert 0 < float(training.metrics["dropped"].value) < 1
    assert not evaluation.metrics
    assert float(evaluation.total) != float(nats.total), "nothing is dropped outside training"
    # Other tokens in the padding are the same to the loss.
    changed = batch | {"tokens": np.where(batch["segments"] > 0, batch["tokens"], 5)}
    (again, _), _ = both(params, changed)
    assert float(again.total) == pytest.approx(float(training.total), rel=1e-6)


def test_micro_batches_are_the_same_step(trial: Any, batch_of: Any, apart: Any) -> None:
    """Losses of routers, and what is dropped, do not depend on how rows are divided."""
    batch = batch_of(8)
    one, two = (trial(CONFIG, StepSettings(accumulate=num)).run(batch) for num in (1, 2))
    assert apart(one[0].params, two[0].params) < 1e-6
    for name in ("nats", "balance", "router_z", "dropped"):
        first, second = (float(run[1][0].metrics[name].value) for run in (one, two))
        assert first == pytest.approx(second, rel=1e-5), name


def test_routers_stay_in_float32(trial: Any) -> None:
    from barrow.train.precision import Precision

    state = trial(replace(CONFIG, layers=1)).state
    for name in ("bf16", "fp8"):
        precision = Precision(name)
        used = nn.paths(precision.cast(state.params))
        assert used["layers/mlp/router/kernel"].dtype == jnp.float32
        assert used["layers/mlp/experts/up/kernel"].dtype == jnp.bfloat16
        held = precision.prepared(precision.cast(state.params))["layers"]["mlp"]
        assert isinstance(held["router"]["kernel"], jax.Array)
        assert isinstance(held["experts"]["up"]["kernel"], jax.Array)
