"""Models: architectures, and their weights in other formats."""

from __future__ import annotations

import importlib
from typing import Any

from barrow.models.clip.config import ClipConfig
from barrow.models.decoder.generate import Completion, generate, stream
from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.models.decoder.sampling import GREEDY, Sampling
from barrow.models.family import CausalModule, Family, family_table
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded
from barrow.models.open_model import open_model as open  # noqa: A004
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.models.save import save

__all__ = [
    "GREEDY",
    "CausalModule",
    "ClipConfig",
    "Completion",
    "Decoder",
    "DecoderConfig",
    "Family",
    "KeysReport",
    "Loaded",
    "Roberta",
    "RobertaConfig",
    "Sampling",
    "clip",
    "family_table",
    "generate",
    "open",
    "save",
    "stream",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use: a decoder needs none of it.
    if name == "clip":
        return importlib.import_module("barrow.models.clip")
    raise AttributeError(f"module 'barrow.models' has no attribute {name!r}")
