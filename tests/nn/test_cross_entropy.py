"""Cross-entropy in slices, beside PyTorch in float64."""

from __future__ import annotations

import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow.nn.cross_entropy import _nats_and_excess, cross_entropy, token_nats
from barrow.nn.softmax_rows import softmax_rows

BATCH, LENGTH, WIDTH, VOCAB = 3, 8, 16, 37


def problem(*, transposed: bool, scale: float = 1.0):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(BATCH, LENGTH, WIDTH)).astype(np.float32)
    weight = scale * rng.normal(size=(VOCAB, WIDTH)).astype(np.float32)
    targets = rng.integers(0, VOCAB, (BATCH, LENGTH)).astype(np.int32)
    mask = (np.arange(LENGTH) < np.array([[8], [3], [1]])).astype(np.float32)
    return hidden, weight if transposed else weight.T.copy(), targets, mask


@golden("torch")
def by_torch(hidden, weight, targets, mask, *, transposed, bias=None):
    """Sum and gradients, in float64."""
    import torch

    given = (hidden, weight) if bias is None else (hidden, weight, bias)
    leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in given]
    h, w, *b = leaves
    logits = h @ (w.T if transposed else w) + (b[0] if b else 0)
    nats = torch.nn.functional.cross_entropy(
        logits.reshape(-1, VOCAB), torch.tensor(targets).long().reshape(-1), reduction="none"
    )
    total = (nats * torch.tensor(mask).reshape(-1)).sum()
    total.backward()
    return total.item(), *(leaf.grad for leaf in leaves)


@pytest.mark.parametrize(
    ("transposed", "num_slices", "columns"),
    [
        # Half of them have every pair of values.
        pytest.param(
            transposed,
            num_slices,
            columns,
            marks=[] if (transposed + k + (columns == 1)) % 2 else [pytest.mark.soak],
        )
        for transposed in (False, True)
        for k, num_slices in enumerate((None, 1, 2, 8))
        for columns in (1, 128)
    ],
)
def test_value_and_gradients_as_torch_in_float64(transposed, num_slices, columns) -> None:
    arrays = problem(transposed=transposed)
    hidden, weight, targets, mask = arrays

    def ours(hidden, weight):
        return 3 * cross_entropy(
            hidden,
            weight,
            targets,
            mask,
            transposed=transposed,
            num_slices=num_slices,
            columns=columns,
        )

    both = jax.jit(lambda *given: (jax.value_and_grad(ours, (0, 1))(*given), ours(*given)))
    (total, (of_hidden, of_weight)), alone = both(hidden, weight)
    wanted = by_torch(*arrays, transposed=transposed)
    assert total.dtype == jnp.float32
    assert float(total) == pytest.approx(3 * wanted[0], rel=1e-6)
    np.testing.assert_allclose(of_hidden, 3 * wanted[1], atol=1e-5)
    np.testing.assert_allclose(of_weight, 3 * wanted[2], atol=1e-5)
    assert float(alone) == pytest.approx(3 * wanted[0], rel=1e-6)


