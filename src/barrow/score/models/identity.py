"""The sha256 that names weights on disk, and their size."""

from __future__ import annotations

import hashlib
from pathlib import Path

_WEIGHTS = (".safetensors", ".gguf", ".bin", ".pt", ".pth")
_NOT_WEIGHTS = ("tok", "training_args", "optimizer", "scheduler")


def identity_of(path: Path) -> tuple[str, int]:
    """Of a file, or of the weights and config.json in a folder: a hash, and bytes of weights.

    Paths and times of the files do not matter.
    """
    files = [path] if path.is_file() else sorted(file for file in path.iterdir() if _counts(file))
    found = hashlib.sha256()
    size = 0
    for file in files:
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        found.update(f"{file.suffix} {digest}\n".encode())
        size += file.stat().st_size if file.suffix in _WEIGHTS else 0
    return found.hexdigest(), size


def _counts(file: Path) -> bool:
    if not file.is_file() or file.name.startswith(_NOT_WEIGHTS):
        return False
    return file.suffix in _WEIGHTS or file.name == "config.json"
