"""Open a model, wherever it is: a run, a checkpoint, a folder or a file."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from barrow.checkpoint.folder import find_checkpoint
from barrow.checkpoint.index import INDEX, read_index
from barrow.checkpoint.params import load_collections, load_params
from barrow.models.clip.files import OPEN_CLIP_CONFIG
from barrow.models.family import described_family
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded, load
from barrow.models.sources import CONFIG, read_json
from barrow.nn.layers.repeat import take_apart
from barrow.nn.module import Module
from barrow.nn.tree import Tree, paths

Kind = TypeVar("Kind", bound=Module)


def is_run(path: Path) -> bool:
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


def open_model(
    path: str | os.PathLike[str],
    *,
    dtype: str | None = None,
    unstack: bool = False,
    num_layers: int | None = None,
    trust: Collection[str] = (),
) -> Loaded:
    """The model of a run (its newest checkpoint), a checkpoint, a folder or a file (see `load`).

    `dtype` None keeps the type of the parameters; `unstack` gives layers as a tuple, as generation
    needs. Of an encoder's files only `num_layers` layers are read. A run may name a model outside
    barrow: it is imported only from the modules or files in `trust`.
    """
    if _is_clip(Path(path)):
        from barrow.models.clip.load import load as load_clip

        clip, _ = load_clip(weights=path, dtype=dtype or "float32")
        assert clip.report is not None
        return Loaded(clip.module, clip.params, clip.report, collections=clip.collections)
    if not is_run(Path(path)):
        return load(path, dtype=dtype, unstack=unstack, num_layers=num_layers)
    folder = find_checkpoint(Path(path))
    about = read_index(folder).about
    family = described_family(about, folder, trust=trust)
    params = load_params(folder)
    kind = dtype or jax.tree.leaves(params)[0].dtype.name
    # Scalars are not cast: the scale of CLIP's logits would be rounded in 16 bits.
    params = jax.tree.map(lambda x: x.astype(jnp.dtype(kind)) if x.ndim else x, params)
    end = about.get("end")
    return Loaded(
        family.module(unroll=unstack, dtype=kind),
        _layers_apart(params) if unstack else params,
        KeysReport(matched=tuple(paths(params))),
        about.get("tokenizer"),
        about.get("begin"),
        () if end is None else (end,),
        collections=load_collections(folder),
    )


def of_kind(loaded: Loaded, name: object, *kinds: type[Kind]) -> Kind:
    """The model, if it is one of these; else an error that names its command."""
    if isinstance(loaded.model, kinds):
        return loaded.model
    expected = " or ".join(kind.__name__ for kind in kinds)
    raise ValueError(
        f"{name} is a {type(loaded.model).__name__}, expected a {expected}; use it with "
        f"`{loaded.family.usage.format(run=name)}`"
    )


def _is_clip(path: Path) -> bool:
    """Whether files are those of a CLIP: OpenAI's, open_clip's or Hugging Face's."""
    if path.suffix == ".pt" or (path / OPEN_CLIP_CONFIG).is_file():
        return True
    config = path / CONFIG
    return config.is_file() and read_json(config).get("model_type") == "clip"


def _layers_apart(params: Mapping[str, Any]) -> Tree:
    """Every stack of layers (`nn.Repeat` under the name "layers") as a tuple of trees."""
    inside = {
        name: _layers_apart(x) if isinstance(x, Mapping) and name != "layers" else x
        for name, x in params.items()
    }
    return take_apart(inside, "layers") if "layers" in inside else Tree(inside)