@pytest.mark.parametrize("num_slices", [1, 4])
def test_gradient_with_the_softmax_of_a_kernel(num_slices, monkeypatch) -> None:
    """As on a GPU, but for the kernel itself: its plain twin takes its place."""
    module = sys.modules["barrow.nn.cross_entropy"]
    used = []
    monkeypatch.setattr(module, "has_kernel", lambda shape, dtype: not used.append(shape))
    monkeypatch.setattr(module, "softmax_kernel", softmax_rows)
    given = problem(transposed=True)
    wanted = by_torch(*given, transposed=True)

    def total(hidden, weight):
        return cross_entropy(hidden, weight, *given[2:], transposed=True, num_slices=num_slices)

    value, grads = jax.jit(jax.value_and_grad(total, argnums=(0, 1)))(*given[:2])
    assert used
    np.testing.assert_allclose(value, wanted[0], rtol=1e-5)
    for ours, theirs in zip(grads, wanted[1:], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_large_logits_are_finite() -> None:
    hidden, weight, targets, mask = problem(transposed=True, scale=1e4)
    value, grads = jax.jit(
        jax.value_and_grad(lambda h: cross_entropy(h, weight, targets, mask, transposed=True))
    )(hidden)
    wanted = by_torch(hidden, weight, targets, mask, transposed=True)
    assert float(value) == pytest.approx(wanted[0], rel=1e-5)
    assert bool(jnp.isfinite(grads).all())


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_half_precision_is_close_and_the_sum_is_float32(dtype) -> None:
    hidden, weight, targets, mask = problem(transposed=True)
    value, (of_hidden, of_weight) = jax.jit(
        jax.value_and_grad(lambda h, w: cross_entropy(h, w, targets, mask, transposed=True), (0, 1))
    )(hidden.astype(dtype), weight.astype(dtype))
    wanted = by_torch(hidden, weight, targets, mask, transposed=True)
    assert (value.dtype, of_hidden.dtype, of_weight.dtype) == (jnp.float32, dtype, dtype)
    assert float(value) == pytest.approx(wanted[0], rel=0.01)
    np.testing.assert_allclose(of_weight.astype(np.float32), wanted[2], atol=0.1)


def test_a_sum_past_float16_whose_mean_is_not() -> None:
    hidden = jnp.full((1, 64, 1), 1200.0, jnp.float16)
    weight = jnp.zeros((2, 1), jnp.float16)
    targets, mask = jnp.zeros((1, 64), jnp.int32), jnp.ones((1, 64))

    def mean(weight):
        return cross_entropy(hidden, weight, targets, mask, transposed=True) / 64

    found = jax.jit(jax.grad(mean))(weight)
    np.testing.assert_allclose(found.astype(np.float32), [[-600], [600]], rtol=1e-3)


def test_the_program_has_no_float32_logits_of_the_whole_batch() -> None:
    batch, length, vocab, num = 4, 64, 640, 8
    hidden = jax.ShapeDtypeStruct((batch, length, 32), jnp.bfloat16)
    weight = jax.ShapeDtypeStruct((vocab, 32), jnp.bfloat16)
    places = jax.ShapeDtypeStruct((batch, length), jnp.int32)

    def largest(num_slices: int) -> int:
        def loss(h, w, t, m):
            return cross_entropy(h, w, t, m, transposed=True, num_slices=num_slices)

        text = jax.jit(jax.grad(loss, (0, 1))).lower(hidden, weight, places, places)
        shapes = re.findall(r"f32\[([\d,]+)\]", text.compile().as_text())
        return max(int(np.prod([int(n) for n in shape.split(",")])) for shape in shapes)

    assert largest(1) == batch * length * vocab
    assert largest(num) <= max(batch * length * vocab // num, vocab * 32)


def test_slices_are_chosen_by_size(monkeypatch) -> None:
    from barrow.nn import cross_entropy as module

    monkeypatch.setattr(module, "HELD", BATCH * LENGTH * VOCAB // 3)
    hidden, weight, targets, mask = problem(transposed=True)
    text = str(
        jax.make_jaxpr(lambda h: cross_entropy(h, weight, targets, mask, transposed=True))(hidden)
    )
    assert f"f32[{BATCH * LENGTH // 4},128]" in text


def test_an_id_that_is_not_in_the_vocabulary_makes_it_nan_unless_masked() -> None:
    hidden, weight, targets, mask = problem(transposed=True)
    nats = jax.jit(lambda targets: cross_entropy(hidden, weight, targets, mask, transposed=True))
    for wrong in (VOCAB, VOCAB + 60, -1, -100):
        known = targets.copy()
        known[1, 7] = wrong
        assert mask[1, 7] == 0
        total = nats(known)
        wanted = by_torch(hidden, weight, targets, mask, transposed=True)[0]
        assert float(total) == pytest.approx(wanted, rel=1e-6)
        known[0, 0] = wrong
        assert np.isnan(nats(known))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"targets": np.zeros((3, 7), np.int32)}, r"targets and mask of shape \(3, 8\)"),
        ({"mask": np.zeros((3, 8, 1))}, r"targets and mask of shape \(3, 8\)"),
        ({"targets": np.zeros((3, 8), np.float32)}, "targets must be integer ids, got float32"),
        ({"hidden": np.zeros((8, 16), np.float32)}, "needs hidden"),
        ({"weight": np.zeros((16, 37), np.float32)}, r"weight \[vocab, width\] with width 16"),
        ({"num_slices": 3}, "a length of 8 cannot be cut into 3 slices"),
        ({"num_slices": 0}, "a length of 8 cannot be cut into 0 slices"),
    ],
)
def test_bad_inputs(change, said) -> None:
    names = ("hidden", "weight", "targets", "mask")
    given = dict(zip(names, problem(transposed=True), strict=True)) | change
    with pytest.raises(ValueError, match=said):
        cross_entropy(**given, transposed=True)


