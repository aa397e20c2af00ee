"""Open a model, wherever it is: a run, a checkpoint, a folder or a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from barrow.checkpoint.folder import find_checkpoint
from barrow.checkpoint.index import INDEX, Leaf, read_index
from barrow.checkpoint.params import load_collections
from barrow.checkpoint.read import open_checkpoint
from barrow.checkpoint.restore import placed
from barrow.checkpoint.sources import PARAMS, verify_or_offer
from barrow.errors import NotFound, WeightsError
from barrow.files.dtypes import dtype_of
from barrow.models.clip.files import OPEN_CLIP_CONFIG
from barrow.models.decoder.model import Decoder
from barrow.models.family import CausalModule, Opened, described_family
from barrow.models.huggingface.adapters import ADAPTER_CONFIG, is_adapter, read_adapter
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded, layout_of, load
from barrow.models.quantized import expanded
from barrow.models.sources import CONFIG, read_json
from barrow.models.tokenizer_files import described_files
from barrow.nn.layers.repeat import take_apart
from barrow.nn.module import Module
from barrow.nn.tree import Tree, from_paths
from barrow.nn.weights.low_rank import joined, merged
from barrow.weights.place import Place

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
    place: Place | None = None,
) -> Loaded:
    """The model of a run (its newest checkpoint), a checkpoint, a folder or a file (see `load`).

    A folder of PEFT's adapters is opened with the model that it names, and merged.
    `dtype` None keeps the type of the parameters; `unstack` gives layers as a tuple, as generation
    needs. Of an encoder's files only `num_layers` layers are read. A run may name a model outside
    barrow: it is imported only from the modules or files in `trust`. `place`
    (`barrow.parallel.placing`) divides the parameters over devices.
    """
    if is_clip(Path(path)):
        from barrow.models.clip.load import load as load_clip

        clip, _ = load_clip(weights=path, dtype=dtype or "float32", place=place)
        assert clip.report is not None
        return Loaded(clip.module, clip.params, clip.report, collections=clip.collections)
    if is_adapter(Path(path)):
        return _with_adapter(Path(path), dtype=dtype, unstack=unstack)
    if not is_run(Path(path)):
        return load(path, dtype=dtype, unstack=unstack, num_layers=num_layers, place=place)
    folder = find_checkpoint(Path(path))
    about = read_index(folder).about
    family = described_family(about, folder, trust=trust)
    if isinstance(family, Opened):
        found: Loaded = family.open(folder, about, dtype=dtype, unstack=unstack)
        return found
    checkpoint = open_checkpoint(folder)
    stored = {
        path.removeprefix(PARAMS): leaf
        for path, leaf in checkpoint.index.leaves.items()
        if path.startswith(PARAMS)
    }
    _refuse_false_layers(folder, family, stored)
    verify_or_offer(checkpoint, (PARAMS + path for path in stored))
    kind = dtype or dtype_of(next(iter(stored.values())).kind.dtype).name
    layout = layout_of(place, family.module(), family.example)

    def put(path: str, layer: int | None = None) -> Any:
        shape = stored[path].kind.shape
        # Scalars are not cast: the scale of CLIP's logits would be rounded in 16 bits.
        wanted = jnp.dtype(kind) if shape else None
        where = layout(path, shape if layer is None else (1, *shape[1:]))
        found = placed(checkpoint, PARAMS + path, where, dtype=wanted, layer=layer)
        return found if layer is None else found[0]

    model = family.module(unroll=unstack, dtype=kind)
    return Loaded(
        model,
        _layers_apart(stored, put) if unstack else from_paths({path: put(path) for path in stored}),
        KeysReport(matched=tuple(stored)),
        described_files(about, is_causal=isinstance(model, CausalModule)),
        collections=load_collections(folder),
    )


def of_kind(loaded: Loaded, name: object, *kinds: type[Kind]) -> Kind:
    """The model, if it is one of these; else an error that names its command."""
    if isinstance(loaded.model, kinds):
        return loaded.model
    expected = " or ".join(kind.__name__ for kind in kinds)
    usage = getattr(loaded.model, "usage", loaded.family.usage)  # a graph has its own
    raise ValueError(
        f"{name} is a {type(loaded.model).__name__}, expected a {expected}; use it with "
        f"`{usage.format(run=name)}`"
    )


def _refuse_false_layers(folder: Path, family: object, stored: Mapping[str, Leaf]) -> None:
    """Raise where a checkpoint's settings have more layers than its arrays have rows."""
    layers, rows = getattr(family, "layers", 0), sum((*x.kind.shape, 1)[0] for x in stored.values())
    if isinstance(layers, int) and layers > rows:
        raise WeightsError(
            f"{layers:,} layers in {INDEX}, but the parameters have {rows:,} rows", path=folder
        )


def _with_adapter(folder: Path, *, dtype: str | None, unstack: bool) -> Loaded:
    """The model that adapters belong to, with them added to its weights."""
    base = str(read_json(folder / ADAPTER_CONFIG).get("base_model_name_or_path") or "")
    if not base or not Path(base).exists():
        raise NotFound(
            f"{folder} has adapters of the model {base or '(no name)'}, which is not here; write "
            f"its path into {folder / ADAPTER_CONFIG}: base_model_name_or_path"
        )
    loaded = open_model(base, dtype="float32")
    decoder = of_kind(loaded, base, Decoder)
    adapter = read_adapter(folder, decoder.config)
    kind = dtype or "float32"
    # Adapters have stacked layers; a base whose layers are quantized in different ways has not.
    params = merged(joined(expanded(loaded.params), adapter.params, adapter.scale))
    params = jax.tree.map(lambda x: jnp.asarray(x, kind), params)
    return replace(
        loaded,
        model=decoder.config.module(unroll=unstack, dtype=kind),
        params=take_apart(params, "layers") if unstack else params,
    )


def is_clip(path: Path) -> bool:
    """Whether files are those of a CLIP: OpenAI's, open_clip's or Hugging Face's."""
    if path.suffix == ".pt" or (path / OPEN_CLIP_CONFIG).is_file():
        return True
    config = path / CONFIG
    return config.is_file() and read_json(config).get("model_type") == "clip"


def _layers_apart(stored: Mapping[str, Leaf], put: Callable[..., Any]) -> Tree:
    """Parameters with every stack of layers (an `nn.Repeat` named "layers") as a tuple of trees."""
    found: dict[str, Any] = {}
    stacks: dict[str, list[str]] = {}
    for path in stored:
        before, is_layered, rest = f"/{path}".partition("/layers/")
        if is_layered:
            stacks.setdefault(f"{before}/layers".lstrip("/"), []).append(rest)
        else:
            found[path] = put(path)
    for stack, inside in stacks.items():
        num = stored[f"{stack}/{inside[0]}"].kind.shape[0]
        found[stack] = tuple(
            from_paths({rest: put(f"{stack}/{rest}", layer) for rest in inside})
            for layer in range(num)
        )
    return from_paths(found)
