"""A run or checkpoint of CLIP as a model that encodes."""

from __future__ import annotations

import os
from pathlib import Path

import jax

from barrow.checkpoint.folder import find_checkpoint
from barrow.checkpoint.index import read_index
from barrow.checkpoint.params import load_collections, load_params
from barrow.errors import CheckpointError
from barrow.models.checkpoint_model import described_model
from barrow.models.clip_bound import DEFAULT_BATCH, Clip, in_type
from barrow.models.clip_config import ClipConfig
from barrow.models.clip_load import Preprocess
from barrow.models.clip_model import CLIP
from barrow.models.clip_tokenizers import named_tokenizer
from barrow.models.clip_tower import Running, towers_apart
from barrow.models.keys_report import KeysReport
from barrow.nn.tree import paths


def load_clip(
    path: str | os.PathLike[str],
    *,
    bpe: str | os.PathLike[str] | None = None,
    dtype: str = "float32",
    batch: int = DEFAULT_BATCH,
) -> tuple[Clip, Preprocess]:
    """The newest checkpoint of a run, or the one that is named, as `clip.load` opens files.

    Its tokenizer is the one that it was trained with, or that of the vocabulary `bpe`.
    """
    folder = find_checkpoint(Path(path))
    about = read_index(folder).about
    config = described_model(about, folder)
    if not isinstance(config, ClipConfig):
        raise CheckpointError(
            "holds no CLIP: see `barrow generate`, `fill` and `embed`",
            reason="no-model",
            folder=folder,
        )
    params = in_type(load_params(folder), dtype)
    running = Running(unroll=jax.default_backend() != "cpu", dtype=dtype)
    name = about.get("tokenizer", "") if bpe is None else os.fspath(bpe)
    clip = Clip(
        CLIP(config, running),
        towers_apart(params) if running.unroll else params,
        load_collections(folder),
        lambda: named_tokenizer(name),
        KeysReport(matched=tuple(paths(params))),
        os.fspath(path),
        batch,
    )
    return clip, Preprocess(config.image.resolution)
