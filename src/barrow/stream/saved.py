"""A stream on disk: its settings, and which store they are for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from barrow import config
from barrow.errors import NotFound, StoreError
from barrow.files import write_bytes
from barrow.stream.settings import StreamSettings
from barrow.stream.store import Store

NAME = "stream.json"
CHECKPOINT = "index.json"


@dataclass(frozen=True)
class SavedStream:
    """What is saved. `identity` is the hash of the store's content, `tokenizer` of its ids'."""

    store: str
    identity: str
    tokenizer: str
    settings: StreamSettings
    format: Literal["barrow-stream"] = "barrow-stream"
    version: Literal[1] = 1


def saved_stream(store: Store, settings: StreamSettings) -> SavedStream:
    """What is saved of a stream."""
    return SavedStream(str(store.folder.resolve()), store.identity, store.tokenizer_hash, settings)


def save_stream(path: str | os.PathLike[str], store: Store, settings: StreamSettings) -> None:
    """Write a stream; whoever reads the path sees the old file or the new one."""
    write_bytes(Path(path), config.to_json(saved_stream(store, settings)).encode())


def read_saved(path: str | os.PathLike[str]) -> SavedStream:
    """Read a saved stream: a file, a folder (a run, say) with a stream.json, or a checkpoint."""
    path = Path(path)
    if (path / CHECKPOINT).is_file() and not (path / NAME).is_file():
        return _of_checkpoint(path)
    file = path / NAME if path.is_dir() else path
    if not file.is_file():
        hint = f"the folder has no {NAME}" if path.is_dir() else "no such file"
        raise NotFound(f"{path} is no saved stream: {hint}; barrow stream makes one")
    return config.from_json(SavedStream, file.read_text(encoding="utf-8"), where=file)


def _of_checkpoint(folder: Path) -> SavedStream:
    """The stream that a checkpoint of a training run tells of."""
    told = config.parse_json((folder / CHECKPOINT).read_bytes(), folder / CHECKPOINT)
    told = told.get("about", {}) if isinstance(told, dict) else {}
    if "stream" not in told:
        raise NotFound(f"{folder} is a checkpoint that tells of no stream: give the saved stream")
    return config.from_dict(SavedStream, told["stream"])


def check_store(saved: SavedStream, store: Store, *, name: str) -> None:
    """Raise `StoreError` unless a store is the one that a stream was saved with."""
    if store.tokenizer_hash != saved.tokenizer:
        raise StoreError(
            f"the stream was saved with tokenizer {saved.tokenizer[:16]}, the store at "
            f"{store.folder} has {store.tokenizer_hash[:16]}: its ids mean something else; give "
            "the store the stream was made for, or make a new stream",
            reason="other-tokenizer",
            file=name,
        )
    if store.identity != saved.identity:
        raise StoreError(
            f"the stream was saved with store {saved.identity[:16]}, the one at {store.folder} is "
            f"{store.identity[:16]}: its documents have changed, and so would every batch; give "
            "the store as it was, or make a new stream",
            reason="other-store",
            file=name,
        )
