"""Log-probabilities and entropies by slices, against float64."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from barrow.nn.token_logprobs import token_logprobs


def test_against_float64_in_any_number_of_slices() -> None:
    rng = np.random.default_rng(0)
    hidden, weight = rng.normal(size=(2, 6, 5)), rng.normal(size=(5, 11))
    targets = rng.integers(0, 11, (2, 6))
    logs = scipy.special.log_softmax(hidden @ weight, axis=-1)
    wanted = np.take_along_axis(logs, targets[..., None], -1)[..., 0]
    entropy = -(np.exp(logs) * logs).sum(-1)
    h, w = jnp.float32(hidden), jnp.float32(weight)
    above = rng.normal(size=(2, 6))
    # d/dlogits of Σ above · log p is above · (onehot − p).
    excess = above[..., None] * (np.eye(11)[targets] - np.exp(logs))
    for held in (10_000, 1):

        def total(h: jax.Array, w: jax.Array, held: int = held) -> jax.Array:
            logprobs, spread = token_logprobs(h, w, targets, held=held)
            return jnp.sum(logprobs * above) + jnp.sum(spread)

        @jax.jit
        def all_of_them(h: jax.Array, w: jax.Array) -> Any:
            return token_logprobs(h, w, targets, held=held), jax.grad(total, (0, 1))(h, w)  # noqa: B023 called here

        (found, spread), (of_h, of_w) = all_of_them(h, w)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(spread, entropy, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(of_h, excess @ weight.T, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(
            of_w, np.einsum("bti,btv->iv", hidden, excess), rtol=1e-4, atol=1e-5
        )
    assert np.isnan(token_logprobs(h, w, jnp.full((2, 6), 11))[0]).all()
    tied, _ = token_logprobs(h, w.T, targets, transposed=True)
    np.testing.assert_allclose(tied, wanted, rtol=1e-5, atol=1e-5)


def test_no_array_of_the_whole_vocabulary_is_kept() -> None:
    rows, length, width, vocab = 4, 64, 8, 4096
    shapes = [jax.ShapeDtypeStruct(s, jnp.float32) for s in ((rows, length, width), (width, vocab))]
    targets = jax.ShapeDtypeStruct((rows, length), jnp.int32)

    def bytes_of(held: int) -> int:
        def total(h: jax.Array, w: jax.Array, t: jax.Array) -> jax.Array:
            return token_logprobs(h, w, t, held=held)[0].sum()

        program = jax.jit(jax.grad(total, (0, 1))).lower(*shapes, targets).compile()
        return int(program.memory_analysis().temp_size_in_bytes)

    assert bytes_of(rows * vocab) < 0.25 * bytes_of(1 << 30)
    assert bytes_of(rows * vocab) < rows * length * vocab * 4
