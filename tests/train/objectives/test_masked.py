"""The objective of masked language models, beside PyTorch on the model's own logits."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from barrow import nn
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.parallel import make_mesh, rows_sharding
from barrow.stream import Mlm
from barrow.train import Precision
from barrow.train.objectives.masked import masked_objective, room_for

KEY = jax.random.key(0)
CONFIG = RobertaConfig(
    vocab_size=97, width=16, layers=1, heads=2, hidden=32, positions=40, dropout=0.0
)
MODEL = Roberta(CONFIG)
MLM = Mlm()

pytestmark = pytest.mark.usefixtures("compiled_once")


@pytest.fixture(scope="module")
def params() -> Any:
    made = jax.jit(lambda: MODEL.init(KEY, jax.ShapeDtypeStruct((1, 1), jnp.int32)))()
    # A bias of zeros would hide that it is forgotten.
    bias = jax.random.normal(jax.random.key(1), (CONFIG.vocab_size,))
    return made | {"lm_head": made["lm_head"] | {"bias": bias}}


def batch(share: float = 0.15, *, rows: int = 16, length: int = 32, seed: int = 0) -> Any:
    """Rows of two documents, the last tokens of some rows being padding."""
    rng = np.random.default_rng(seed)
    shape = rows, length
    real = np.arange(length) < rng.integers(length // 2 + 1, length + 1, rows)[:, None]
    halves = np.broadcast_to(np.arange(length) // (length // 2) + 1, shape)
    return {
        "tokens": rng.integers(2, 97, shape).astype(np.int32),
        "targets": rng.integers(2, 97, shape).astype(np.int32),
        "mask": (rng.random(shape) < share) & real,
        "segments": np.where(real, halves, 0).astype(np.int32),
        "positions": np.broadcast_to(np.arange(length) % (length // 2), shape).astype(np.int32),
    }


def wanted(params: Any, rows: Any, *, mask_documents: bool) -> float:
    """In float64, from the logits of every place."""
    if mask_documents:
        read = {"segments": rows["segments"], "positions": rows["positions"] + 2}
    else:
        length = rows["tokens"].shape[1]
        read = {
            "lengths": (rows["segments"] > 0).sum(1),
            "positions": np.arange(length)[None] + 2,
        }
    every = np.broadcast_to(np.arange(rows["tokens"].shape[1]), rows["tokens"].shape)
    apply = jax.jit(functools.partial(MODEL.apply, method=MODEL.masked_logits))
    logits = np.asarray(apply(params, rows["tokens"], every, **read), np.float64)
    logprobs = scipy.special.log_softmax(logits, axis=-1)
    targets = rows["targets"].astype(np.int64)[..., None]
    return float(-(np.take_along_axis(logprobs, targets, -1)[..., 0] * rows["mask"]).sum())


def test_the_sum_over_hidden_tokens(params: Any) -> None:
    rows = batch()
    for mask_documents in (True, False):
        loss = jax.jit(masked_objective(MODEL, MLM, mask_documents=mask_documents).loss)(
            params, nn.Tree(), rows, KEY
        )
        assert float(loss.total) == pytest.approx(
            wanted(params, rows, mask_documents=mask_documents), 1e-5
        )
        assert float(loss.weight) == rows["mask"].sum()


def test_more_hidden_tokens_than_there_is_room_for_are_all_counted(params: Any) -> None:
    """The same gradient too, whichever way it is taken."""
    rows = batch(0.3)
    assert room_for(8 * 32, MLM) < rows["mask"].reshape(2, -1).sum(1).max()
    ways = [masked_objective(MODEL, Mlm(probability=share)).loss for share in (0.15, 1.0, 0.4)]
    totals, grads = [], []
    for way in ways:
        total = lambda p, way=way: way(p, nn.Tree(), rows, KEY).total  # noqa: E731
        value, grad = jax.jit(jax.value_and_grad(total))(params)
        totals.append(float(value))
        grads.append(grad)
    assert totals == pytest.approx([wanted(params, rows, mask_documents=True)] * 3, 1e-5)
    for other in grads[1:]:
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), grads[0], other)
    assert float(jnp.abs(grads[0]["lm_head"]["bias"]).max()) > 0


def test_the_head_is_computed_at_hidden_places_alone(params: Any) -> None:
    """Its products have as many rows as there is room; the whole head is in the other branch."""
    loss = masked_objective(MODEL, MLM).loss
    program = jax.make_jaxpr(loss)(params, nn.Tree(), batch(), KEY)
    (branched,) = [e for e in program.jaxpr.eqns if e.primitive.name == "cond"]
    whole, gathered = (str(b) for b in branched.params["branches"])
    room = room_for(8 * 32, MLM)
    assert f"f32[{2 * room},128]" in gathered
    assert "f32[512,128]" not in gathered
    assert "f32[512,128]" in whole


def test_no_order_of_sums_in_the_gradient_of_hidden_states(params: Any) -> None:
    """ACCELERATE-11: XLA would sort the terms of a gradient that may have several for a place."""
    loss = masked_objective(MODEL, MLM).loss
    text = jax.jit(jax.grad(lambda p: loss(p, nn.Tree(), batch(), KEY).total)).lower(params)
    scatters = re.findall(r'scatter"\(.*?-> tensor<2x256x16xf32>', text.as_text(), re.DOTALL)
    assert scatters
    assert all("unique_indices = true" in one.rpartition('scatter"(')[2] for one in scatters)


def test_room() -> None:
    """Four standard deviations above what is expected, in multiples of eight."""
    assert room_for(4096, Mlm()) == 712  # 614.4 + 4 · 22.85
    assert room_for(4096, Mlm(whole_word=True)) == 800
    assert room_for(64, Mlm(probability=1.0)) == 64
    assert room_for(64, Mlm(probability=0.0)) == 8
    drawn = np.random.default_rng(0).binomial(4096, 0.15, 100_000)
    assert (drawn > 712).mean() < 1e-4


@pytest.mark.parametrize("rows", [12, 7])
def test_any_number_of_rows(params: Any, rows: int) -> None:
    made = batch(rows=rows)
    loss = jax.jit(masked_objective(MODEL, MLM).loss)(params, nn.Tree(), made, KEY)
    assert float(loss.total) == pytest.approx(wanted(params, made, mask_documents=True), 1e-5)


def test_nothing_hidden(params: Any) -> None:
    loss = jax.jit(masked_objective(MODEL, MLM).loss)(params, nn.Tree(), batch(0.0), KEY)
    assert (float(loss.total), float(loss.weight)) == (0, 0)


def test_over_devices_it_is_the_same(params: Any) -> None:
    rows = batch(rows=64)
    objective = jax.jit(jax.value_and_grad(lambda p, b: loss(p, nn.Tree(), b, KEY).total))
    loss = masked_objective(MODEL, MLM).loss
    alone = objective(params, rows)
    spread = objective(params, jax.device_put(rows, rows_sharding(make_mesh())))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), alone, spread)


def test_activations_have_the_type_of_the_parameters_and_dropout_is_drawn(params: Any) -> None:
    dropped = replace(MODEL, config=replace(CONFIG, dropout=0.5))
    loss = jax.jit(masked_objective(dropped, MLM).loss)
    small = Precision("bf16").cast(params)
    program = str(jax.make_jaxpr(loss)(small, nn.Tree(), batch(), KEY))
    assert ":bf16[512,32] = dot_general" in program
    assert ":f32[512,32] = dot_general" not in program
    found = [float(loss(params, nn.Tree(), batch(), k).total) for k in jax.random.split(KEY)]
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"targets": None, "mask": None}, "the batch has no targets, mask; it has tokens"),
        (
            {"mask": np.ones((16, 31))},
            r"tokens and mask must be .rows, length., got \(16, 32\) and \(16, 31\)",
        ),
    ],
)
def test_bad_batches(params: Any, change: Any, said: str) -> None:
    rows = {k: v for k, v in (batch() | change).items() if v is not None}
    with pytest.raises(ValueError, match=said):
        masked_objective(MODEL, MLM).loss(params, nn.Tree(), rows, KEY)
