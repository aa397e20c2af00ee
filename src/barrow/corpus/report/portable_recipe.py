"""A recipe that can be published: files by name, without their folders."""

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
    """Settings as they are saved, with paths shortened."""
    if isinstance(settings, Path):
        return settings.name
    if isinstance(settings, config.Named):  # only its class knows which strings are paths
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
    """The sha256 of ``recipe.json`` beside the corpus."""
    return hashlib.sha256(config.to_json(recipe).encode()).hexdigest()
