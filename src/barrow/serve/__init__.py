"""Serve: an inference engine for decoders, with keys and values in pages."""

from __future__ import annotations

from barrow.serve.engine import Engine
from barrow.serve.programs import EngineSettings
from barrow.serve.requests import Answer, Choice, Request

__all__ = ["Answer", "Choice", "Engine", "EngineSettings", "Request"]
