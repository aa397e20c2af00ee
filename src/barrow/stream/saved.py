"""A stream on disk: its settings, and which data they are for."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from barrow import config
from barrow.errors import NotFound, StoreError
from barrow.files import portable, resolved, write_bytes
from barrow.stream.source import Data, DataSettings

NAME = "stream.json"
CHECKPOINT = "index.json"


@dataclass(frozen=True)
class Saved:
    """What is saved: the paths and hashes of the data, and the settings."""

    folder: str
    identity: dict[str, str]
    settings: DataSettings
    format: Literal["barrow-stream"] = "barrow-stream"
    version: Literal[2] = 2

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, trust: Collection[str] = ()) -> Saved:
        """A file, a folder (a run, say) with a stream.json, or a checkpoint."""
        path = Path(path)
        if (path / CHECKPOINT).is_file() and not (path / NAME).is_file():
            table = config.parse_json((path / CHECKPOINT).read_bytes(), path / CHECKPOINT)
            about = table.get("about", {}) if isinstance(table, dict) else {}
            if "stream" not in about:
                raise NotFound(f"{path} is a checkpoint without a stream; pass the saved stream")
            return config.from_dict(cls, about["stream"], trust=trust)._in(path)
        file = path / NAME if path.is_dir() else path
        if not file.is_file():
            hint = f"the folder has no {NAME}" if path.is_dir() else "no such file"
            raise NotFound(f"{path} is not a saved stream: {hint}; barrow tokens stream makes one")
        text = file.read_text(encoding="utf-8")
        return config.from_json(cls, text, where=file, trust=trust)._in(file.parent)

    def _in(self, folder: Path) -> Saved:
        """Resolve the data's folder, as a file in `folder` names it."""
        return replace(self, folder=resolved(self.folder, folder))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it atomically; the data's folder relative to the file."""
        path = Path(path)
        made = replace(self, folder=portable(self.folder, path.parent))
        write_bytes(path, config.to_json(made).encode())

    def check(self, data: Data[Any], *, name: str) -> None:
        """Raise `StoreError` unless data are those that the stream was saved with."""
        for what, before in self.identity.items():
            now = data.identity.get(what, "none")
            if now != before:
                size = 16 if now[:16] != before[:16] else None
                raise StoreError(
                    f"the stream was saved with {what} {before[:size]}, but {data.folder} "
                    f"has {now[:size]}: every batch would change; pass the original "
                    f"{what}, or make a new stream",
                    reason=f"other-{what}",
                    file=name,
                )
