"""A recipe as it may be shown elsewhere: files by their names, not by where they lie."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barrow import config
from barrow.corpus.recipe import Recipe

# Paths that settings hold as text.
_PATHS = frozenset(["against", "sets"])


def portable_json(recipe: Recipe) -> str:
    """A recipe, in the form of ``recipe.json``, all files without their folders."""
    saved = _portable(recipe, config.to_dict(recipe))
    return json.dumps(saved, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _portable(settings: Any, saved: Any) -> Any:
    """What is saved of settings, their paths cut."""
    if isinstance(settings, Path):
        return settings.name
    if isinstance(settings, config.Named):  # which of its texts are paths, only its class knows
        return {key: Path(v).name if str(v).startswith("/") else v for key, v in saved.items()}
    if isinstance(settings, Mapping):
        return {key: _portable(value, saved[str(key)]) for key, value in settings.items()}
    if isinstance(settings, list | tuple):
        return [_portable(value, one) for value, one in zip(settings, saved, strict=True)]
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        return saved | {
            name: _portable(
                [Path(path) for path in value] if name in _PATHS else value, saved[name]
            )
            for name, value in vars(settings).items()
        }
    return saved


def recipe_hash(recipe: Recipe) -> str:
    """The sha256 of ``recipe.json``, as it lies beside the corpus."""
    return hashlib.sha256(config.to_json(recipe).encode()).hexdigest()
