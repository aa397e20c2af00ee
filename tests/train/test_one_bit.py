"""Adam by signs (DEEPSPEED-12): bytes of the compiled program, errors that are kept, losses."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from barrow import nn
from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.parallel import ZERO, make_mesh
from barrow.parallel.collectives import collectives
from barrow.parallel.placement import Placement
from barrow.train import (
    AdamW,
    Constant,
    Cosine,
    MeshSettings,
    Objective,
    OneBitAdam,
    Precision,
    Run,
    StepSettings,
    causal_objective,
    fit,
    init_state,
    make_step,
)
from barrow.train.objectives.objective import Loss
from barrow.train.one_bit import Errors, OneBitStep, exchange, pack, unpack
from barrow.train.program import make_program
from barrow.train.trackers import read_log

RNG = np.random.default_rng(0)
WARMUP = 40


def test_bits_and_scales() -> None:
    blocks = np.tile([1.0, -2.0, 3.0, -4.0, 5.0, 6.0, -7.0, 8.0], (1, 8))
    one, two = (pack(jnp.asarray(blocks), bits=bits) for bits in (1, 2))
    scale = np.frombuffer(np.float32(4.5).tobytes()[2:], np.uint8).tolist()
    assert one.tolist() == [[*scale, *[0b10101101] * 8]]
    assert two.tolist() == [[*scale, *[0b10101101] * 8, *[0b00000111] * 8]]  # above 1.23 · 4.5
    assert unpack(one).tolist() == (4.5 * np.sign(blocks)).tolist()
    sizes = np.where(np.abs(blocks) > 5.5, 1.893 * 4.5, 0.567 * 4.5)
    np.testing.assert_allclose(unpack(two), sizes * np.sign(blocks), rtol=1e-6)


def test_two_bits_leave_out_an_eighth_of_normal_numbers() -> None:
    """The shares of variance that the best quantizers of one and two bits leave (Max, 1960)."""
    blocks = RNG.normal(size=(2000, 64)).astype(np.float32)
    for bits, share in ((1, 0.3634), (2, 0.1175)):
        left = blocks - np.asarray(unpack(pack(jnp.asarray(blocks), bits=bits)))
        assert np.square(left).mean() == pytest.approx(share, rel=0.03)


def test_what_an_exchange_leaves_out_is_kept() -> None:
    """Sums over steps: what arrived and the errors are all that was sent, to rounding."""
    mesh = make_mesh()
    rows = PartitionSpec("data")
    step = jax.jit(
        jax.shard_map(
            lambda x, e: jax.tree.map(
                lambda y: y[None], exchange(x[0], jax.tree.map(lambda y: y[0], e))
            ),
            mesh=mesh,
            in_specs=(rows, rows),
            out_specs=(rows, rows),
        )
    )
    vectors = RNG.normal(size=(6, 8, 5000)).astype(np.float32)
    errors = Errors(jnp.zeros((8, 5120)), jnp.zeros((8, 640)))
    arrived = np.zeros(5000)
    for vector in vectors:
        found, errors = step(vector, errors)
        assert np.ptp(np.asarray(found), axis=0).max() == 0  # the same on all devices
        arrived += np.asarray(found)[0]
    left = np.asarray(errors.sent).mean(0) + np.asarray(errors.averaged).reshape(-1)
    np.testing.assert_allclose(arrived + left[:5000], vectors.mean(1).sum(0), atol=1e-4)


# A network of 33,000 parameters that learns a function of its input.
SIZES = (32, 128, 128, 96)
TRUE = RNG.normal(size=(32, 96)) / 6


def init(key: jax.Array) -> Any:
    keys = jax.random.split(key, 3)
    shapes = pairwise(SIZES)
    return nn.Tree(
        {
            f"layer{i}": nn.Tree({"kernel": jax.random.normal(keys[i], (a, b)) / a**0.5})
            for i, (a, b) in enumerate(shapes)
        }
    )


def loss(params: Any, collections: Any, batch: Any, key: Any) -> Loss:
    hidden = batch["x"]
    for i in range(3):
        hidden = hidden @ params[f"layer{i}"]["kernel"]
        hidden = jnp.tanh(hidden) if i < 2 else hidden
    errors = jnp.square(hidden - batch["y"]).mean(1)
    return Loss(errors.sum(), jnp.float32(len(errors)), {}, collections)


def batch(step: int) -> dict[str, Any]:
    x = np.random.default_rng(step).normal(size=(64, 32)).astype(np.float32)
    return {"x": x, "y": np.sin(x @ TRUE).astype(np.float32)}


@pytest.fixture(scope="module")
def steps() -> dict[str, Any]:
    """A step and a state, with bits and without."""
    shapes = jax.eval_shape(init, jax.random.key(0))
    axes = jax.tree.map(lambda x: (None,) * x.ndim, shapes)
    placement = Placement(make_mesh(), ZERO[0], axes)
    settings, rate = StepSettings(clip=None), Constant(peak=3e-3)
    made = {}
    for name, optimizer, make in (
        ("plain", AdamW(rate).make(300), make_step),
        ("bits", OneBitAdam(WARMUP, rate).make(300), OneBitStep),
    ):
        state = init_state(init, optimizer, settings, jax.random.key(0), placement=placement)
        made[name] = make(Objective(loss), optimizer, settings, placement=placement), state
    return made


def trained(step: Any, state: Any, num: int) -> tuple[Any, list[float]]:
    state, losses = jax.tree.map(jnp.copy, state), []
    for number in range(num):
        state, metrics = step(state, batch(number))
        losses.append(float(metrics.loss.value))
    return state, losses


def test_losses_and_bytes(steps: dict[str, Any]) -> None:
    """The first steps are AdamW's; then ≥ 16 × fewer bytes; the loss is within 1 %."""
    (plain, first), (bits, start) = steps["plain"], steps["bits"]
    _, expected = trained(plain, first, 120)
    state, found = trained(bits, start, 120)
    assert found[:WARMUP] == pytest.approx(expected[:WARMUP], rel=1e-6)
    assert expected[-1] < expected[0] / 2
    assert np.mean(found[-10:]) == pytest.approx(np.mean(expected[-10:]), rel=0.01)

    def sent(lowered: Any) -> float:
        return sum(one.sent for one in collectives(lowered.compile().as_text()))

    before = sent(plain.lower(first, batch(0)))
    after = sent(bits.compressed.lower(state, batch(0)))
    num = sum(a * b for a, b in pairwise(SIZES))
    assert before >= 2 * 4 * num * 7 / 8  # each gradient in float32, around a ring
    assert before / after >= 16


