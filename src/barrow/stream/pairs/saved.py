"""A stream of pairs on disk: its settings, and which index and encoder they are for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from barrow import config
from barrow.errors import NotFound, StoreError
from barrow.files import write_bytes
from barrow.stream.pairs.index import PairIndex
from barrow.stream.pairs.settings import PairSettings
from barrow.stream.pairs.texts import TextEncoder

NAME = "pairs_stream.json"


@dataclass(frozen=True)
class SavedPairs:
    """What is saved. `identity` is the hash of the index, `texts` that of the encoder."""

    index: str
    identity: str
    texts: str
    settings: PairSettings
    format: Literal["barrow-pair-stream"] = "barrow-pair-stream"
    version: Literal[1] = 1


def saved_pairs(index: PairIndex, texts: TextEncoder, settings: PairSettings) -> SavedPairs:
    """What is saved of a stream."""
    return SavedPairs(str(index.folder.resolve()), index.identity, texts.hash, settings)


def save_pairs(
    path: str | os.PathLike[str], index: PairIndex, texts: TextEncoder, settings: PairSettings
) -> None:
    """Write a stream; whoever reads the path sees the old file or the new one."""
    write_bytes(Path(path), config.to_json(saved_pairs(index, texts, settings)).encode())


def read_saved(path: str | os.PathLike[str]) -> SavedPairs:
    """Read a saved stream: a file, or a folder with a pairs_stream.json."""
    path = Path(path)
    file = path / NAME if path.is_dir() else path
    if not file.is_file():
        hint = f"the folder has no {NAME}" if path.is_dir() else "no such file"
        raise NotFound(f"{path} is no saved stream of pairs: {hint}")
    return config.from_json(SavedPairs, file.read_text(encoding="utf-8"), where=file)


def check_index(saved: SavedPairs, index: PairIndex, texts: TextEncoder, *, name: str) -> None:
    """Raise `StoreError` unless index and encoder are those that a stream was saved with."""
    if index.identity != saved.identity:
        raise StoreError(
            f"the stream was saved with index {saved.identity[:16]}, the one at {index.folder} is "
            f"{index.identity[:16]}: its pairs have changed, and so would every batch; give the "
            "index as it was, or make a new stream",
            reason="other-index",
            file=name,
        )
    if texts.hash != saved.texts:
        raise StoreError(
            f"the stream was saved with encoder {saved.texts[:16]}, this one is "
            f"{texts.hash[:16]}: its ids mean something else",
            reason="other-tokenizer",
            file=name,
        )
