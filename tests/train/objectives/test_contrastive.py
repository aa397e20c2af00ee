"""The symmetric loss, beside PyTorch; over eight devices; and the scale's limit (CLIP-12)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.special

from barrow import nn
from barrow.images.normalise import normalise
from barrow.models.clip.config import ClipConfig, ResNetConfig, TextConfig, VisionConfig
from barrow.models.clip.model import CLIP
from barrow.nn.module import init_collections
from barrow.parallel import ZERO, constrainer, make_mesh
from barrow.train import (
    Objective,
    Placement,
    Precision,
    StepSettings,
    decayed,
    init_state,
    make_step,
)
from barrow.train.objectives.contrastive import MAX_LOGIT_SCALE, contrastive_objective, scale_kept

KEY = jax.random.key(0)
CONFIG = ClipConfig(
    embed=8,
    image=VisionConfig(resolution=8, patch=4, width=16, layers=2, heads=2),
    text=TextConfig(vocab_size=32, context=8, width=16, layers=2, heads=2),
)
MODEL = CLIP(CONFIG)

pytestmark = pytest.mark.usefixtures("compiled_once")


def batch(pairs: int = 16, *, seed: int = 0, real: int | None = None, side: int = 8) -> Any:
    rng = np.random.default_rng(seed)
    texts = rng.integers(0, 30, (pairs, 8)).astype(np.int32)
    texts[:, -1] = 31
    return {
        "images": rng.integers(0, 256, (pairs, side, side, 3)).astype(np.uint8),
        "texts": texts,
        "mask": np.arange(pairs) < (pairs if real is None else real),
    }


@pytest.fixture(scope="module")
def params() -> Any:
    return jax.jit(lambda: MODEL.init(KEY, *MODEL.config.example))()


@pytest.fixture(scope="module")
def loss_of(params: Any) -> Any:
    loss = contrastive_objective(MODEL).loss
    return jax.jit(lambda params, rows: loss(params, nn.Tree(), rows, KEY))


def in_float64(params: Any, rows: Any) -> tuple[float, float, float]:
    """Loss of a pair, and both shares of those that find their own first."""
    images, texts, scale = jax.jit(MODEL.apply)(params, normalise(rows["images"]), rows["texts"])
    i, t = (np.asarray(x, np.float64) for x in (images, texts))
    i, t = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (i, t))
    logits = float(scale) * i @ t.T
    own = np.arange(len(logits))
    nats = [-scipy.special.log_softmax(x, axis=1)[own, own].mean() for x in (logits, logits.T)]
    loss = sum(nats) / 2
    found = [float((x.argmax(axis=1) == own).mean()) for x in (logits, logits.T)]
    return float(loss), *found


def test_the_symmetric_loss(params: Any, loss_of: Any) -> None:
    found = loss_of(params, batch())
    wanted, images, texts = in_float64(params, batch())
    assert float(found.total / found.weight) == pytest.approx(wanted, 1e-5)
    assert float(found.weight) == 16
    assert float(found.metrics["image_to_text"].value) == images
    assert float(found.metrics["text_to_image"].value) == texts
    assert float(found.metrics["scale"].value) == pytest.approx(1 / 0.07)


def test_captions_that_tie_count_at_chance(params: Any, loss_of: Any) -> None:
    """One caption for all images says nothing about a model; it was 100% once."""
    rows = batch()
    rows["texts"] = np.repeat(rows["texts"][:1], 16, axis=0)
    found = loss_of(params, rows).metrics
    assert float(found["image_to_text"].value) == pytest.approx(1 / 16)
    assert float(found["text_to_image"].value) == pytest.approx(1 / 16)
    # Two of them alike: those who find it get half.
    rows = batch()
    _, images, _ = in_float64(params, rows)
    rows["texts"][1] = rows["texts"][0]
    assert float(loss_of(params, rows).metrics["image_to_text"].value) <= images + 1 / 16


def test_pairs_that_only_fill_a_batch_do_not_count(params: Any, loss_of: Any) -> None:
    whole = batch(16, real=11)
    part = {name: array[:11] for name, array in whole.items()}
    found = loss_of(params, whole)
    wanted, images, _ = in_float64(params, part)
    assert float(found.total) == pytest.approx(11 * wanted, 1e-5)
    assert float(found.weight) == 11
    assert float(found.metrics["image_to_text"].value) == pytest.approx(images)


def test_before_training_it_is_that_of_guessing() -> None:
    """CLIP: ln N, with the scale at 1: features that know nothing are all alike."""
    model = CLIP(replace(CONFIG, embed=64))
    params = jax.jit(lambda: model.init(KEY, *model.config.example))()
    params |= {"logit_scale": jnp.float32(0)}
    found = jax.jit(contrastive_objective(model).loss)(params, nn.Tree(), batch(64), KEY)
    assert float(found.total / found.weight) == pytest.approx(math.log(64), rel=0.1)


def test_over_eight_devices_every_image_meets_every_text(params: Any, loss_of: Any) -> None:
    """Loss and metrics; gradients are in tests/parallel/test_axes.py."""
    mesh = make_mesh(data=2, fsdp=4)
    placement = Placement(mesh, ZERO[3], nn.axes(MODEL, *MODEL.config.example))
    constrain = constrainer(placement.zero.activations, mesh)
    loss = contrastive_objective(MODEL, constrain=constrain).loss

    @jax.jit
    def spread(params: Any, rows: Any) -> Any:
        params = placement.sharded(params, placement.zero.params)
        return loss(params, nn.Tree(), placement.batch(rows), KEY)

    found, wanted = spread(params, batch()), loss_of(params, batch())
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, wanted)


@pytest.mark.soak
def test_a_step_over_eight_devices_is_that_of_one() -> None:
    """Loss, metrics and gradients (a step of SGD moves by them) ≤ 1e-5 of one device's."""
    rows, settings = batch(32), StepSettings(clip=None, ema=0.5)
    optimizer = scale_kept(optax.sgd(1.0))
    after = []
    for is_spread in (False, True):
        placement = constrain = None
        if is_spread:
            mesh = make_mesh(data=2, fsdp=4)
            placement = Placement(mesh, ZERO[3], nn.axes(MODEL, *MODEL.config.example))
            constrain = constrainer(placement.zero.activations, mesh)
        state = init_state(
            lambda key: MODEL.init(key, *MODEL.config.example),
            optimizer,
            settings,
            KEY,
            placement=placement,
        )
        start = jax.device_get(state.params)
        objective = contrastive_objective(MODEL, constrain=constrain)
        state, metrics = make_step(objective, optimizer, settings, placement=placement)(state, rows)
        after.append(jax.device_get((metrics, state.params)))
        moved = jax.tree.map(lambda a, b: np.abs(a - b).max(), start, after[-1][1])
        assert all(
            distance > 0 for path, distance in nn.paths(moved).items() if "k/bias" not in path
        )
        # What is kept as an average is halfway there.
        jax.tree.map(
            lambda a, b, c: np.testing.assert_allclose(a, (b + c) / 2, atol=1e-6),
            *(jax.device_get(state.ema), start, after[-1][1]),
        )
    # The loss is a sum over pairs: near 200 its last bit is worth more than 1e-5.
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-5), *after)


