"""A run or checkpoint as a model: its settings, its parameters and its tokenizer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from barrow.checkpoint.folder import find_checkpoint
from barrow.checkpoint.index import INDEX, read_index
from barrow.checkpoint.params import load_params
from barrow.config import from_dict
from barrow.errors import CheckpointError
from barrow.models.clip_config import ClipConfig
from barrow.models.decoder import Decoder, DecoderConfig
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded, load
from barrow.models.roberta import Roberta, RobertaConfig
from barrow.nn.repeat import take_apart
from barrow.nn.tree import paths

ModelConfig = DecoderConfig | RobertaConfig | ClipConfig


def is_checkpoint(path: Path) -> bool:
    """Whether a folder is a run, a folder of checkpoints, or a checkpoint.

    A run of `finetune` is not: its model is the folder of the best epoch.
    """
    models = (path / "config.json", path / "best" / "config.json")
    if not path.is_dir() or any(model.is_file() for model in models):
        return False
    return (
        (path / INDEX).is_file()
        or (path / "checkpoints").is_dir()
        or any(path.glob(f"step-*/{INDEX}"))
    )


def load_model(
    path: str | os.PathLike[str], *, dtype: str | None = None, apart: bool = False
) -> Loaded:
    """The newest checkpoint of a run, or the one that is named, as `models.load` opens files.

    `dtype` None keeps the type of the parameters; `apart` keeps layers apart, as generation wants
    them.
    """
    folder = find_checkpoint(Path(path))
    index = read_index(folder)
    config = described_model(index.about, folder)
    if isinstance(config, ClipConfig):
        raise CheckpointError(
            "holds a CLIP, which is for images and texts together: see `barrow zeroshot`, "
            "`similar` and `probe` with --weights",
            reason="no-model",
            folder=folder,
        )
    params = load_params(folder)
    kind = dtype or jax.tree.leaves(params)[0].dtype.name
    params = jax.tree.map(lambda leaf: leaf.astype(jnp.dtype(kind)), params)
    report = KeysReport(matched=tuple(paths(params)))
    model = (
        Decoder(config, unroll=apart, dtype=kind)
        if isinstance(config, DecoderConfig)
        else Roberta(config, unroll=apart, dtype=kind)
    )
    about, end = index.about, index.about.get("end")
    return Loaded(
        model,
        take_apart(params, "layers") if apart else params,
        report,
        about.get("tokenizer"),
        about.get("begin"),
        () if end is None else (end,),
    )


def open_model(
    path: str | os.PathLike[str],
    *,
    dtype: str | None = None,
    apart: bool = False,
    num_layers: int | None = None,
) -> Loaded:
    """A model of texts, wherever it lies: files, or a run or checkpoint.

    Of an encoder's files no more than `num_layers` layers are read.
    """
    if is_checkpoint(Path(path)):
        return load_model(path, dtype=dtype, apart=apart)
    return load(path, dtype=dtype, apart=apart, num_layers=num_layers)


def described_model(about: Mapping[str, Any], folder: Path) -> ModelConfig:
    """The settings of its model, in what a checkpoint says about itself."""
    if not isinstance(about.get("model"), Mapping):
        raise CheckpointError(
            "does not say which model it is of (about has no table 'model'); "
            "`barrow checkpoint convert --to safetensors` writes its parameters",
            reason="no-model",
            folder=folder,
        )
    return from_dict(_Described, {"model": about["model"]}).model


@dataclass(frozen=True)
class _Described:
    model: ModelConfig