@pytest.mark.parametrize("num_slices", [1, 2])
def test_a_bias_is_added_to_the_logits(num_slices) -> None:
    hidden, weight, targets, mask = problem(transposed=True)
    bias = np.random.default_rng(1).normal(size=VOCAB).astype(np.float32)

    def ours(hidden, weight, bias):
        return cross_entropy(
            hidden, weight, targets, mask, bias=bias, transposed=True, num_slices=num_slices
        )

    value, grads = jax.jit(jax.value_and_grad(ours, argnums=(0, 1, 2)))(hidden, weight, bias)
    total, *wanted = by_torch(hidden, weight, targets, mask, transposed=True, bias=bias)
    np.testing.assert_allclose(value, total, rtol=1e-5)
    for got, gradient in zip(grads, wanted, strict=True):
        np.testing.assert_allclose(got, gradient, atol=1e-4)
    with pytest.raises(ValueError, match=r"bias must have shape \(37,\), got \(36,\)"):
        ours(hidden, weight, bias[1:])


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("held", [1, 4 * VOCAB * BATCH, 1 << 20])
def test_nats_of_each_target(transposed: bool, held: int) -> None:
    hidden, weight, targets, _ = problem(transposed=transposed)
    logits = hidden.astype(np.float64) @ (weight.T if transposed else weight)
    chosen = np.take_along_axis(logits, targets[..., None].astype(np.int64), -1)[..., 0]
    expected = np.log(np.exp(logits).sum(-1)) - chosen
    found = token_nats(hidden, weight, targets, transposed=transposed, held=held)
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_nats_of_targets_outside_the_vocabulary_are_nan() -> None:
    hidden, weight, targets, _ = problem(transposed=True)
    targets[0, 0], targets[1, 1] = VOCAB, -1
    found = np.isnan(token_nats(hidden, weight, targets, transposed=True))
    assert found.sum() == 2
    assert found[0, 0]
    assert found[1, 1]


def test_nats_of_bfloat16_have_float32_logits() -> None:
    """Logits rounded to bfloat16 would be wrong by up to 2^-8 of their size."""
    hidden, weight, targets, _ = problem(transposed=True, scale=4.0)
    low = [jnp.asarray(x, jnp.bfloat16) for x in (hidden, weight)]
    exact = [np.asarray(x, np.float64) for x in low]
    logits = exact[0] @ exact[1].T
    chosen = np.take_along_axis(logits, targets[..., None].astype(np.int64), -1)[..., 0]
    expected = np.log(np.exp(logits).sum(-1)) - chosen
    np.testing.assert_allclose(token_nats(*low, targets, transposed=True), expected, atol=1e-4)


def test_logits_are_read_before_the_kernel_writes_over_them() -> None:
    """Another use of them afterwards would have XLA copy all."""
    rows = jnp.zeros((4, 8), jnp.bfloat16)
    weight = jnp.zeros((2048, 8), jnp.bfloat16)
    given = rows, jnp.zeros(4, jnp.int32), jnp.ones(4, jnp.float32), weight, 2000
    equations = jax.make_jaxpr(_nats_and_excess, static_argnums=4)(*given).eqns
    names = [one.primitive.name for one in equations]
    (logits,) = equations[names.index("dot_general")].outvars
    barrier = names.index("optimization_barrier")
    users = [i for i, one in enumerate(equations) if logits in one.invars]
    assert len(users) == 2
    assert users[-1] == barrier
