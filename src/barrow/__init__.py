"""barrow: raw text from many domains to a scored foundation model, in one tool."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import barrow.archive as archive
    import barrow.checkpoint as checkpoint
    import barrow.config as config
    import barrow.corpus as corpus
    import barrow.engine as engine
    import barrow.errors as errors
    import barrow.images as images
    import barrow.launch as launch
    import barrow.mix as mix
    import barrow.models as models
    import barrow.nn as nn
    import barrow.parallel as parallel
    import barrow.recipes as recipes
    import barrow.runtime as runtime
    import barrow.score as score
    import barrow.stream as stream
    import barrow.tokens as tokens
    import barrow.train as train
    import barrow.weights as weights
    from barrow.archive import Document
    from barrow.runtime import Runtime
    from barrow.verification import verify

__all__ = [
    "Document",
    "Runtime",
    "archive",
    "checkpoint",
    "config",
    "corpus",
    "engine",
    "errors",
    "images",
    "launch",
    "mix",
    "models",
    "nn",
    "parallel",
    "recipes",
    "runtime",
    "score",
    "stream",
    "tokens",
    "train",
    "verify",
    "weights",
]

# Loaded on first use, so that `import barrow` is fast and each part needs only its own libraries.
_HOME_OF = {
    "Document": "barrow.archive",
    "Runtime": "barrow.runtime",
    "verify": "barrow.verification",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    if name in __all__:
        return importlib.import_module(f"barrow.{name}")
    raise AttributeError(f"module 'barrow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