def test_it_is_never_split() -> None:
    with pytest.raises(ValueError, match="not a sum over rows"):
        make_step(contrastive_objective(MODEL), optax.sgd(0.1), StepSettings(accumulate=2))


def test_the_scale_stays_at_a_hundred() -> None:
    """By the optimizer, after each step, wherever the gradient would lead it."""
    tree = nn.Tree({"logit_scale": jnp.float32(4.5), "other": jnp.float32(4.5)})
    pull = nn.Tree({"logit_scale": jnp.float32(-1.0), "other": jnp.float32(-1.0)})
    optimizer = scale_kept(optax.sgd(0.08))
    state = optimizer.init(tree)
    seen = []
    for way in (1, 1, 1, -1):
        grads = jax.tree.map(lambda g, way=way: g * way, pull)
        updates, state = optimizer.update(grads, state, tree)
        tree = optax.apply_updates(tree, updates)
        seen.append(float(tree["logit_scale"]))
    assert seen[0] == pytest.approx(4.58)
    assert seen[1] == seen[2] == float(MAX_LOGIT_SCALE)
    assert 99.9999 < float(np.exp(np.float32(seen[2]))) <= 100
    assert seen[3] == pytest.approx(seen[2] - 0.08)
    assert float(tree["other"]) == pytest.approx(4.5 + 2 * 0.08)


def test_what_decays(params: Any) -> None:
    """Kernels and tables; no gain, no bias, no class token, and not the scale."""
    chosen = nn.paths(decayed(params))
    assert not chosen["logit_scale"]
    assert not chosen["image/token"]
    for path, decays in chosen.items():
        assert decays == path.endswith(("kernel", "table")), path
    assert chosen["text/positions/table"]
    assert sum(chosen.values()) >= 16


def test_the_scale_is_not_rounded(params: Any) -> None:
    """In bfloat16 a scale of 100 would come in steps of 3; towers compute in bfloat16."""
    small = Precision("bf16").cast(params)
    assert small["logit_scale"].dtype == jnp.float32
    assert small["text"]["embed"]["table"].dtype == jnp.bfloat16
    loss = contrastive_objective(MODEL).loss
    program = str(jax.make_jaxpr(loss)(small, nn.Tree(), batch(), KEY))
    assert "bf16[16,5,16]" in program
    assert "f32[16,5,64]" not in program


def test_a_resnet_learns_its_statistics() -> None:
    config = replace(CONFIG, image=ResNetConfig(32, 2, (1, 1, 1, 1), 2))
    model = CLIP(config)
    params = jax.jit(lambda: model.init(KEY, *model.config.example))()
    held = init_collections(model, *model.config.example)
    rows = batch(8, side=32)
    for mutable in ((), ("batch_stats",)):
        objective: Objective = contrastive_objective(model, mutable=mutable)
        after = jax.jit(objective.loss)(params, held, rows, KEY).collections
        pairs = zip(jax.tree.leaves(held), jax.tree.leaves(after), strict=True)
        assert all((a == b).all() for a, b in pairs) == (mutable == ())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"texts": None}, "the batch has no texts; it has images, mask"),
        ({"mask": np.ones((16, 8))}, r"mask \[pairs\], got images .* mask \(16, 8\)"),
    ],
)
def test_bad_batches(params: Any, change: Any, said: str) -> None:
    rows = {k: v for k, v in (batch() | change).items() if v is not None}
    with pytest.raises(ValueError, match=said):
        contrastive_objective(MODEL).loss(params, nn.Tree(), rows, KEY)
