"""Models: their mathematics, and their names in other people's files."""

from __future__ import annotations

import importlib
from typing import Any

from barrow.models.decoder import Decoder, DecoderConfig
from barrow.models.generate import Completion, generate, stream
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded, load
from barrow.models.roberta import Roberta, RobertaConfig
from barrow.models.sampling import GREEDY, Sampling
from barrow.models.save import save

__all__ = [
    "GREEDY",
    "Completion",
    "Decoder",
    "DecoderConfig",
    "KeysReport",
    "Loaded",
    "Roberta",
    "RobertaConfig",
    "Sampling",
    "clip",
    "generate",
    "load",
    "save",
    "stream",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use: a decoder needs none of it.
    if name == "clip":
        return importlib.import_module("barrow.models.clip")
    raise AttributeError(f"module 'barrow.models' has no attribute {name!r}")
