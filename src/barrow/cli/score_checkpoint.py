"""Runs and checkpoints of `barrow train`, opened to be scored."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barrow.score import Model, Opening


def open_checkpoint_model(path: Path, opening: Opening) -> Model:
    """The newest checkpoint of a run, or the one that is named, as what can be scored."""
    import jax

    from barrow.checkpoint.folder import find_checkpoint
    from barrow.checkpoint.index import read_index
    from barrow.models.checkpoint_model import load_model
    from barrow.models.text import open_tokenizer
    from barrow.score import ModelInfo
    from barrow.score.opening import own_model

    folder = find_checkpoint(path)
    index = read_index(folder)
    dtype = opening.dtype or ("float32" if jax.default_backend() == "cpu" else "bfloat16")
    loaded = load_model(folder, dtype=dtype)
    tokenizer = open_tokenizer(opening.tokenizer or loaded.tokenizer)
    leaves = jax.tree.leaves(loaded.params)
    facts = json.dumps({name: file.sha256 for name, file in sorted(index.files.items())})
    info = ModelInfo(
        name=path.resolve().name,
        kind="barrow",
        identity=hashlib.sha256(facts.encode()).hexdigest(),
        num_params=sum(leaf.size for leaf in leaves),
        size_bytes=sum(leaf.size * leaf.dtype.itemsize for leaf in leaves),
        train_tokens=_train_tokens(index.about, index.step),
        dtype=dtype,
        about={"path": os.fspath(path), "step": index.step, "run": index.about.get("run")},
    )
    return own_model(loaded.model, loaded.params, tokenizer, info, opening)


def _train_tokens(about: Any, step: int | None) -> int | None:
    """Tokens that were seen: steps × rows × tokens of a row, where these never changed."""
    data = (about.get("run") or {}).get("data") or {}
    batch, length = data.get("batch"), data.get("seq_len")
    if step is None or not isinstance(batch, int) or not isinstance(length, int):
        return None
    return step * batch * length
