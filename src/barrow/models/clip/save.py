"""Write CLIP models for others: a Hugging Face folder, and open_clip's."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from barrow.files import make_folder
from barrow.images.normalise import MEAN, STD
from barrow.models.clip.config import ClipConfig
from barrow.models.clip.files import (
    HUGGING_FACE,
    OPEN_CLIP_CONFIG,
    OPEN_CLIP_WEIGHTS,
    OPENAI,
    Layout,
)
from barrow.models.clip.hf import hf_of_config, hf_preprocessing
from barrow.models.clip.names import STATISTICS, Entry, written
from barrow.models.clip.open_clip import open_clip_of_config
from barrow.models.clip.tower import towers_together
from barrow.models.huggingface.names import Array
from barrow.models.keys_report import KeysReport
from barrow.models.sources import CONFIG
from barrow.nn.tree import paths
from barrow.tokens.clip.tokenizer import ClipTokenizer
from barrow.weights.foreign_model import write_json, write_model
from barrow.weights.matching import Mismatch
from barrow.weights.safetensors_write import refuse_model, write_safetensors
from barrow.weights.tensors import LazyTensor, Tensors


def save_huggingface(
    folder: str | os.PathLike[str],
    config: ClipConfig,
    params: Mapping[str, Any],
    *,
    tokenizer: ClipTokenizer | None = None,
    dtype: str | None = None,
) -> KeysReport:
    """A folder that `transformers.CLIPModel` and `CLIPProcessor` open; Vision Transformers only.

    `dtype` None keeps the type of the parameters. config.json comes last, so a folder that has one
    is complete.
    """
    folder = Path(folder)
    report, tensors = _named_tensors(HUGGING_FACE, config, paths(towers_together(params)), dtype)
    refuse_model(folder)
    if tokenizer is not None:
        tokenizer.save(make_folder(folder))
    stored = tensors.entry("text_projection.weight").dtype.name
    tables = {
        "preprocessor_config.json": hf_preprocessing(config.image.resolution, MEAN, STD),
        CONFIG: {**hf_of_config(config), "dtype": stored, "torch_dtype": stored},
    }
    write_model(folder, tensors, tables)
    return report


def save_open_clip(
    folder: str | os.PathLike[str],
    config: ClipConfig,
    params: Mapping[str, Any],
    *,
    collections: Mapping[str, Any] | None = None,
    tokenizer: ClipTokenizer | None = None,
    dtype: str | None = None,
) -> KeysReport:
    """A folder that ``open_clip.create_model("local-dir:FOLDER")`` opens.

    A ResNet needs its running statistics, `collections`, too.
    """
    folder = Path(folder)
    stats = paths((collections or {}).get("batch_stats", {}), STATISTICS)
    report, tensors = _named_tensors(
        OPENAI, config, {**paths(towers_together(params)), **stats}, dtype
    )
    if (folder / OPEN_CLIP_CONFIG).exists():
        raise ValueError(
            f"{folder} already contains a model ({OPEN_CLIP_CONFIG}); choose another path"
        )
    make_folder(folder)
    write_safetensors(folder / OPEN_CLIP_WEIGHTS, tensors, metadata={"format": "pt"}, beside={})
    if tokenizer is not None:
        tokenizer.save(folder)
    write_json(folder / OPEN_CLIP_CONFIG, open_clip_of_config(config, MEAN, STD))
    return report


def _named_tensors(
    layout: Layout, config: ClipConfig, leaves: Mapping[str, Any], dtype: str | None
) -> tuple[KeysReport, Tensors]:
    entries = layout.entries(config)
    report = _compared(entries, leaves)
    if not report.is_exact:
        raise ValueError(f"the parameters do not match the model: {report}")
    tensors: dict[str, LazyTensor] = {}
    for entry in entries:
        first = entry.line.paths[0]
        # Statistics in 16 bits would change embeddings.
        kept = first.startswith(STATISTICS) or dtype is None
        kind = np.dtype(jnp.dtype(leaves[first].dtype if kept else dtype))
        for number, key in enumerate(entry.names()):
            tensors[key] = LazyTensor(entry.line.shape, kind, _reader(entry, leaves, number, kind))
    return report, Tensors(tensors)


def _reader(
    entry: Entry, leaves: Mapping[str, Any], number: int, kind: np.dtype[Any]
) -> Callable[[], Array]:
    return partial(lambda n: written(entry, leaves, n).astype(kind), number)


def _compared(entries: list[Entry], leaves: Mapping[str, Any]) -> KeysReport:
    wanted = {path: entry.shape() for entry in entries for path in entry.line.paths}
    wrong = {
        path: Mismatch(path, shape, tuple(leaves[path].shape))
        for path, shape in wanted.items()
        if path in leaves and tuple(leaves[path].shape) != shape
    }
    return KeysReport(
        tuple(path for path in wanted if path in leaves and path not in wrong),
        tuple(path for path in wanted if path not in leaves),
        tuple(path for path in leaves if path not in wanted),
        (),
        tuple(wrong.values()),
    )
