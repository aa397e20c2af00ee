"""The folder of downloaded models and compiled programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str]) -> Path:
    """``BARROW_CACHE``, or ``XDG_CACHE_HOME/barrow``, or ``~/.cache/barrow``."""
    if named := environment.get("BARROW_CACHE"):
        return Path(named).expanduser()
    if shared := environment.get("XDG_CACHE_HOME"):
        return Path(shared) / "barrow"
    return Path(environment.get("HOME") or "~").expanduser() / ".cache" / "barrow"
