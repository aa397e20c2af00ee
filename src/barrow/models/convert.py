"""Parameters from one format to another."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from barrow.checkpoint.folder import find_checkpoint
from barrow.checkpoint.index import read_index
from barrow.checkpoint.params import save_params
from barrow.checkpoint.sources import Format, format_of, open_params
from barrow.models.checkpoint_model import ModelConfig, described_model
from barrow.models.clip_config import ClipConfig
from barrow.models.decoder import DecoderConfig
from barrow.nn.tree import from_paths
from barrow.weights.flax_msgpack import write_flax
from barrow.weights.safetensors_write import write_safetensors
from barrow.weights.tensors import Tensors

Target = Literal["checkpoint", "safetensors", "msgpack", "hf"]


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    to: Target,
    source_format: Format | None = None,
    about: Mapping[str, Any] | None = None,
) -> int:
    """Write the parameters of a source (see `open_params`) elsewhere; how many there were.

    checkpoint   a folder of ours with parameters only
    safetensors  a file, or a folder of shards, names as our paths
    msgpack      a file that `flax.serialization.msgpack_restore` reads: nested dicts
    hf           a folder that `transformers` opens

    What the source says about itself (`about`) goes along into a checkpoint. For ``hf``
    ``about["model"]`` is the model's settings, and ``about["tokenizer"]``, where there is one, a
    path or a name that `barrow.tokens.load` takes (of CLIP: `clip_tokenizers.named_tokenizer`);
    ``about["begin"]`` and ``about["end"]`` are the ids that begin and end a text.
    """
    target = Path(target)
    if target.exists():
        raise ValueError(f"{target} is there already; write elsewhere")
    kind = source_format or format_of(source)
    tensors = open_params(source, format=kind)
    if not len(tensors):
        raise ValueError(f"{source} holds no parameters")
    told = about
    if told is None:
        told = read_index(find_checkpoint(Path(source))).about if kind == "checkpoint" else {}
    try:
        _write(Path(source), target, tensors, told, to=to)
    except BaseException:
        # A folder with some of the files would be in the way of the next attempt.
        shutil.rmtree(target, ignore_errors=True)
        raise
    return len(tensors)


def _write(
    source: Path, target: Path, tensors: Tensors, about: Mapping[str, Any], *, to: Target
) -> None:
    if to == "checkpoint":
        # A dot parts the names of PyTorch; a slash ours, and both stay as they are.
        save_params(target, from_paths({name: tensors[name] for name in tensors}), about)
    elif to == "safetensors":
        write_safetensors(target, tensors)
    elif to == "msgpack":
        write_flax(target, _nested(tensors))
    else:
        _save_hf(source, target, tensors, about)


def _nested(tensors: Tensors) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name in tensors:
        *folders, last = name.split("/")
        at = nested
        for folder in folders:
            at = at.setdefault(folder, {})
        at[last] = tensors[name]
    return nested


def _save_hf(source: Path, target: Path, tensors: Tensors, about: Mapping[str, Any]) -> None:
    params = from_paths({name: tensors[name] for name in tensors})
    _write_hf(target, described_model(about, source), params, about)


def _write_hf(target: Path, config: ModelConfig, params: Any, about: Mapping[str, Any]) -> None:
    tokenizer, end = about.get("tokenizer"), about.get("end")
    if isinstance(config, ClipConfig):
        from barrow.models.clip_save import save_huggingface
        from barrow.models.clip_tokenizers import named_tokenizer

        known = None if tokenizer is None else named_tokenizer(tokenizer)
        save_huggingface(target, config, params, tokenizer=known)
        return
    from barrow.models import Decoder, save
    from barrow.models.roberta import Roberta

    model = Decoder(config) if isinstance(config, DecoderConfig) else Roberta(config)
    stops = () if end is None else (end,)
    save(target, model, params, tokenizer=tokenizer, begin=about.get("begin"), stops=stops)
