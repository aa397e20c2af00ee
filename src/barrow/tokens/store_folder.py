"""The folder of a token store: which may be one, and how files get their names there."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from barrow.archive.storage import is_url
from barrow.files import remove_unfinished
from barrow.tokens.store_file import STORE

WORK = ".work"


def refuse_other_folders(out: Path, corpus: str) -> None:
    """Raise unless a folder is new, empty or a store, and outside of what is to be read."""
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file; name a folder for the token store")
    if not is_url(corpus) and Path(corpus).is_dir():
        read, written = Path(corpus).resolve(), out.resolve()
        if read == written or read in written.parents:
            raise ValueError(
                f"{out} lies in {corpus}, which is to be read; name a folder elsewhere"
            )
    ours = (out / WORK).is_dir() or (out / STORE).is_file()
    if out.is_dir() and any(out.iterdir()) and not ours:
        raise FileExistsError(f"{out} holds something that is no token store; name an empty folder")


def slug(name: str) -> str:
    """A domain's name as part of a file's name; not every name gives another."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "domain"


def remove_unlisted(folder: Path, listed: Collection[str]) -> None:
    """Remove arrays that the store no longer has, and what killed runs left behind."""
    remove_unfinished(folder)
    for path in folder.glob("*.safetensors"):
        if path.name not in listed:
            path.unlink()
