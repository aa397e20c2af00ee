"""Write a model as a GGUF file, for llama.cpp."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection
from pathlib import Path

from barrow.compress.export.hf import export_hf
from barrow.files import atomic_path, new_path
from barrow.weights.gguf.write import Stored, write_gguf


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
        export_hf(path, Path(folder) / "model", trust=trust)
        write_gguf(Path(folder) / "model", part, stored=stored)
