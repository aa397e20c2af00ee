"""The store of task results. A task is done if its folder exists."""

from __future__ import annotations

import contextlib
import filecmp
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from barrow.engine.task import Task
from barrow.errors import ConfigError, WriteFailed
from barrow.files import (
    make_folder,
    new_folder,
    remove,
    remove_tree,
    rename,
    sync_folder,
    sync_tree,
)

_UNFINISHED = ".unfinished"


class Store:
    """A folder of results, one folder per task key.

    A result appears under its key by a rename, so it is complete or missing; two runs may share a
    store, and a killed run loses only its running tasks. Temporary files of a result may be
    missing; they are written again when a task needs them.
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
        """Run a task, unless it is done and its temporary files are there."""
        final = self.path(task.key)
        temporary = task.stage.outputs.temporary()
        if final.is_dir() and all((final / name).exists() for name in temporary):
            return
        make_folder(final.parent)
        out = final.parent / f"{_UNFINISHED}.{task.key}.{os.getpid()}.{os.urandom(4).hex()}"
        new_folder(out)
        try:
            task.perform(out)
            sync_tree(out)
            try:
                rename(out, final)
                sync_folder(final.parent)
            except OSError:
                if not final.is_dir():
                    raise
                self._complete(final, out, temporary)
        except OSError as error:
            if error.errno is None or error.filename is not None:
                raise
            raise WriteFailed(f"{out} could not be written: {error.strerror}") from error
        finally:
            with contextlib.suppress(OSError):
                remove_tree(out)

    def _complete(self, final: Path, out: Path, temporary: list[str]) -> None:
        """Add the missing temporary files of a result; the others must have the same bytes."""
        missing = [name for name in temporary if not (final / name).exists()]
        others = [path.name for path in out.iterdir() if path.name not in temporary]
        if missing and filecmp.cmpfiles(out, final, others, shallow=False)[0] != others:
            raise ConfigError(
                f"{final} was written again and is not as it was before; a limit of time or memory "
                f"may have been reached only once. Remove {self.folder} and start again"
            )
        for name in missing:
            rename(out / name, final / name)
        sync_folder(final)

    def drop(self, task: Task[Any]) -> None:
        """Remove the temporary files of a result."""
        for name in task.stage.outputs.temporary():
            remove(self.path(task.key) / name)

    def clean(self, keep: Collection[str]) -> None:
        """Remove the results of other tasks, and leftovers of killed runs."""
        for folder in self.folder.glob("??/*"):
            if folder.name not in keep:
                with contextlib.suppress(OSError):
                    remove_tree(folder)
