"""Our parameters and the tensors of Hugging Face's files: explicit tables, read in both directions.

A line of a table is one tensor of theirs and the one to three parameters of ours in it. What is
done to the numbers is data too: their array is split into dimensions, these are put into our order,
and where parameters are fused the first dimension separates them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.models.decoder.model import DecoderConfig

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Line:
    """One tensor of theirs: its key, the parameters in it, how it is split, and our order.

    "{}" in a key is the number of a layer; such a parameter of ours holds all layers, the first
    dimension. `groups` says how many of the split dimensions make one dimension of theirs.
    `num_experts`: theirs is a tensor for each expert, a second "{}"; ours holds them all.
    """

    key: str
    paths: tuple[str, ...]
    split: tuple[int, ...]
    groups: tuple[int, ...]
    order: tuple[int, ...]
    num_experts: int | None = None

    @property
    def is_layered(self) -> bool:
        """Whether each layer has a tensor of this kind."""
        return "{}" in self.key

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of their tensor."""
        ends = np.cumsum(self.groups)
        parts = zip(ends - self.groups, ends, strict=True)
        return tuple(math.prod(self.split[a:b]) for a, b in parts)

    @property
    def num_elements(self) -> int:
        """Numbers in their tensor, or in those of all experts."""
        return math.prod(self.split) * (self.num_experts or 1)

    def keys(self, layer: int) -> list[str]:
        """Their keys of a layer, one for each expert if experts have their own."""
        return [self.key.format(layer, expert) for expert in range(self.num_experts or 1)]

    @property
    def our_shape(self) -> tuple[int, ...]:
        """The shape of each of our parameters, of one layer."""
        turned = tuple(self.split[i] for i in self.order)
        turned = turned[1:] if len(self.paths) > 1 else turned
        return turned if self.num_experts is None else (self.num_experts, *turned)

    def ours(self, theirs: Array) -> tuple[Array, ...]:
        """Our parameters from their tensor (views where possible)."""
        turned = theirs.reshape(self.split).transpose(self.order)
        return tuple(turned) if len(self.paths) > 1 else (turned,)

    def read(self, tensors: Mapping[str, Array], keys: Sequence[str], part: int) -> Array:
        """One of our parameters from the tensors of a file, of one layer."""
        if self.num_experts is None:
            return self.ours(tensors[keys[0]])[part]
        return np.stack([self.ours(tensors[key])[part] for key in keys])

    def theirs(self, ours: Sequence[Array]) -> Array:
        """Their tensor from our parameters."""
        turned = np.stack(ours) if len(self.paths) > 1 else ours[0]
        return turned.transpose(np.argsort(self.order)).reshape(self.shape)


def lines_of(family: str, config: DecoderConfig, keys: Collection[str] = ()) -> tuple[Line, ...]:
    """All tensors of a family's files for this architecture; `keys` are those of a file.

    Experts have a tensor each, or all of a layer one, if the file has such a key.
    """
    if family not in _TABLES:
        is_stacked = any(key.endswith("experts.gate_up_proj") for key in keys)
        return tuple(_llama(config, family, is_stacked=is_stacked))
    return tuple(_TABLES[family](config))


def same(key: str, path: str, *shape: int) -> Line:
    """A tensor that is the same as ours."""
    return Line(key, (path,), shape, (1,) * len(shape), tuple(range(len(shape))))


def linear(key: str, path: str, num_in: int, num_out: int) -> Line:
    """[out, in] of torch.nn.Linear; ours is [in, out]."""
    return Line(key, (path,), (num_out, num_in), (1, 1), (1, 0))


def _biased(lines: list[Line], *, bias: bool) -> list[Line]:
    return lines if bias else lines[:1]


def norm(key: str, path: str, width: int, *, bias: bool = True) -> list[Line]:
    """Scale and bias of a norm."""
    scale = same(f"{key}.weight", f"{path}/scale", width)
    return _biased([scale, same(f"{key}.bias", f"{path}/bias", width)], bias=bias)


def _qkv(name: str) -> tuple[str, ...]:
    return tuple(f"layers/attention/{part}/{name}" for part in "qkv")