def test_a_batch_that_is_not_finite_changes_nothing_but_the_number(steps: dict[str, Any]) -> None:
    bits, start = steps["bits"]
    state = replace(jax.tree.map(jnp.copy, start), step=jnp.int32(WARMUP))
    before = jax.device_get(replace(state, key=None))
    bad = batch(0)
    bad["x"][3, 3] = np.inf
    after, metrics = bits(state, bad)
    assert int(metrics.bad_tensor) != -1
    jax.tree.map(
        np.testing.assert_array_equal,
        replace(before, step=before.step + 1),
        jax.device_get(replace(after, key=None)),
    )


def test_what_is_refused(run: Run) -> None:
    with pytest.raises(ValueError, match="warmup must be ≥ 1, got 0"):
        OneBitAdam(0)
    bits = replace(run, optimizer=OneBitAdam(2))
    with pytest.raises(ValueError, match="use mesh.data=8, no other axis .* got data=4, fsdp=2"):
        make_program(replace(bits, mesh=MeshSettings(fsdp=2)))
    with pytest.raises(ValueError, match="needs fp32 or bf16"):
        make_program(replace(bits, step=StepSettings(precision=Precision("fp16"))))


@pytest.mark.soak
@pytest.mark.parametrize("warmup", [50, 75])
def test_a_decoder_that_learns_english(warmup: int) -> None:
    """300 steps on the help texts of Python, with clipping and a schedule: ≤ 1 % above AdamW."""
    text = " ".join(topics.values()).encode()
    ids = np.frombuffer(text, np.uint8).astype(np.int32)
    model = Decoder(
        DecoderConfig(vocab_size=256, width=64, layers=2, heads=4, hidden=256, context=64)
    )
    example = jax.ShapeDtypeStruct((1, 64), jnp.int32)
    placement = Placement(make_mesh(), ZERO[0], nn.axes(model, example))
    objective, settings = causal_objective(model, mask_documents=False), StepSettings()
    schedule, losses = Cosine(peak=3e-3, warmup=0.1), []
    for optimizer, make in (
        (AdamW(schedule).make(300), make_step),
        (OneBitAdam(warmup, schedule).make(300), OneBitStep),
    ):
        state = init_state(
            lambda key: model.init(key, example),
            optimizer,
            settings,
            jax.random.key(0),
            placement=placement,
        )
        step: Any = make(objective, optimizer, settings, placement=placement)
        found = []
        for number in range(300):
            starts = np.random.default_rng(number).integers(0, len(ids) - 65, 32)
            rows = np.stack([ids[at : at + 65] for at in starts])
            made = {"tokens": rows[:, :-1], "targets": rows[:, 1:]}
            state, metrics = step(state, made | {"mask": np.ones((32, 64), np.float32)})
            found.append(float(metrics.loss.value))
        losses.append(np.array(found))
    plain, bits = losses
    assert plain[-20:].mean() < 0.9 * plain[50:70].mean()  # much is learned after the warm-up
    # Kept second moments are less noisy than AdamW's: the loss may be lower.
    assert 0.97 < bits[-20:].mean() / plain[-20:].mean() < 1.01


@pytest.mark.soak
def test_a_run_of_a_decoder_and_its_resumption(run: Run, tmp_path: Path) -> None:
    """Through `fit`, with micro-batches, and stopped in the middle."""
    settings = replace(
        run,
        steps=60,
        data=replace(run.data, batch=32),
        step=StepSettings(accumulate=2),
        log_every=1,
    )
    made = replace(settings, optimizer=OneBitAdam(20, Constant(peak=3e-3)))
    for steps, name in ((30, "parts"), (60, "parts"), (60, "whole")):
        fit(replace(made, steps=steps), tmp_path / name)
    parts, whole = (
        [line["loss"] for line in read_log(tmp_path / name / "log.jsonl")]
        for name in ("parts", "whole")
    )
    assert parts == whole
    assert whole[-1] < whole[20] - 0.5
