"""Files that hold a CLIP model: OpenAI's archives, Hugging Face's and open_clip's folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.errors import NotFound, WeightsError
from barrow.models.clip.config import ClipConfig
from barrow.models.clip.hf import config_of_hf
from barrow.models.clip.names import HF_BUFFERS, OPENAI_BUFFERS, Entry, hf_entries, openai_entries
from barrow.models.clip.open_clip import Shapes, config_of_open_clip, config_of_shapes
from barrow.models.sources import CONFIG, read_json
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.tensors import Tensors
from barrow.weights.torch.checkpoint import open_torch

OPEN_CLIP_CONFIG = "open_clip_config.json"
OPEN_CLIP_WEIGHTS = "open_clip_model.safetensors"
_OPEN_CLIP_FILES = (OPEN_CLIP_WEIGHTS, "open_clip_pytorch_model.bin")
_TORCH = (".pt", ".pth", ".bin", ".ckpt")
# Wrappers that training scripts put around a state dict and its names.
_WRAPPERS = ("state_dict.", "model.", "module.")


@dataclass(frozen=True)
class Layout:
    """The naming of tensors: the table for an architecture, and what is ignored."""

    name: str
    entries: Callable[[ClipConfig], list[Entry]]
    buffers: str


OPENAI = Layout("OpenAI's", openai_entries, OPENAI_BUFFERS)
HUGGING_FACE = Layout("Hugging Face's", hf_entries, HF_BUFFERS)


@dataclass(frozen=True)
class ClipFiles:
    """The contents of files, before any tensor is read.

    `config` is their architecture, or that of the shapes, which do not have the number of heads
    (`says_heads`). `tokenizer` is a folder with a tokenizer in it, or None; `preprocessing` has
    mean and standard deviation, by those names.
    """

    path: Path
    tensors: Tensors
    layout: Layout
    config: ClipConfig
    tokenizer: Path | None = None
    preprocessing: Mapping[str, Any] | None = None
    says_heads: bool = True

    def __post_init__(self) -> None:
        """Raise where there are more layers than tensors, before all are named."""
        image = self.config.image.layers
        layers = max(self.config.text.layers, sum(image) if isinstance(image, tuple) else image)
        if layers > len(self.tensors):
            raise WeightsError(
                f"{layers:,} layers in its configuration, but {len(self.tensors):,} tensors in "
                "the weights; do the two files match?",
                path=self.path,
            )


def open_clip_files(path: str | os.PathLike[str]) -> ClipFiles:
    """Open a folder or a file; its contents decide the kind. Nothing is executed."""
    path = Path(path)
    if not path.exists():
        raise NotFound(f"{path} does not exist; pass a .pt file or a folder of CLIP weights")
    if path.is_dir():
        return _open_folder(path)
    tensors = _plain_names(_open_file(path))
    if "text_model.embeddings.token_embedding.weight" in tensors:
        if not (path.parent / CONFIG).exists():
            raise NotFound(f"{path} has Hugging Face's names, but no config.json beside it")
        return _hugging_face(path.parent, tensors)
    if (path.parent / OPEN_CLIP_CONFIG).exists() and path.name in _OPEN_CLIP_FILES:
        return _open_clip(path.parent, path)
    config = config_of_shapes(_shapes(tensors), path)
    return ClipFiles(path, tensors, OPENAI, config, says_heads=False)


def _open_folder(folder: Path) -> ClipFiles:
    if (folder / OPEN_CLIP_CONFIG).exists():
        found = [folder / name for name in _OPEN_CLIP_FILES if (folder / name).exists()]
        if found:
            return _open_clip(folder, found[0])
    if not (folder / CONFIG).exists():
        raise NotFound(
            f"{folder} has neither config.json (Hugging Face) nor {OPEN_CLIP_CONFIG} with "
            f"{' or '.join(_OPEN_CLIP_FILES)} (open_clip)"
        )
    pickled = folder / "pytorch_model.bin"
    if pickled.exists() and not list(folder.glob("model*.safetensors*")):
        return _hugging_face(folder, _open_file(pickled))
    return _hugging_face(folder, open_safetensors(folder))


def _hugging_face(folder: Path, tensors: Tensors) -> ClipFiles:
    config = config_of_hf(read_json(folder / CONFIG), folder)
    beside = folder / "preprocessor_config.json"
    said = read_json(beside) if beside.exists() else {}
    preprocessing = {"mean": said.get("image_mean"), "std": said.get("image_std")}
    return ClipFiles(folder, tensors, HUGGING_FACE, config, _tokenizer(folder), preprocessing)


def _open_clip(folder: Path, weights: Path) -> ClipFiles:
    tensors = _plain_names(_open_file(weights))
    said = read_json(folder / OPEN_CLIP_CONFIG)
    config = config_of_open_clip(said, _shapes(tensors), folder)
    preprocessing = said.get("preprocess_cfg")
    return ClipFiles(folder, tensors, OPENAI, config, _tokenizer(folder), preprocessing)


def _open_file(path: Path) -> Tensors:
    if path.suffix == ".safetensors":
        return open_safetensors(path)
    if path.suffix in _TORCH:
        return open_torch(path).tensors
    raise WeightsError(
        f"expected a folder, .safetensors or a PyTorch file ({', '.join(_TORCH)})", path=path
    )


def _plain_names(tensors: Tensors) -> Tensors:
    """Without the wrappers that every name is in; beside a state dict, optimizers are left out."""
    for wrapper in _WRAPPERS:
        inside = [name for name in tensors if name.startswith(wrapper)]
        whole = wrapper == "state_dict." or len(inside) == len(tensors)
        if inside and whole:
            tensors = Tensors({n.removeprefix(wrapper): tensors.entry(n) for n in inside})
    return tensors


def _shapes(tensors: Tensors) -> Shapes:
    return {name: tensors.entry(name).shape for name in tensors}


def _tokenizer(folder: Path) -> Path | None:
    names = ("merges.txt", "tokenizer.json")
    return folder if any((folder / name).exists() for name in names) else None
