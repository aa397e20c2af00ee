"""Advantages, by hand and against float64 PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.goldens import golden

from barrow.align.advantages import AdaptiveKl, generalised, grouped, leave_one_out, whitened
from barrow.align.policy_losses import clipped_policy, clipped_value


def test_groups() -> None:
    rewards = np.array([1.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 2.0])
    np.testing.assert_allclose(
        grouped(rewards, 4, scaled=False), [0.5, -0.5, -0.5, 0.5, 0, 0, 0, 0]
    )
    deviation = np.std([1, 0, 0, 1], ddof=1) + 1e-4
    np.testing.assert_allclose(
        grouped(rewards, 4)[:4], np.array([0.5, -0.5, -0.5, 0.5]) / deviation
    )
    np.testing.assert_allclose(
        leave_one_out(rewards, 4), [2 / 3, -2 / 3, -2 / 3, 2 / 3, 0, 0, 0, 0], atol=1e-12
    )
    with pytest.raises(ValueError, match="got 8 answers in groups of 3"):
        grouped(rewards, 3)


def test_gae_by_hand() -> None:
    """Three tokens after a prompt of one; γ = 0.9, λ = 0.5.

    | t | r | v   | δ = r + γ·v′ − v       | A = δ + γλ·A′          | R = A + v |
    | 3 | 1 | 0.2 | 1 + 0 − 0.2 = 0.8      | 0.8                    | 1.0       |
    | 2 | 0 | 0.5 | 0 + 0.18 − 0.5 = −0.32 | −0.32 + 0.36 = 0.04    | 0.54      |
    | 1 | 0 | 0.4 | 0 + 0.45 − 0.4 = 0.05  | 0.05 + 0.018 = 0.068   | 0.468     |
    """
    rewards, values = np.array([[9.0, 0, 0, 1, 9]]), np.array([[9.0, 0.4, 0.5, 0.2, 9]])
    mask = np.array([[0, 1, 1, 1, 0]])
    found, returns = generalised(rewards, values, mask, gamma=0.9, lam=0.5)
    np.testing.assert_allclose(found, [[0, 0.068, 0.04, 0.8, 0]], atol=1e-12)
    np.testing.assert_allclose(returns, [[0, 0.468, 0.54, 1.0, 0]], atol=1e-12)


def test_gae_is_the_sum_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=(2, 3, 7))
    mask = np.ones((3, 7))
    mask[1, :2] = mask[2, 5:] = 0
    found, _ = generalised(rewards, values, mask, gamma=0.97, lam=0.9)
    for row in range(3):
        at = np.flatnonzero(mask[row])
        r, v = rewards[row, at], np.append(values[row, at], 0.0)
        for t in range(len(at)):
            terms = [
                (0.97 * 0.9) ** (k - t) * (r[k] + 0.97 * v[k + 1] - v[k]) for k in range(t, len(at))
            ]
            np.testing.assert_allclose(found[row, at[t]], sum(terms), rtol=1e-12)
    assert not found[mask == 0].any()


def test_whitening() -> None:
    x, mask = np.random.default_rng(1).normal(3, 5, (4, 9)), np.ones((4, 9))
    mask[:, 6:] = 0
    for shift in (True, False):
        kept = whitened(x, mask, shift_mean=shift)[mask > 0]
        np.testing.assert_allclose(kept.mean(), 0 if shift else x[mask > 0].mean(), atol=1e-6)
        np.testing.assert_allclose(kept.var(ddof=1), 1, rtol=1e-6)


def test_the_weight_of_the_distance_goes_to_its_target() -> None:
    now = AdaptiveKl(0.1, target=6.0)
    assert now.after(6.0, 256).weight == pytest.approx(0.1)
    assert now.after(60.0, 256).weight == pytest.approx(0.1 * (1 + 0.2 * 256 / 10_000))
    assert now.after(0.0, 256).weight == pytest.approx(0.1 * (1 - 0.2 * 256 / 10_000))


@golden("torch")
def ppo_by_torch(
    now: Any, old: Any, values: Any, before: Any, returns: Any, gain: Any, clip: float
) -> Any:
    """The sum of both losses, and its gradients with respect to log-probabilities and values."""
    import torch

    p, v = (torch.tensor(x, requires_grad=True) for x in (now, values))
    ratio = torch.exp(p - torch.tensor(old))
    advantage, target = torch.tensor(gain), torch.tensor(returns)
    policy = -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
    near = torch.tensor(before) + (v - torch.tensor(before)).clamp(-clip, clip)
    value = 0.5 * torch.maximum((v - target) ** 2, (near - target) ** 2)
    total = policy.sum() + value.sum()
    total.backward()
    return total.item(), p.grad, v.grad


def test_ppo_is_a_float64_reference() -> None:
    """Policy and value losses with their gradients, from the formulas of the paper."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(2)
    now, old, values, before, returns, gain = rng.normal(0, 0.5, (6, 3, 5))
    for clip in (0.2, 0.05):
        total, of_p, of_v = ppo_by_torch(now, old, values, before, returns, gain, clip)

        def ours(p: jax.Array, v: jax.Array, clip: float = clip) -> jax.Array:
            policy = clipped_policy(p, jnp.float32(old), jnp.float32(gain), low=clip, high=clip)
            value = clipped_value(v, jnp.float32(before), jnp.float32(returns), clip=clip)
            return policy.sum() + value.sum()

        found, grads = jax.value_and_grad(ours, (0, 1))(jnp.float32(now), jnp.float32(values))
        np.testing.assert_allclose(found, total, rtol=1e-5)
        np.testing.assert_allclose(grads[0], of_p, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(grads[1], of_v, rtol=1e-5, atol=1e-5)
