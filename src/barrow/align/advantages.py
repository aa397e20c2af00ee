"""Advantages of rollouts, on the host: groups of answers, or values of a critic.

Arrays are numpy's, float64 inside. `mask` [rows, length] is 1 at the tokens of answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]
# As TRL and DeepSpeed-Chat have it.
_SMALL = 1e-4


def grouped(rewards: Floats, group: int, *, scaled: bool = True) -> Floats:
    """Each reward minus the mean of its group, divided by the group's deviation if `scaled`.

    Answers to a prompt are next to each other, `group` of them. The deviation is the sample's
    (n − 1); 1e-4 is added to it.
    """
    groups = _groups(rewards, group)
    found: Floats = groups - groups.mean(axis=1, keepdims=True)
    if scaled:
        found = found / (groups.std(axis=1, ddof=1, keepdims=True) + _SMALL)
    return found.reshape(-1)


def leave_one_out(rewards: Floats, group: int) -> Floats:
    """Each reward minus the mean of the others of its group (RLOO)."""
    groups = _groups(rewards, group)
    others = (groups.sum(axis=1, keepdims=True) - groups) / (group - 1)
    found: Floats = groups - others
    return found.reshape(-1)


def generalised(
    rewards: Floats, values: Floats, mask: Floats, *, gamma: float = 1.0, lam: float = 0.95
) -> tuple[Floats, Floats]:
    """Advantages (GAE) and returns at the tokens of answers.

    A_t = Σ_k (γλ)^k · (r_{t+k} + γ·v_{t+k+1} − v_{t+k}); after the last token the value is 0.
    Returns are advantages plus values. Tokens of an answer are next to each other.
    """
    rewards, values = (np.where(mask > 0, x, 0.0) for x in (rewards, values))
    found = np.zeros(rewards.shape)
    after, value = np.zeros(len(rewards)), np.zeros(len(rewards))
    for t in range(rewards.shape[1] - 1, -1, -1):
        is_token = mask[:, t] > 0
        error = rewards[:, t] + gamma * value - values[:, t]
        after = np.where(is_token, error + gamma * lam * after, after)
        value = np.where(is_token, values[:, t], value)
        found[:, t] = np.where(is_token, after, 0.0)
    return found, np.where(mask > 0, found + values, 0.0)


def whitened(x: Floats, mask: Floats, *, shift_mean: bool = True) -> Floats:
    """Numbers at the tokens of answers with mean 0 (if `shift_mean`) and variance 1."""
    weight = mask.sum()
    mean = (x * mask).sum() / weight
    variance = ((x - mean) ** 2 * mask).sum() / max(weight - 1, 1)
    found = (x - mean) / np.sqrt(variance + 1e-8)
    return np.where(mask > 0, found if shift_mean else found + mean, 0.0)


@dataclass(frozen=True)
class AdaptiveKl:
    """The weight of the divergence, adjusted to keep it at a target (Ziegler et al. 2019).

    After a batch of n answers with the divergence d it is multiplied by 1 + e·n / `horizon`, where
    e = d / target − 1, between ± 0.2.
    """

    weight: float
    target: float
    horizon: int = 10_000

    def after(self, divergence: float, num: int) -> AdaptiveKl:
        """The next."""
        error = float(np.clip(divergence / self.target - 1, -0.2, 0.2))
        return AdaptiveKl(self.weight * (1 + error * num / self.horizon), self.target, self.horizon)


def _groups(rewards: Floats, group: int) -> Floats:
    if group < 2 or len(rewards) % group:
        raise ValueError(
            f"groups need at least 2 answers each, and all the same number: got {len(rewards)} "
            f"answers in groups of {group}"
        )
    return np.asarray(rewards, np.float64).reshape(-1, group)
