"""A task: a call that reads files and writes a folder, named by all its output depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Task:
    """``function(out, files, settings)`` writes into the new folder `out`, and nowhere else.

    `settings` are JSON values, `inputs` identify the content of what is read (hashes, or the keys
    of earlier tasks); with the function's name and `version` they make the `key`. `files` say where
    that content lies on this machine and are no part of it, so a build has the same names
    everywhere. The function is importable by name. `size` is its weight in the progress display.
    """

    label: str
    function: Callable[[Path, list[str], Mapping[str, Any]], None]
    version: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    size: int = 1

    @cached_property
    def key(self) -> str:
        """The task's name in the store."""
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        told = [function, self.version, self.settings, list(self.inputs)]
        canonical = json.dumps(told, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:32]