def _gpt2(config: DecoderConfig) -> list[Line]:
    """Conv1D: weights are [in, out] as ours; c_attn is q, k, v beside one another."""
    width, heads, dim, hidden = config.width, config.heads, config.size_of_head, config.hidden
    mlp, back = "layers/mlp", "layers/attention/out"
    return [
        same("transformer.wte.weight", "embed/table", config.vocab_size, width),
        same("transformer.wpe.weight", "positions/table", config.context, width),
        *norm("transformer.h.{}.ln_1", "layers/attention_norm", width, bias=True),
        Line(
            "transformer.h.{}.attn.c_attn.weight",
            _qkv("kernel"),
            (width, 3, heads, dim),
            (1, 3),
            (1, 0, 2, 3),
        ),
        Line("transformer.h.{}.attn.c_attn.bias", _qkv("bias"), (3, heads, dim), (3,), (0, 1, 2)),
        Line(
            "transformer.h.{}.attn.c_proj.weight",
            (f"{back}/kernel",),
            (heads, dim, width),
            (2, 1),
            (0, 1, 2),
        ),
        same("transformer.h.{}.attn.c_proj.bias", f"{back}/bias", width),
        *norm("transformer.h.{}.ln_2", "layers/mlp_norm", width, bias=True),
        same("transformer.h.{}.mlp.c_fc.weight", f"{mlp}/up/kernel", width, hidden),
        same("transformer.h.{}.mlp.c_fc.bias", f"{mlp}/up/bias", hidden),
        same("transformer.h.{}.mlp.c_proj.weight", f"{mlp}/down/kernel", hidden, width),
        same("transformer.h.{}.mlp.c_proj.bias", f"{mlp}/down/bias", width),
        *norm("transformer.ln_f", "norm", width, bias=True),
        *_head("lm_head.weight", config),
    ]


def _gpt_neox(config: DecoderConfig) -> list[Line]:
    """query_key_value is q, k, v of the first head, then of the second, and so on."""
    width, heads, dim, hidden = config.width, config.heads, config.size_of_head, config.hidden
    layer, mlp = "gpt_neox.layers.{}", "layers/mlp"
    fused = f"{layer}.attention.query_key_value"
    return [
        same("gpt_neox.embed_in.weight", "embed/table", config.vocab_size, width),
        *norm(f"{layer}.input_layernorm", "layers/attention_norm", width, bias=True),
        *norm(f"{layer}.post_attention_layernorm", "layers/mlp_norm", width, bias=True),
        *_biased(
            [
                Line(
                    f"{fused}.weight",
                    _qkv("kernel"),
                    (heads, 3, dim, width),
                    (3, 1),
                    (1, 3, 0, 2),
                ),
                Line(f"{fused}.bias", _qkv("bias"), (heads, 3, dim), (3,), (1, 0, 2)),
            ],
            bias=config.attention_bias,
        ),
        *_attention_out(f"{layer}.attention.dense", config),
        linear(f"{layer}.mlp.dense_h_to_4h.weight", f"{mlp}/up/kernel", width, hidden),
        same(f"{layer}.mlp.dense_h_to_4h.bias", f"{mlp}/up/bias", hidden),
        linear(f"{layer}.mlp.dense_4h_to_h.weight", f"{mlp}/down/kernel", hidden, width),
        same(f"{layer}.mlp.dense_4h_to_h.bias", f"{mlp}/down/bias", width),
        *norm("gpt_neox.final_layer_norm", "norm", width, bias=True),
        *_head("embed_out.weight", config),
    ]


def _llama(config: DecoderConfig, family: str, *, is_stacked: bool) -> list[Line]:
    """Separate [out, in] matrices; Mistral, OLMo and Qwen have the same names."""
    width, layer = config.width, "model.layers.{}"
    norms = ("input_layernorm", "post_attention_layernorm")
    if config.norms == "after":
        norms = ("post_attention_layernorm", "post_feedforward_layernorm")
    lines = [
        same("model.embed_tokens.weight", "embed/table", config.vocab_size, width),
        *norm(f"{layer}.{norms[0]}", "layers/attention_norm", width, bias=False),
    ]
    for part, heads in (
        ("q", config.heads),
        ("k", config.num_kv_heads),
        ("v", config.num_kv_heads),
    ):
        key, path = f"{layer}.self_attn.{part}_proj", f"layers/attention/{part}"
        dim = config.size_of_head
        lines += _biased(
            [
                Line(f"{key}.weight", (f"{path}/kernel",), (heads, dim, width), (2, 1), (2, 0, 1)),
                Line(f"{key}.bias", (f"{path}/bias",), (heads, dim), (2,), (0, 1)),
            ],
            bias=config.attention_bias,
        )
        if config.qk_norm is not None and part != "v":
            shape = (heads, dim) if config.qk_norm == "all" else (dim,)
            scale = same(f"{layer}.self_attn.{part}_norm.weight", f"{path}_norm/scale", *shape)
            lines.append(replace(scale, groups=(len(shape),)))
    lines += _attention_out(f"{layer}.self_attn.o_proj", config)
    lines += norm(f"{layer}.{norms[1]}", "layers/mlp_norm", width, bias=False)
    lines += _stacked_experts(config) if is_stacked else _llama_mlp(config, family)
    return [
        *lines,
        *norm("model.norm", "norm", width, bias=False),
        *_head("lm_head.weight", config),
    ]


