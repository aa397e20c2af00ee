"""Files of a decoder: a Hugging Face folder, a GGUF file, a llama2.c checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from barrow.errors import NotFound, WeightsError, nearest_path
from barrow.models.tokenizer_files import TokenizerFiles
from barrow.weights.gguf.model import open_gguf_model
from barrow.weights.llama2c import open_llama2c
from barrow.weights.model_card import read_card
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.tensors import Tensors

CONFIG = "config.json"
GENERATION_CONFIG = "generation_config.json"
_IDS = ("bos_token_id", "eos_token_id", "pad_token_id")
_TOKENIZERS = ("tokenizer.json", "vocab.json", "tokenizer.bin")


@dataclass(frozen=True)
class Source:
    """The contents of files, in Hugging Face's terms, before any tensor is read.

    `tokenizer` is a path that `barrow.tokens.load` opens, the contents of a tokenizer.json, or None
    where there is none; `tokenizer_config` belongs to such contents. `generation` is the contents
    of generation_config.json, `card` the head of README.md.
    """

    path: Path
    config: Mapping[str, Any]
    tensors: Tensors
    tokenizer: Path | Mapping[str, Any] | None
    tokenizer_config: Mapping[str, Any] | None = None
    generation: Mapping[str, Any] = field(default_factory=dict)
    card: Mapping[str, str] = field(default_factory=dict)

    @property
    def begin(self) -> int | None:
        """The id that a text begins with, if the files have it."""
        value = self.config.get("bos_token_id")
        return value if isinstance(value, int) else None

    @property
    def stops(self) -> tuple[int, ...]:
        """The ids that end a text."""
        value = self.config.get("eos_token_id")
        values = value if isinstance(value, list) else [value]
        return tuple(v for v in values if isinstance(v, int))

    @property
    def words(self) -> TokenizerFiles:
        """The tokenizer, and how the model is used."""
        pad = self.config.get("pad_token_id")
        return TokenizerFiles(
            self.tokenizer,
            self.tokenizer_config or {},
            self.begin,
            self.stops,
            pad if isinstance(pad, int) else None,
            generation={key: self.generation[key] for key in self.generation if key not in _IDS},
            card=self.card,
        )


def open_source(path: str | os.PathLike[str]) -> Source:
    """Open a folder or file; its contents and name decide which of the three it is."""
    path = Path(path)
    if not path.exists():
        how = nearest_path(path) or "`barrow model get NAME` fetches known weights"
        raise NotFound(f"{path} does not exist; {how}")
    if path.is_dir():
        return _open_folder(path)
    if path.suffix == ".gguf":
        model = open_gguf_model(path)
        words = model.tokenizer, model.tokenizer_config
        return Source(path, model.config, model.tensors, *words, card=model.card)
    if path.suffix == ".bin":
        model = open_llama2c(path)
        return Source(path, model.config, model.tensors, _beside(path))
    if path.suffix == ".safetensors":
        return _open_folder(path.parent, weights=path)
    raise WeightsError(
        "expected a folder with config.json and .safetensors, a .gguf file or a llama2.c .bin file",
        path=path,
    )


def _hint(folder: Path) -> str:
    """What to pass instead of a run."""
    if not (folder / "run.json").is_file():
        return ""
    if (folder / "best" / CONFIG).is_file():
        return f"; it is a run of `barrow finetune`: pass {folder / 'best'}"
    return (
        f"; it is a run: `barrow checkpoint convert {folder} --out MODEL --to hf` writes its "
        "model, and `barrow.models.open` opens the run"
    )


def _open_folder(folder: Path, *, weights: Path | None = None) -> Source:
    if not (folder / CONFIG).exists():
        others = [p for p in sorted(folder.iterdir()) if _is_whole_model(p)]
        if weights is None and len(others) == 1:
            return open_source(others[0])
        raise NotFound(f"{folder} has no config.json{_hint(folder)}")
    config, generation = read_json(folder / CONFIG), {}
    if (folder / GENERATION_CONFIG).exists():
        generation = read_json(folder / GENERATION_CONFIG)
        config |= {key: generation[key] for key in _IDS if generation.get(key) is not None}
    pickled = sorted(folder.glob("pytorch_model*.bin"))
    if weights is None and pickled and not list(folder.glob("*.safetensors*")):
        raise WeightsError(
            f"has {pickled[0].name}, a pickle, but no .safetensors; load it in "
            "transformers and call save_pretrained",
            path=folder,
        )
    has_tokenizer = any((folder / name).exists() for name in _TOKENIZERS)
    tensors = open_safetensors(folder if weights is None else weights)
    words = folder if has_tokenizer else None
    card = read_card(folder)
    return Source(folder, config, tensors, words, generation=generation, card=card)


def _is_whole_model(path: Path) -> bool:
    return path.suffix == ".gguf" or (path.suffix == ".bin" and not path.name.startswith("tok"))


def _beside(path: Path) -> Path | None:
    """llama2.c's tokenizer: in the same folder, tokenizer.bin or the only tok*.bin."""
    found = sorted(path.parent.glob("tok*.bin"))
    named = [p for p in found if p.name == "tokenizer.bin"]
    chosen = named or found
    return chosen[0] if len(chosen) == 1 else None


def is_quantized(config: Mapping[str, Any]) -> bool:
    """Whether a config.json is that of a model which `barrow compress` wrote."""
    said = config.get("quantization_config")
    return isinstance(said, Mapping) and said.get("quant_method") == "barrow"


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    try:
        table = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"is not JSON: {error}", path=path) from None
    if not isinstance(table, dict):
        raise WeightsError(f"expected a JSON object, found {type(table).__name__}", path=path)
    return table
