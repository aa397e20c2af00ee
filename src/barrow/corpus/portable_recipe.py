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


def portable(settings: Any) -> Any:
    """Settings as what JSON can hold, all files without their folders."""
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        return {
            field.name: portable([Path(path) for path in value] if field.name in _PATHS else value)
            for field in dataclasses.fields(settings)
            for value in [getattr(settings, field.name)]
        }
    if isinstance(settings, Path):
        return settings.name
    if isinstance(settings, Mapping):
        return {str(key): portable(value) for key, value in settings.items()}
    if isinstance(settings, list | tuple):
        return [portable(value) for value in settings]
    return config.to_dict(settings)


def portable_json(recipe: Recipe) -> str:
    """A recipe, in the form of ``recipe.json``."""
    return json.dumps(portable(recipe), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def recipe_hash(recipe: Recipe) -> str:
    """The sha256 of ``recipe.json``, as it lies beside the corpus."""
    return hashlib.sha256(config.to_json(recipe).encode()).hexdigest()
