from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from barrow.nn.vocabulary_blocks import token_nats_by_blocks

BATCH, LENGTH, WIDTH, VOCAB = 3, 8, 16, 300


def problem(*, transposed: bool, scale: float = 1.0):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(BATCH, LENGTH, WIDTH)).astype(np.float32)
    weight = scale * rng.normal(size=(VOCAB, WIDTH)).astype(np.float32)
    targets = rng.integers(0, VOCAB, (BATCH, LENGTH)).astype(np.int32)
    # The first and last ids of blocks and of the vocabulary are among them.
    targets[0, :6] = [0, 127, 128, 255, 256, 299]
    return hidden, weight if transposed else weight.T.copy(), targets


def expected(hidden, weight, targets, *, transposed):
    logits = hidden.astype(np.float64) @ (weight.T if transposed else weight).astype(np.float64)
    top = logits.max(-1)
    chosen = np.take_along_axis(logits, targets[..., None].astype(np.int64), -1)[..., 0]
    return top + np.log(np.exp(logits - top[..., None]).sum(-1)) - chosen


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("held", [1, 256 * BATCH * LENGTH, 1 << 20])
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_nats_of_each_target_as_in_float64(transposed: bool, held: int, scale: float) -> None:
    """Blocks of 128 and 256 ids, and one larger than the vocabulary; small and large logits."""
    args = problem(transposed=transposed, scale=scale)
    found = token_nats_by_blocks(*args, transposed=transposed, held=held)
    assert found.dtype == jnp.float32
    assert found.shape == (BATCH, LENGTH)
    np.testing.assert_allclose(found, expected(*args, transposed=transposed), atol=1e-5 * scale)


def test_a_vocabulary_of_whole_blocks() -> None:
    hidden, weight, targets = problem(transposed=True)
    args = hidden, weight[:256], targets % 256
    found = token_nats_by_blocks(*args, transposed=True, held=1)
    np.testing.assert_allclose(found, expected(*args, transposed=True), atol=1e-5)


def test_targets_outside_the_vocabulary_are_nan() -> None:
    hidden, weight, targets = problem(transposed=True)
    targets[0, 0], targets[1, 1] = VOCAB, -1
    found = np.isnan(token_nats_by_blocks(hidden, weight, targets, transposed=True))
    assert found.sum() == 2
    assert found[0, 0]
    assert found[1, 1]


def test_bfloat16_has_float32_logits() -> None:
    hidden, weight, targets = problem(transposed=True, scale=4.0)
    low = [jnp.asarray(x, jnp.bfloat16) for x in (hidden, weight)]
    exact = [np.asarray(x, np.float64) for x in low]
    wanted = expected(*exact, targets, transposed=True)
    found = token_nats_by_blocks(*low, targets, transposed=True)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_other_shapes_are_refused() -> None:
    hidden, weight, targets = problem(transposed=True)
    with pytest.raises(ValueError, match="needs a weight"):
        token_nats_by_blocks(hidden, weight, targets)
