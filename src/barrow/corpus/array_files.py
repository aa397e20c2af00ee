"""safetensors, for whoever has the extra that brings it."""

from __future__ import annotations

from barrow.errors import MissingExtra

try:
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
except ImportError:
    raise MissingExtra("safetensors", "corpus", "building a corpus") from None

__all__ = ["load_file", "safe_open", "save_file"]
