"""What the backward pass computes again, by name."""

from __future__ import annotations

from typing import Literal

from barrow.nn.layers.remat import ATTENTION_ONLY, EVERYTHING, Policy

Remat = Literal["none", "attention", "all"]


def policy_of(name: Remat) -> Policy | None:
    """The policy of a name; None where nothing is computed again."""
    return {"none": None, "attention": ATTENTION_ONLY, "all": EVERYTHING}[name]
