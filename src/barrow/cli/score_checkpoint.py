"""Runs and checkpoints of `barrow train`, opened to be scored."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barrow.score import Model, Opening


def is_checkpoint(path: Path) -> bool:
    """Whether a folder is a run, a folder of checkpoints, or a checkpoint."""
    if not path.is_dir() or (path / "config.json").is_file():
        return False
    return (
        (path / "index.json").is_file()
        or (path / "checkpoints").is_dir()
        or any(path.glob("step-*/index.json"))
    )


def open_checkpoint_model(path: Path, opening: Opening) -> Model:
    """The newest checkpoint of a run, or the one that is named, as what can be scored."""
    import jax
    import jax.numpy as jnp

    from barrow.config import from_dict
    from barrow.errors import CheckpointError
    from barrow.models import Decoder, DecoderConfig, Roberta, RobertaConfig
    from barrow.models.text import open_tokenizer
    from barrow.score import ModelInfo
    from barrow.score.opening import own_model
    from barrow.train.checkpoint_folder import find_checkpoint
    from barrow.train.checkpoint_index import read_index
    from barrow.train.checkpoint_params import load_params

    folder = find_checkpoint(path)
    index = read_index(folder)
    if "model" not in index.about:
        raise CheckpointError(
            "does not say what model its parameters are of (about has no 'model'), so it cannot "
            "be scored; `barrow checkpoint convert --to hf` writes one that does",
            reason="no-model",
            folder=folder,
        )
    is_masked = index.about["model"].get("kind") == "roberta"
    tokenizer = open_tokenizer(opening.tokenizer or index.about.get("tokenizer"))
    dtype = opening.dtype or ("float32" if jax.default_backend() == "cpu" else "bfloat16")
    params = jax.tree.map(lambda leaf: leaf.astype(jnp.dtype(dtype)), load_params(folder))
    facts = json.dumps({name: file.sha256 for name, file in sorted(index.files.items())})
    info = ModelInfo(
        name=path.resolve().name,
        kind="barrow",
        identity=hashlib.sha256(facts.encode()).hexdigest(),
        num_params=sum(leaf.size for leaf in jax.tree.leaves(params)),
        size_bytes=sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(params)),
        train_tokens=_train_tokens(index.about, index.step),
        dtype=dtype,
        about={"path": os.fspath(path), "step": index.step, "run": index.about.get("run")},
    )
    model = (
        Roberta(from_dict(RobertaConfig, index.about["model"]), dtype=dtype)
        if is_masked
        else Decoder(from_dict(DecoderConfig, index.about["model"]), dtype=dtype)
    )
    return own_model(model, params, tokenizer, info, opening)


def _train_tokens(about: Any, step: int | None) -> int | None:
    """Tokens that were seen: steps × rows × tokens of a row, where these never changed."""
    data = (about.get("run") or {}).get("data") or {}
    batch, length = data.get("batch"), data.get("seq_len")
    if step is None or not isinstance(batch, int) or not isinstance(length, int):
        return None
    return step * batch * length
