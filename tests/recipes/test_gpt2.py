from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from barrow import config
from barrow.models import Decoder
from barrow.nn import num_params
from barrow.recipes import TRAINING, gpt2, llama
from barrow.train import Run


def size(run: Run) -> int:
    tokens = jax.ShapeDtypeStruct((1, 1), jnp.int32)
    shapes = jax.eval_shape(lambda: Decoder(run.model).init(jax.random.key(0), tokens))
    return num_params(shapes)


@pytest.mark.parametrize(
    ("name", "wanted"),
    # As OpenAI's and TinyLlama's own files have them.
    [("small", 124_439_808), ("medium", 354_823_168), ("1b", 1_100_048_384)],
)
def test_sizes(name: str, wanted: int) -> None:
    made = {**llama.RUNS, **gpt2.RUNS}[name]()
    assert size(made) == wanted


def test_tiny_is_tiny() -> None:
    assert size(gpt2.tiny()) < 1_000_000
    assert size(llama.tiny()) < 1_500_000
    assert {run.step.precision.name for run in (gpt2.tiny(), llama.tiny())} == {"fp32"}


@pytest.mark.parametrize("module", [gpt2, llama])
def test_runs_are_settings(module: object) -> None:
    assert module.__name__.rpartition(".")[2] in TRAINING  # type: ignore[attr-defined]
    for make in module.RUNS.values():  # type: ignore[attr-defined]
        run = make()
        assert run == make()
        assert config.from_json(Run, config.to_json(run)) == run
        assert run.seq_len == run.model.context
        assert run.store == ""
        assert run.optimizer.schedule.warmup < run.steps


@pytest.mark.parametrize("devices", [1, 2, 4, 8])
def test_batches_divide(devices: int) -> None:
    for make in (*gpt2.RUNS.values(), *llama.RUNS.values()):
        run = make()
        assert all(batch % (devices * run.step.accumulate) == 0 for batch in run.batches)


def test_tokens_of_a_run() -> None:
    small = gpt2.small()
    assert small.steps * small.batches[0] * small.seq_len == pytest.approx(10e9, rel=1e-3)
    large = llama.one_b()
    assert large.steps * large.batches[0] * large.seq_len == pytest.approx(26.2e9, rel=1e-2)
    assert replace(large, steps=1).mesh.zero == 3
