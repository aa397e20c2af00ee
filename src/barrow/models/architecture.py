"""The model that a folder's config.json and keys describe, and how to read and write it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.models.huggingface.config import config_of
from barrow.models.huggingface.export import family_of, hf_config
from barrow.models.huggingface.names import BUFFERS, HEADS, PREFIXES, Line, lines_of
from barrow.models.huggingface.roberta import (
    head_of,
    hf_roberta,
    labels_of,
    notes_on,
    roberta_config,
)
from barrow.models.roberta.heads import Head, RobertaWithHead
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.models.roberta.names import PREFIX, is_past, roberta_lines, why_ignored

Model = Decoder | Roberta | RobertaWithHead


@dataclass(frozen=True)
class Architecture:
    """How to open a model's files.

    `lines` are its tensors, `prefix` what files of the bare model omit from their names; `why`
    explains why a key is ignored, None for other keys. ``make(unroll, dtype)`` is the model.
    """

    family: str
    config: DecoderConfig | RobertaConfig
    lines: tuple[Line, ...]
    prefix: str
    why: Callable[[str], str | None]
    make: Callable[[bool, str], Model]
    notes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


def architecture_of(
    hf: Mapping[str, Any], keys: Collection[str], *, num_layers: int | None = None
) -> Architecture:
    """Of a config.json and the keys beside it; `num_layers` cuts an encoder."""
    if hf.get("model_type") == "roberta":
        return _roberta(hf, keys, num_layers)
    config = config_of(hf)
    if num_layers is not None:
        raise ValueError("layers= is for encoders (roberta); a decoder needs all its layers")
    family = str(hf["model_type"])
    return Architecture(
        family,
        config,
        lines_of(family, config, keys),
        PREFIXES[family],
        partial(_why_decoder, family, config),
        lambda unroll, dtype: Decoder(config, unroll=unroll, dtype=dtype),
    )


def _why_decoder(family: str, config: DecoderConfig, key: str) -> str | None:
    if config.tied and key == HEADS[family]:
        return "the table of embeddings again"
    return "computed here" if re.fullmatch(BUFFERS[family], key) else None


def _roberta(hf: Mapping[str, Any], keys: Collection[str], num_layers: int | None) -> Architecture:
    whole = roberta_config(hf, keys)
    head = head_of(hf, whole, keys)
    if num_layers is not None and not 1 <= num_layers <= whole.layers:
        raise ValueError(f"num_layers must be from 1 to {whole.layers}, got {num_layers}")
    config = whole if num_layers is None else replace(whole, layers=num_layers)

    def why(key: str) -> str | None:
        if not is_past(key, whole.layers) and is_past(key, config.layers):
            return "of a layer that was not asked for"
        return why_ignored(key, config, keys)

    def make(unroll: bool, dtype: str) -> Model:
        body = Roberta(config, unroll=unroll, dtype=dtype)
        return body if head is None else RobertaWithHead(body, head)

    return Architecture(
        "roberta",
        config,
        roberta_lines(config, head, keys=keys),
        PREFIX,
        why,
        make,
        notes_on(config, head),
        () if head is None else labels_of(hf),
    )


def written_as(model: Model, labels: Sequence[str] = ()) -> tuple[dict[str, Any], tuple[Line, ...]]:
    """The config.json of a model, and the tensors of its files."""
    if isinstance(model, Decoder):
        if labels:
            raise ValueError("a decoder has no labels")
        return hf_config(model.config), lines_of(family_of(model.config), model.config)
    head: Head | None = model.head if isinstance(model, RobertaWithHead) else None
    return hf_roberta(model.config, head, labels), roberta_lines(model.config, head)
