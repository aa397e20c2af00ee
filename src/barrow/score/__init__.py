"""Bits per byte: models, windows, score cards, results."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barrow.score.card import Card, CorpusDigest, Window, comparable
    from barrow.score.models.model import DomainModel, Model, ModelInfo, TextScore, TokenModel
    from barrow.score.models.open import (
        ModelOptions,
        causal_model,
        open_model,
        pseudo_likelihood_model,
    )
    from barrow.score.models.windowed import WindowedModel
    from barrow.score.protocol import PROTOCOLS, Protocol
    from barrow.score.result import Result, read_documents, read_result, write_result
    from barrow.score.scored_corpus import ScoredCorpus, open_corpus
    from barrow.score.scoring import Share, score

__all__ = [
    "PROTOCOLS",
    "Card",
    "CorpusDigest",
    "DomainModel",
    "Model",
    "ModelInfo",
    "ModelOptions",
    "Protocol",
    "Result",
    "ScoredCorpus",
    "Share",
    "TextScore",
    "TokenModel",
    "Window",
    "WindowedModel",
    "causal_model",
    "comparable",
    "open_corpus",
    "open_model",
    "pseudo_likelihood_model",
    "read_documents",
    "read_result",
    "score",
    "write_result",
]

# Loaded on first use: models run where the libraries of archives are not installed.
_HOMES = {
    "card": ("Card", "CorpusDigest", "Window", "comparable"),
    "models.model": ("DomainModel", "Model", "ModelInfo", "TextScore", "TokenModel"),
    "models.open": ("ModelOptions", "causal_model", "open_model", "pseudo_likelihood_model"),
    "protocol": ("PROTOCOLS", "Protocol"),
    "result": ("Result", "read_documents", "read_result", "write_result"),
    "scored_corpus": ("ScoredCorpus", "open_corpus"),
    "scoring": ("Share", "score"),
    "models.windowed": ("WindowedModel",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"barrow.score.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'barrow.score' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
