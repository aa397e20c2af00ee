"""Rotary positions in config.json, in old and new forms."""

from __future__ import annotations

from typing import Any

from barrow.models.huggingface.settings import Settings
from barrow.nn.attention.rotary import RopeScaling, Rotary

NEOX_SHARE = 0.25


def rotary_of(hf: Settings, *, head_dim: int, share: float) -> Rotary:
    """Rotary positions; `share` is the family's default part of a head that is rotated.

    Newer files have one object `rope_parameters`, older ones `rope_theta` (GPT-NeoX:
    `rotary_emb_base`), `rotary_pct` and `rope_scaling`.
    """
    new, old = hf.table("rope_parameters"), hf.table("rope_scaling")
    scaling = new or old or Settings({})
    base = scaling.number(
        "rope_theta", hf.number("rope_theta", hf.number("rotary_emb_base", 10_000.0))
    )
    share = scaling.number(
        "partial_rotary_factor", hf.number("partial_rotary_factor", hf.number("rotary_pct", share))
    )
    dim = int(head_dim * share)
    return Rotary(base, None if dim == head_dim else dim, _stretch_of(scaling))


def _stretch_of(scaling: Settings) -> RopeScaling | None:
    kind = scaling.text("rope_type", scaling.text("type", "default"))
    if kind == "default":
        return None
    if kind == "linear":
        return RopeScaling(scaling.number("factor", 1.0))
    if kind == "llama3":
        return RopeScaling(
            scaling.number("factor", 8.0),
            scaling.number("low_freq_factor", 1.0),
            scaling.number("high_freq_factor", 4.0),
            scaling.count("original_max_position_embeddings", 8192),
        )
    raise ValueError(f"config.json: rope_type {kind!r} must be default, linear or llama3")


def hf_rope(rotary: Rotary, *, head_dim: int, share: float) -> dict[str, Any]:
    """The same for `transformers`: the new object, and the old keys for older versions."""
    turned = 1.0 if rotary.dim is None else rotary.dim / head_dim
    stretch = rotary.stretch
    scaling: dict[str, Any] = {}
    if stretch is not None and stretch.low == stretch.high:
        scaling = {"rope_type": "linear", "factor": stretch.factor}
    elif stretch is not None:
        scaling = {
            "rope_type": "llama3",
            "factor": stretch.factor,
            "low_freq_factor": stretch.low,
            "high_freq_factor": stretch.high,
            "original_max_position_embeddings": stretch.original,
        }
    partial = {} if turned == share == 1.0 else {"partial_rotary_factor": turned}
    parameters = {"rope_theta": rotary.base, "rope_type": "default", **partial, **scaling}
    old = {"rotary_pct": turned, "rotary_emb_base": rotary.base} if partial else {}
    return {
        "rope_parameters": parameters,
        "rope_theta": rotary.base,
        "rope_scaling": scaling or None,
        **old,
    }
