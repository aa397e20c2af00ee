"""Write a model as a GGUF file, for llama.cpp."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection
from pathlib import Path

from barrow.compress.export.hf import export_hf
from barrow.files import atomic_path, new_path
from barrow.tokens import load
from barrow.tokens.chat.template import read_settings
from barrow.weights.gguf.write import Stored, write_gguf
from barrow.weights.model_card import read_card


def export_gguf(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    stored: Stored = "f16",
    trust: Collection[str] = (),
) -> None:
    """The decoder of a run, a checkpoint, a folder or a file; by way of a Hugging Face folder."""
    out = Path(out)
    if out.suffix != ".gguf":
        raise ValueError(f"out must end in .gguf, got {out}; pass {out.with_suffix('.gguf')}")
    out = new_path(out)
    with atomic_path(out) as part, tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        export_hf(path, model, trust=trust)
        has_words = (model / "tokenizer.json").is_file()
        write_gguf(
            model,
            part,
            stored=stored,
            settings=read_settings(model),
            around=load(model).around if has_words else ((), ()),
            card={"model_name": _name(Path(path)), **read_card(model)},
        )


def _name(path: Path) -> str:
    """The name of a model that does not say it: that of its folder or file, or on the hub."""
    path = path.resolve()
    if path.parent.name == "snapshots":
        return path.parent.parent.name.rpartition("--")[2]
    return path.stem if path.is_file() else path.name