def _llama_mlp(config: DecoderConfig, family: str) -> list[Line]:
    width, hidden, path = config.width, config.hidden, "layers/mlp"
    within, names = "mlp", ("gate_proj", "up_proj", "down_proj")
    if family == "mixtral":
        within, names = "block_sparse_moe", ("w1", "w3", "w2")
    key, lines, count = f"model.layers.{{}}.{within}", list[Line](), None
    if config.experts is not None:
        count = config.experts.count
        lines.append(linear(f"{key}.gate.weight", f"{path}/router/kernel", width, count))
        key, path = f"{key}.experts.{{}}", f"{path}/experts"
    sizes = ("gate", width, hidden), ("up", width, hidden), ("down", hidden, width)
    for name, (part, num_in, num_out) in zip(names, sizes, strict=True):
        kernel = linear(f"{key}.{name}.weight", f"{path}/{part}/kernel", num_in, num_out)
        bias = same(f"{key}.{name}.bias", f"{path}/{part}/bias", num_out)
        lines += _biased([replace(kernel, num_experts=count), bias], bias=config.mlp_bias)
    return lines


def _stacked_experts(config: DecoderConfig) -> list[Line]:
    """A tensor for all experts of a layer, gate and up in one: as `transformers` 5 holds them."""
    assert config.experts is not None
    num, width, hidden = config.experts.count, config.width, config.hidden
    key, path = "model.layers.{}.mlp", "layers/mlp"
    fused = f"{path}/experts/gate/kernel", f"{path}/experts/up/kernel"
    split = (num, 2, hidden, width)
    down = same(f"{key}.experts.down_proj", f"{path}/experts/down/kernel", num, width, hidden)
    return [
        linear(f"{key}.gate.weight", f"{path}/router/kernel", width, num),
        Line(f"{key}.experts.gate_up_proj", fused, split, (1, 2, 1), (1, 0, 3, 2)),
        replace(down, order=(0, 2, 1)),
    ]


def _attention_out(key: str, config: DecoderConfig) -> list[Line]:
    split, path = (config.width, config.heads, config.size_of_head), "layers/attention/out"
    return _biased(
        [
            Line(f"{key}.weight", (f"{path}/kernel",), split, (1, 2), (1, 2, 0)),
            same(f"{key}.bias", f"{path}/bias", config.width),
        ],
        bias=config.out_bias,
    )


def _head(key: str, config: DecoderConfig) -> list[Line]:
    return [] if config.tied else [linear(key, "head/kernel", config.width, config.vocab_size)]


_TABLES: Mapping[str, Callable[[DecoderConfig], list[Line]]] = {
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
}
_AS_LLAMA = ("llama", "mistral", "mixtral", "olmo2", "olmoe", "qwen2", "qwen3", "qwen3_moe")
# What comes before the names of a whole model; files of the bare model leave it out.
PREFIXES: Mapping[str, str] = {
    "gpt2": "transformer.",
    "gpt_neox": "gpt_neox.",
    **dict.fromkeys(_AS_LLAMA, "model."),
}
# Buffers that older versions wrote: masks of causality and rotary angles, which are computed here.
BUFFERS: Mapping[str, str] = {
    "gpt2": r"(transformer\.)?h\.\d+\.attn\.(bias|masked_bias)",
    "gpt_neox": r"(gpt_neox\.)?layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)",
    **dict.fromkeys(_AS_LLAMA, r"(model\.)?(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq"),
}
# Written by some tools although the table of embeddings is the same array.
HEADS: Mapping[str, str] = {
    "gpt2": "lm_head.weight",
    "gpt_neox": "embed_out.weight",
    **dict.fromkeys(_AS_LLAMA, "lm_head.weight"),
}
