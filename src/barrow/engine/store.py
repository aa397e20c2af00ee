"""The store of task results. A task is done if its folder exists."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from barrow.engine.task import Task
from barrow.errors import WriteFailed
from barrow.files import make_folder, sync_folder, sync_tree

_UNFINISHED = ".unfinished"


class Store:
    """A folder of results, one folder per task key.

    A result appears under its key by a rename, so it is complete or missing; two runs may share a
    store, and a killed run loses only its running tasks.
    """

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.folder = folder
        if create:
            make_folder(folder)

    def path(self, key: str) -> Path:
        """Where the result of a task is, or will be."""
        return self.folder / key[:2] / key

    def has(self, key: str) -> bool:
        """Whether a task is done."""
        return self.path(key).is_dir()

    def perform(self, task: Task[Any]) -> None:
        """Run a task, unless it is done."""
        final = self.path(task.key)
        if final.is_dir():
            return
        final.parent.mkdir(exist_ok=True)
        out = final.parent / f"{_UNFINISHED}.{task.key}.{os.getpid()}.{os.urandom(4).hex()}"
        out.mkdir()
        try:
            task.perform(out)
            sync_tree(out)
            try:
                out.rename(final)
                sync_folder(final.parent)
            except OSError:
                if not final.is_dir():  # else another run was faster, with the same bytes
                    raise
        except OSError as error:
            if error.errno is None or error.filename is not None:
                raise
            raise WriteFailed(f"{out} could not be written: {error.strerror}") from error
        finally:
            if out.exists():
                shutil.rmtree(out, ignore_errors=True)

    def clean(self, keep: set[str]) -> None:
        """Remove the results of other tasks, and leftovers of killed runs."""
        for folder in self.folder.glob("??/*"):
            if folder.name not in keep:
                shutil.rmtree(folder, ignore_errors=True)
