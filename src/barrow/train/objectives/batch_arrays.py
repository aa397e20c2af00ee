"""Checks of a batch's arrays before a loss is traced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp


def check_arrays(batch: Mapping[str, Any], *wanted: str, hint: str = "") -> None:
    """Raise unless a batch has all required arrays; `hint` ends the message."""
    if missing := [name for name in wanted if name not in batch]:
        message = f"the batch has no {', '.join(missing)}; it has {', '.join(batch)}"
        raise ValueError(message + hint)


def check_token_arrays(batch: Mapping[str, Any], *others: str, hint: str = "") -> None:
    """Raise unless tokens are [rows, length], and all others exist and have the same shape."""
    check_arrays(batch, "tokens", *others, hint=hint)
    shape = jnp.shape(batch["tokens"])
    for name in ("tokens", *others):
        if len(shape) != 2 or jnp.shape(batch[name]) != shape:
            raise ValueError(
                f"tokens and {name} must be [rows, length], got {shape} and "
                f"{jnp.shape(batch[name])}"
            )
