"""From a base model to one that follows: fine-tuning on chats, preferences and rewards."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barrow.align.card.card import Card, make_card
    from barrow.align.data.settings import Chats, Pairs
    from barrow.align.finish import finish, write_adapter, write_model
    from barrow.align.lora import Lora
    from barrow.align.model import Aligned, AlignedConfig
    from barrow.align.objectives import Preference, Rewards, Sft, preference_objective
    from barrow.align.rollouts.code import UnitTests
    from barrow.align.rollouts.rewards import Exact, Matches, RewardModel, Weighed
    from barrow.align.rollouts.settings import Policy, Prompts
    from barrow.align.runs import (
        AlignSettings,
        align_run,
        grpo_settings,
        ppo_settings,
        preference_settings,
        reward_settings,
        rollout_settings,
        sft_settings,
    )

__all__ = [
    "AlignSettings",
    "Aligned",
    "AlignedConfig",
    "Card",
    "Chats",
    "Exact",
    "Lora",
    "Matches",
    "Pairs",
    "Policy",
    "Preference",
    "Prompts",
    "RewardModel",
    "Rewards",
    "Sft",
    "UnitTests",
    "Weighed",
    "align_run",
    "finish",
    "grpo_settings",
    "make_card",
    "ppo_settings",
    "preference_objective",
    "preference_settings",
    "reward_settings",
    "rollout_settings",
    "sft_settings",
    "write_adapter",
    "write_model",
]

# Loaded on first use: policies are trained where the libraries of archives are not installed.
_HOMES = {
    "card.card": "Card make_card",
    "data.settings": "Chats Pairs",
    "finish": "finish write_adapter write_model",
    "lora": "Lora",
    "model": "Aligned AlignedConfig",
    "objectives": "Preference Rewards Sft preference_objective",
    "rollouts.code": "UnitTests",
    "rollouts.rewards": "Exact Matches RewardModel Weighed",
    "rollouts.settings": "Policy Prompts",
    "runs": "AlignSettings align_run grpo_settings ppo_settings preference_settings "
    "reward_settings rollout_settings sft_settings",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"barrow.align.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'barrow.align' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
