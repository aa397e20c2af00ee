"""Folders of results, and their contents."""

from __future__ import annotations

import os
from pathlib import Path

from barrow.files import disk
from barrow.files.names import local_path


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Create the folder of a result, and those above it."""
    folder = local_path(path)
    if not folder.is_dir():
        disk.before("open", folder)
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def listed(folder: Path) -> list[str]:
    """The names of all that was published in a folder, sorted; none without a folder."""
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder survive a power cut, where the file system can."""
    disk.sync(folder)


def sync_tree(folder: Path) -> None:
    """Sync a folder and all that is in it to disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            disk.sync(Path(parent, name))
        disk.sync(Path(parent))
