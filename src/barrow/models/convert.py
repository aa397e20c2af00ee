"""Parameters from one format to another."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from barrow.checkpoint.folder import find_checkpoint
from barrow.checkpoint.index import as_json, change_places, read_index
from barrow.checkpoint.params import save_params
from barrow.checkpoint.sources import Format, format_of, open_params
from barrow.files import atomic_path, new_path, portable
from barrow.models.family import Exported, described_family
from barrow.nn.tree import from_paths
from barrow.weights.flax import write_flax
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
    trust: Collection[str] = (),
) -> int:
    """Write the parameters of a source (see `open_params`) elsewhere; how many there were.

    checkpoint   a folder of ours with parameters only
    safetensors  a file, or a folder of shards, names as our paths
    msgpack      a file that `flax.serialization.msgpack_restore` reads: nested dicts
    hf           a folder that `transformers` opens

    The `about` of the source is kept in a checkpoint. For ``hf``
    ``about["model"]`` is the model's settings (`family.family_table`), and
    ``about["tokenizer"]``, where there is one, a path or a name that `barrow.tokens.load`
    takes (of CLIP: `clip_load.named_tokenizer`);
    ``about["begin"]`` and ``about["end"]`` are the ids that begin and end a text.
    """
    target = new_path(target)
    kind = source_format or format_of(source)
    tensors = open_params(source, format=kind)
    if not len(tensors):
        raise ValueError(f"{source} has no parameters")
    described = about
    if described is None:
        described = read_index(find_checkpoint(Path(source))).about if kind == "checkpoint" else {}
    if to == "checkpoint":  # relative to the target: it is written in another folder
        described = change_places(as_json(described), partial(portable, folder=target))
    with atomic_path(target) as part:
        _write(Path(source), part, tensors, described, to=to, trust=trust)
    return len(tensors)


def _write(
    source: Path,
    target: Path,
    tensors: Tensors,
    about: Mapping[str, Any],
    *,
    to: Target,
    trust: Collection[str],
) -> None:
    if to == "checkpoint":
        # A dot separates PyTorch's names, a slash ours; both are kept.
        save_params(target, from_paths({name: tensors[name] for name in tensors}), about)
    elif to == "safetensors":
        write_safetensors(target, tensors, beside={})
    elif to == "msgpack":
        write_flax(target, _nested(tensors))
    else:
        _save_hf(source, target, tensors, about, trust)


def _nested(tensors: Tensors) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name in tensors:
        *folders, last = name.split("/")
        at = nested
        for folder in folders:
            at = at.setdefault(folder, {})
        at[last] = tensors[name]
    return nested


def _save_hf(
    source: Path,
    target: Path,
    tensors: Tensors,
    about: Mapping[str, Any],
    trust: Collection[str],
) -> None:
    family = described_family(about, source, trust=trust)
    if not isinstance(family, Exported):
        raise ValueError(f"{type(family).__name__} has no save_huggingface; use --to safetensors")
    params = from_paths({name: tensors[name] for name in tensors})
    family.save_huggingface(target, params, about)
