"""Write a model as a Hugging Face folder that `transformers` opens."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from barrow.files import make_folder
from barrow.models.architecture import Model, written_as
from barrow.models.decoder.model import Decoder
from barrow.models.huggingface.names import Array, Line
from barrow.models.keys_report import KeysReport
from barrow.models.sources import CONFIG, GENERATION_CONFIG
from barrow.models.tokenizer_files import TokenizerFiles, as_files, described_files
from barrow.nn.tree import paths
from barrow.weights.foreign_model import write_model
from barrow.weights.matching import Mismatch
from barrow.weights.safetensors_write import DEFAULT_SHARD_BYTES, refuse_model
from barrow.weights.tensors import LazyTensor, Tensors


def save(
    folder: str | os.PathLike[str],
    model: Model,
    params: Mapping[str, Any],
    *,
    tokenizer: TokenizerFiles | str | os.PathLike[str] | Mapping[str, Any] | None = None,
    begin: int | None = None,
    stops: tuple[int, ...] = (),
    labels: tuple[str, ...] = (),
    dtype: str | None = None,
    max_shard_bytes: int = DEFAULT_SHARD_BYTES,
) -> KeysReport:
    """Write config.json, model.safetensors (in shards from 5 GB on) and what belongs to them.

    The family is the one that computes the same function (`hf_export.family_of`). `tokenizer` is
    what `Loaded` has as `words`; or a folder or file, which is copied, or the contents of a
    tokenizer.json, with the ids `begin` and `stops` that begin and end a text: what is written puts
    `begin` before a decoder's prompts. `labels` are the names of a head's classes. `dtype` None
    keeps the type of the parameters. Tensors are fetched and written one at a time; config.json
    comes last, so a folder that has one is complete.
    """
    folder = Path(folder)
    described, lines = written_as(model, labels)
    num = model.config.layers
    leaves = paths(params)
    report = _compare(num, lines, leaves)
    if not report.is_exact:
        raise ValueError(f"the parameters do not match the model: {report}")
    tensors = _tensors(num, lines, leaves, dtype)
    refuse_model(folder)
    words = as_files(tokenizer, begin=begin, stops=stops, is_causal=isinstance(model, Decoder))
    words.save(make_folder(folder))
    ids = words.ids()
    stored = tensors.entry(next(iter(tensors))).dtype.name
    tables = {CONFIG: {**described, **ids, "dtype": stored, "torch_dtype": stored}}
    if isinstance(model, Decoder):
        how = words.generation or {"_from_model_config": True}
        tables = {GENERATION_CONFIG: {**how, **ids}} | tables
    write_model(folder, tensors, tables, max_shard_bytes=max_shard_bytes)
    return report


def save_described(
    folder: Path, model: Model, params: Mapping[str, Any], about: Mapping[str, Any]
) -> None:
    """Write a model with the tokenizer and the ids of its checkpoint's `about`."""
    words = described_files(about, is_causal=isinstance(model, Decoder))
    save(folder, model, params, tokenizer=words)


def _compare(num: int, lines: tuple[Line, ...], leaves: Mapping[str, Any]) -> KeysReport:
    if "layers" in leaves:
        raise ValueError("the layers are not stacked; save parameters with stacked layers")
    wanted = {
        path: (num, *line.our_shape) if line.is_layered else line.our_shape
        for line in lines
        for path in line.paths
    }
    mismatched = [
        Mismatch(path, shape, tuple(leaves[path].shape))
        for path, shape in wanted.items()
        if path in leaves and tuple(leaves[path].shape) != shape
    ]
    wrong = {mismatch.name for mismatch in mismatched}
    return KeysReport(
        tuple(path for path in wanted if path in leaves and path not in wrong),
        tuple(path for path in wanted if path not in leaves),
        tuple(path for path in leaves if path not in wanted),
        (),
        tuple(mismatched),
    )


def _tensors(
    num: int, lines: tuple[Line, ...], leaves: Mapping[str, Any], dtype: str | None
) -> Tensors:
    entries: dict[str, LazyTensor] = {}
    for line in lines:
        kind = np.dtype(jnp.dtype(dtype or leaves[line.paths[0]].dtype))
        for layer in range(num if line.is_layered else 1):
            for expert, key in enumerate(line.keys(layer)):
                at = (layer,) * line.is_layered + (expert,) * (line.num_experts is not None)
                read = partial(_theirs, line, leaves, at, kind)
                entries[key] = LazyTensor(line.shape, kind, read)
    return Tensors(entries)


def _theirs(
    line: Line, leaves: Mapping[str, Any], at: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    held = [leaves[path][at] if at else leaves[path] for path in line.paths]
    return line.theirs([np.asarray(x) for x in held]).astype(dtype)
