"""Versions of what made a number."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

_LIBRARIES = ("jax", "numpy", "tokenizers", "torch", "transformers")


def versions() -> dict[str, str]:
    """Of barrow, Python, and those libraries that are loaded."""
    found = {"barrow": _version("barrow"), "python": platform.python_version()}
    return found | {name: _version(name) for name in _LIBRARIES if name in sys.modules}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
