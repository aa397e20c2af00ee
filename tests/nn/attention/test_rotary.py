from __future__ import annotations

import importlib
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow.nn.attention.rotary import RopeScaling, Rotary

LENGTH = 20


def heads(dim: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(dim).standard_normal((2, LENGTH, 3, dim)).astype(np.float32)


@golden("torch", "transformers")
def by_transformers(
    family: str,
    options: dict[str, Any],
    x: np.ndarray[Any, Any],
    at: np.ndarray[Any, Any],
    exact: np.ndarray[Any, Any],
) -> Any:
    """Frequencies of transformers, and queries as it rotates them with the `exact` ones.

    Its own are float32 all the way, which a thousand positions on rotates by 1e-4 elsewhere.
    """
    import torch
    import transformers

    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    kind = {"gpt_neox": "GPTNeoX", "llama": "Llama"}[family]
    config = getattr(transformers, f"{kind}Config")(
        hidden_size=96, num_attention_heads=3, **options
    )
    q = torch.tensor(x).transpose(1, 2)  # it has heads before places
    embedding = getattr(module, f"{kind}RotaryEmbedding")(config)
    frequencies = embedding.inv_freq.numpy()
    embedding.inv_freq = torch.tensor(exact, dtype=torch.float32)
    cos, sin = embedding(q, torch.tensor(at))
    return frequencies, module.apply_rotary_pos_emb(q, q, cos, sin)[0].transpose(1, 2)


def rotated_by_transformers(
    family: str,
    options: dict[str, Any],
    x: np.ndarray[Any, Any],
    at: np.ndarray[Any, Any],
    ours: Rotary,
) -> Any:
    exact = ours.frequencies(x.shape[-1])
    frequencies, rotated = by_transformers(family, options, x, at, exact)
    np.testing.assert_allclose(frequencies, exact, rtol=5e-7)
    return rotated


@pytest.mark.parametrize("offset", [0, 1000])
@pytest.mark.parametrize(
    ("rope", "rotary"),
    [
        ({"rope_type": "default", "rope_theta": 10_000.0}, Rotary()),
        ({"rope_type": "default", "rope_theta": 500_000.0}, Rotary(500_000.0)),
        (
            {"rope_type": "linear", "factor": 4.0, "rope_theta": 10_000.0},
            Rotary(stretch=RopeScaling(4.0)),
        ),
        (
            {
                "rope_type": "llama3",
                "rope_theta": 500_000.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            },
            Rotary(500_000.0, stretch=RopeScaling(8.0, 1.0, 4.0, 64)),
        ),
    ],
    ids=["plain", "other base", "linear", "llama3"],
)
def test_as_transformers_turns_llama(rope: dict[str, Any], rotary: Rotary, offset: int) -> None:
    """FLAX-7: rotary positions, Llama's, also stretched to longer contexts."""
    options = {"max_position_embeddings": 2048, "rope_parameters": rope}
    x = heads(32)
    at = np.broadcast_to(offset + np.arange(LENGTH), (2, LENGTH))
    expected = rotated_by_transformers("llama", options, x, at, rotary)
    np.testing.assert_allclose(rotary(x, jnp.asarray(at)), expected, atol=1e-5)


def test_as_transformers_turns_a_quarter_of_neox() -> None:
    """FLAX-7: GPT-NeoX turns the first quarter of a head."""
    x = heads(32)
    at = np.broadcast_to(np.arange(LENGTH), (2, LENGTH))
    ours = np.asarray(Rotary(dim=8)(x, jnp.asarray(at)))
    expected = rotated_by_transformers("gpt_neox", {"rotary_pct": 0.25}, x, at, Rotary(dim=8))
    np.testing.assert_allclose(ours, expected, atol=1e-5)
    assert np.array_equal(ours[..., 8:], x[..., 8:])


def test_products_depend_on_distance_alone() -> None:
    x = heads(32)
    rotary = Rotary()
    at = np.broadcast_to(np.arange(LENGTH), (2, LENGTH))
    near, far = (np.asarray(rotary(x, jnp.asarray(at + n))) for n in (0, 77))
    product = [np.einsum("bqhd,bkhd->bhqk", turned, turned) for turned in (near, far)]
    np.testing.assert_allclose(product[0], product[1], atol=1e-3)


def test_angles_are_exact_in_bfloat16() -> None:
    x = jnp.ones((1, 1, 1, 4), jnp.bfloat16)
    at = jnp.asarray([[1001]])
    exact = Rotary()(x.astype(jnp.float32), at)
    low = Rotary()(x, at)
    assert low.dtype == jnp.bfloat16
    np.testing.assert_allclose(low.astype(jnp.float32), exact, atol=0.01)


def test_odd_or_too_large_parts_are_refused() -> None:
    for dim in (7, 10, 0):
        with pytest.raises(ValueError, match=f"even and at most head_dim 8, got {dim}"):
            Rotary(dim=dim).frequencies(8)
