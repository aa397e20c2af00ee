"""Adapters as PEFT's files: adapter_config.json and adapter_model.safetensors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from barrow.errors import WeightsError
from barrow.files import make_folder
from barrow.models.decoder.model import DecoderConfig
from barrow.models.huggingface.export import family_of
from barrow.models.huggingface.names import Line, lines_of
from barrow.models.sources import read_json
from barrow.nn.tree import Tree, from_paths, paths
from barrow.weights.foreign_model import write_json
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.safetensors_write import write_safetensors

ADAPTER_CONFIG = "adapter_config.json"
_WEIGHTS = "adapter_model.safetensors"
_PREFIX = "base_model.model."
# Settings of PEFT that change the function, and the value with which they do not.
_PLAIN: Mapping[str, Any] = {
    "use_dora": False,
    "use_rslora": False,
    "bias": "none",
    "lora_bias": False,
    "rank_pattern": {},
    "alpha_pattern": {},
    "modules_to_save": None,
    "peft_type": "LORA",
    "layers_to_transform": None,
    "layer_replication": None,
}


@dataclass(frozen=True)
class Adapter:
    """Adapters by path of the kernel (``…/kernel/down``, ``…/kernel/up``), layers stacked.

    `base` is the name of the model they belong to, as the file has it.
    """

    rank: int
    alpha: float
    params: Tree
    base: str = ""

    @property
    def scale(self) -> float:
        """What multiplies the product."""
        return self.alpha / self.rank


def is_adapter(folder: Path) -> bool:
    """Whether a folder has adapters, and no model."""
    return (folder / ADAPTER_CONFIG).is_file() and not (folder / "config.json").is_file()


def save_adapter(folder: str | os.PathLike[str], config: DecoderConfig, adapter: Adapter) -> None:
    """Write adapters of a decoder so that `peft` opens them; float32, adapter_config.json last."""
    folder = Path(folder)
    leaves = paths(adapter.params)
    found: dict[str, Any] = {}
    names = set()
    for path in dict.fromkeys(place.rpartition("/")[0] for place in leaves):
        line = _line(config, path)
        down, up = (np.asarray(leaves[f"{path}/{part}"], np.float32) for part in ("down", "up"))
        for layer in range(config.layers):
            key = line.key.format(layer).removesuffix(".weight")
            names.add(".".join(key.rsplit(".", 2)[1:]))
            found[f"{_PREFIX}{key}.lora_A.weight"] = down[layer].reshape(-1, adapter.rank).T
            found[f"{_PREFIX}{key}.lora_B.weight"] = up[layer].reshape(adapter.rank, -1).T
    whole = {name: np.ascontiguousarray(array) for name, array in found.items()}
    make_folder(folder)
    write_safetensors(folder / _WEIGHTS, whole, metadata={"format": "pt"}, beside={})
    described = {
        **_PLAIN,
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": adapter.base,
        "r": adapter.rank,
        "lora_alpha": adapter.alpha,
        "lora_dropout": 0.0,
        "target_modules": sorted(names),
        "fan_in_fan_out": family_of(config) == "gpt2",
        "init_lora_weights": True,
        "inference_mode": True,
    }
    write_json(folder / ADAPTER_CONFIG, described)


def read_adapter(folder: str | os.PathLike[str], config: DecoderConfig) -> Adapter:
    """The adapters of a folder that PEFT or `save_adapter` wrote, for such a decoder."""
    folder = Path(folder)
    described = read_json(folder / ADAPTER_CONFIG)
    for name, plain in _PLAIN.items():
        if described.get(name, plain) not in (plain, None, {}):
            raise WeightsError(
                f"{ADAPTER_CONFIG} has {name}={described[name]!r}, which is not supported; merge "
                "the adapters in peft (merge_and_unload)",
                path=folder,
            )
    if not (folder / _WEIGHTS).is_file():
        raise WeightsError(f"has no {_WEIGHTS}", path=folder)
    tensors = open_safetensors(folder / _WEIGHTS)
    rank, left = int(described["r"]), set(tensors)
    found: dict[str, Any] = {}
    for line in lines_of(family_of(config), config):
        if not line.is_layered or not line.key.endswith(".weight"):
            continue
        keys = [
            f"{_PREFIX}{line.key.format(n, 0).removesuffix('.weight')}"
            for n in range(config.layers)
        ]
        names = [(f"{key}.lora_A.weight", f"{key}.lora_B.weight") for key in keys]
        if not left & {name for both in names for name in both}:
            continue
        path = line.paths[0]
        _line(config, path)  # which refuses those that share a tensor
        inputs = line.our_shape[: 2 if path.endswith("/attention/out/kernel") else 1]
        outputs = line.our_shape[len(inputs) :]
        downs, ups = [], []
        for down, up in names:
            left -= {down, up}
            has = down in tensors and up in tensors
            a = np.asarray(tensors[down], np.float32) if has else _zeros(rank, *inputs)
            b = np.asarray(tensors[up], np.float32) if has else _zeros(*outputs, rank)
            downs.append(a.reshape(rank, -1).T.reshape(*inputs, rank))
            ups.append(b.reshape(-1, rank).T.reshape(rank, *outputs))
        found[f"{path}/down"], found[f"{path}/up"] = (
            jnp.asarray(np.stack(x)) for x in (downs, ups)
        )
    if left or not found:
        shown = ", ".join(sorted(left)[:3]) or "nothing"
        raise WeightsError(f"the adapters do not fit the model: {shown} is left", path=folder)
    base = str(described.get("base_model_name_or_path") or "")
    return Adapter(rank, float(described["lora_alpha"]), from_paths(found), base)


def _line(config: DecoderConfig, path: str) -> Line:
    """The tensor of a kernel in their files."""
    family = family_of(config)
    line = next(line for line in lines_of(family, config) if path in line.paths)
    if len(line.paths) > 1:
        raise ValueError(
            f"{path} shares a matrix with others in files of {family}, so PEFT has no form "
            "for its adapter; merge it, or leave it out of lora.targets"
        )
    return line


def _zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)
