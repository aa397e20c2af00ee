"""Folders of models as `transformers` saves them, whose numbers NumPy draws.

The files and tensors that `transformers` saves are kept in `tests/golden`, so folders can be made
without it. A reference opens the same folder with it.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tests.goldens import golden

WEIGHTS = "model.safetensors"


def quiet_transformers() -> Any:
    """The library, without its warnings and progress bars."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


@golden("torch", "transformers")
def saved(kind: str, config: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The JSON files that a model of these classes is saved with, and its tensors' shapes."""
    from safetensors import safe_open

    transformers = quiet_transformers()
    made = getattr(transformers, config)(**settings)
    auto = kind.startswith("AutoModel")
    model = getattr(transformers, kind)
    model = model.from_config(made) if auto else model(made)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save_pretrained(folder)
        files = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
        for file in files.values():
            file.pop("transformers_version", None)
        with safe_open(folder / WEIGHTS, "numpy") as tensors:
            shapes = {
                key: list(tensors.get_slice(key).get_shape()) for key in sorted(tensors.keys())
            }
    return {"files": files, "shapes": shapes, "parameters": model.num_parameters()}


def write_model(
    folder: Path,
    kind: str,
    config: str,
    settings: dict[str, Any],
    *,
    std: float = 0.3,
    max_shard_bytes: int | None = None,
) -> Path:
    """Write such a folder; every number is drawn."""
    described = saved(kind, config, settings)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in described["files"].items():
        (folder / name).write_text(json.dumps(content, indent=2))
    tensors = {name: drawn(name, shape, std) for name, shape in described["shapes"].items()}
    if max_shard_bytes is None:
        save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
        return folder
    shards: list[dict[str, Any]] = [{}]
    for name, tensor in tensors.items():
        if sum(x.nbytes for x in shards[-1].values()) + tensor.nbytes > max_shard_bytes:
            shards.append({})
        shards[-1][name] = tensor
    table = {}
    for number, shard in enumerate(shards, 1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        save_file(shard, folder / name, metadata={"format": "pt"})
        table.update(dict.fromkeys(shard, name))
    total = {"total_size": sum(x.nbytes for x in tensors.values())}
    index = {"metadata": total, "weight_map": table}
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))
    return folder


def drawn(name: str, shape: list[int], std: float) -> np.ndarray[Any, Any]:
    """Gaussian numbers that depend on the name alone."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return np.asarray(std * rng.standard_normal(shape), np.float32)


def opened(kind: str, config: str, settings: dict[str, Any], *, std: float = 0.3) -> Any:
    """The same model as `transformers` opens it, for references; every key must match."""
    transformers = quiet_transformers()
    with tempfile.TemporaryDirectory() as folder:
        write_model(Path(folder), kind, config, settings, std=std)
        model, told = getattr(transformers, kind).from_pretrained(
            folder, output_loading_info=True, attn_implementation="eager"
        )
    assert not any(told.values()), told
    return model.eval()
