"""RoBERTa's parameters and the tensors of Hugging Face's files, in both directions."""

from __future__ import annotations

import re
from collections.abc import Collection

from barrow.models.huggingface.names import Line, linear, norm, same
from barrow.models.roberta.heads import Head, TokenHead
from barrow.models.roberta.model import RobertaConfig

PREFIX = "roberta."
_LAYER = re.compile(r"(roberta\.)?encoder\.layer\.(\d+)\..*")
_BUFFERS = re.compile(r"(roberta\.)?embeddings\.(position_ids|token_type_ids)")


def roberta_lines(
    config: RobertaConfig, head: Head | None = None, *, keys: Collection[str] = ()
) -> tuple[Line, ...]:
    """All tensors of a model's files; `keys` are those of a file to be read, where there is one."""
    width = config.width
    at = "roberta.embeddings"
    lines = [
        same(f"{at}.word_embeddings.weight", "embed/table", config.vocab_size, width),
        same(f"{at}.position_embeddings.weight", "positions/table", config.positions, width),
        same(f"{at}.token_type_embeddings.weight", "types/table", config.token_types, width),
        *norm(f"{at}.LayerNorm", "norm", width, bias=True),
        *_layers(config),
    ]
    if config.pooler:
        lines += _dense("roberta.pooler.dense", "pooler", width, width)
    if config.mlm_head:
        lines += _mlm_head(config, keys)
    if isinstance(head, TokenHead):
        lines += _dense("classifier", "classifier", width, head.num)
    elif head is not None:
        lines += _dense("classifier.dense", "classifier/dense", width, width)
        lines += _dense("classifier.out_proj", "classifier/out_proj", width, head.num)
    return tuple(lines)


def _dense(key: str, path: str, num_in: int, num_out: int) -> list[Line]:
    return [
        linear(f"{key}.weight", f"{path}/kernel", num_in, num_out),
        same(f"{key}.bias", f"{path}/bias", num_out),
    ]


def _layers(config: RobertaConfig) -> list[Line]:
    width, heads, dim = config.width, config.heads, config.width // config.heads
    layer, attention = "roberta.encoder.layer.{}", "layers/attention"
    lines = []
    for word in ("query", "key", "value"):
        key, path = f"{layer}.attention.self.{word}", f"{attention}/{word[0]}"
        lines += [
            Line(f"{key}.weight", (f"{path}/kernel",), (heads, dim, width), (2, 1), (2, 0, 1)),
            Line(f"{key}.bias", (f"{path}/bias",), (heads, dim), (2,), (0, 1)),
        ]
    out = f"{layer}.attention.output"
    kernel = (f"{attention}/out/kernel",)
    return [
        *lines,
        Line(f"{out}.dense.weight", kernel, (width, heads, dim), (1, 2), (1, 2, 0)),
        same(f"{out}.dense.bias", f"{attention}/out/bias", width),
        *norm(f"{out}.LayerNorm", "layers/attention_norm", width, bias=True),
        *_dense(f"{layer}.intermediate.dense", "layers/mlp/up", width, config.hidden),
        *_dense(f"{layer}.output.dense", "layers/mlp/down", config.hidden, width),
        *norm(f"{layer}.output.LayerNorm", "layers/mlp_norm", width, bias=True),
    ]


def _mlm_head(config: RobertaConfig, keys: Collection[str]) -> list[Line]:
    width, vocab = config.width, config.vocab_size
    lines = [
        *_dense("lm_head.dense", "lm_head/dense", width, width),
        *norm("lm_head.layer_norm", "lm_head/norm", width, bias=True),
        same(_bias_key(config, keys), "lm_head/bias", vocab),
    ]
    if not config.tied:
        lines.append(linear("lm_head.decoder.weight", "lm_head/decoder/kernel", width, vocab))
    return lines


def _bias_key(config: RobertaConfig, keys: Collection[str]) -> str:
    """Untied, the bias of the decoder is added, and `lm_head.bias` is unused."""
    untied = not config.tied and (not keys or "lm_head.decoder.bias" in keys)
    return "lm_head.decoder.bias" if untied else "lm_head.bias"


def why_ignored(key: str, config: RobertaConfig, keys: Collection[str]) -> str | None:
    """Why a key of a file may be ignored; None if it may not."""
    if _BUFFERS.fullmatch(key):
        return "counted here"
    if key == "lm_head.decoder.weight" and config.tied and config.mlm_head:
        return "the table of embeddings again"
    if config.mlm_head and key in ("lm_head.decoder.bias", "lm_head.bias"):
        used = _bias_key(config, keys)
        return None if key == used else f"{used} again" if config.tied else f"{used} is used"
    return None


def is_past(key: str, num_layers: int) -> bool:
    """Whether a key belongs to a layer past the first `num_layers`."""
    found = _LAYER.fullmatch(key)
    return found is not None and int(found[2]) >= num_layers
