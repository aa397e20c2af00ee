"""A tracker: the losses of a run as a table, losses.csv in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Csv:
    folder: Path

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def log(self, step: int, values: Mapping[str, Any]) -> None:
        with (self.folder / "losses.csv").open("a") as file:
            file.write(f"{step},{values['loss']}\n")

    def close(self) -> None:
        pass
