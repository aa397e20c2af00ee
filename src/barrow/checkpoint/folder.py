"""Folders of checkpoints: their names, which are complete, which to remove.

A checkpoint appears by the rename of a hidden folder and disappears by a rename to one, so a plain
name means complete. Hidden folders are what a killed writer left; the next one removes them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

from barrow.checkpoint.index import INDEX, Index, read_index
from barrow.errors import CheckpointError, NotFound, UnsafeName, nearest_path
from barrow.files import inside, remove_tree, rename, sync_folder

_NAME = re.compile(r"step-(\d{9,})")
_HIDDEN = re.compile(r"\.(step-\d{9,})\.(part|gone|before)")


def folder_of(folder: Path, step: int) -> Path:
    """The plain folder of a step."""
    return folder / f"step-{step:09}"


def name_of(path: Path) -> str:
    """The name of a folder or file; a checkpoint has the name of its run, and its step."""
    step = _NAME.fullmatch(path.name)
    if step is None:
        return path.name or path.resolve().name
    folder = path.resolve().parent
    run = folder.parent if folder.name == "checkpoints" else folder
    return f"{run.name}-step-{int(step[1])}"


def hidden_beside(folder: Path, kind: str) -> Path:
    """The hidden folder beside a plain one: ``part`` is being written, ``gone`` being removed.

    ``before`` is the one that a checkpoint of the same step is about to replace.
    """
    return folder.with_name(f".{folder.name}.{kind}")


def locate(folder: Path, step: int) -> Path:
    """The folder of a step: its hidden one while it is being replaced."""
    plain = folder_of(folder, step)
    before = hidden_beside(plain, "before")
    return before if before.is_dir() and not plain.is_dir() else plain


def listed(folder: Path) -> list[int]:
    """Steps that have a folder, complete or not, ascending."""
    if not folder.is_dir():
        return []
    steps = set()
    for entry in folder.iterdir():
        hidden = _HIDDEN.fullmatch(entry.name)
        name = hidden[1] if hidden is not None and hidden[2] == "before" else entry.name
        found = _NAME.fullmatch(name)
        if found is not None and entry.is_dir():
            steps.add(int(found[1]))
    return sorted(steps)


def complete(folder: Path) -> list[int]:
    """Steps whose checkpoints have an index and every file at its full length, ascending."""
    return [step for step in listed(folder) if _is_whole(locate(folder, step))]


def open_index(folder: Path) -> Index:
    """The index of a checkpoint whose files are all there, at their full length."""
    if not folder.exists():
        raise NotFound(f"{folder} does not exist")
    index = read_index(folder)
    for name, file in index.files.items():
        try:
            path = inside(folder, name)
        except UnsafeName as error:
            raise CheckpointError(str(error), reason="damaged", folder=folder) from None
        found = path.stat().st_size if path.is_file() else None
        if found != file.num_bytes:
            is_there = "is missing" if found is None else f"has {found:,} bytes"
            raise CheckpointError(
                f"incomplete checkpoint: {name} {is_there}, expected {file.num_bytes:,} bytes",
                reason="incomplete",
                folder=folder,
            )
    return index


def previous_one(folder: Path) -> str:
    """Name the complete checkpoint before this one, in words for an error message."""
    found = _NAME.fullmatch(folder.name)
    before = [] if found is None else [s for s in complete(folder.parent) if s < int(found[1])]
    if not before:
        return "there is no earlier one"
    return f"the previous one is {locate(folder.parent, before[-1])}; choose it with --step"


def find_checkpoint(path: Path, *, step: int | None = None) -> Path:
    """The folder of a checkpoint, given it, the folder of several, or a run: then the newest.

    With `step`, that of a run. A newest one that is damaged or incomplete is an error, since the
    one before it is another model.
    """
    if (path / INDEX).is_file() and step is None:
        return path
    for folder in (path / "checkpoints", path):
        if steps := listed(folder):
            found = locate_step(folder, steps[-1] if step is None else step)
            try:
                open_index(found)
            except CheckpointError as error:
                cause = f"{error.cause}; {previous_one(found)}"
                raise CheckpointError(cause, reason=error.reason, folder=found) from None
            return found
    if not path.exists():
        how = nearest_path(path) or "pass a run, a folder of checkpoints or a checkpoint"
        raise NotFound(f"{path} does not exist; {how}")
    raise CheckpointError(
        "expected a checkpoint, a folder of checkpoints or a run; found no complete checkpoint",
        reason="none",
        folder=path,
    )


def locate_step(folder: Path, step: int) -> Path:
    """The folder of a step, which must be there."""
    where = locate(folder, step)
    if not where.exists():
        steps = ", ".join(map(str, complete(folder))) or "none"
        raise NotFound(f"{folder} has no checkpoint of step {step}; complete ones: {steps}")
    return where


def removable(
    steps: Iterable[int], *, written: int, keep_last: int, keep_every: int | None
) -> list[int]:
    """Steps to remove: not `written`, not the last few, not multiples of `keep_every`."""
    ordered = sorted(steps)
    kept = {written, *ordered[len(ordered) - min(keep_last, len(ordered)) :]}
    if keep_every is not None:
        kept |= {step for step in ordered if step % keep_every == 0}
    return [step for step in ordered if step not in kept]


def remove(folder: Path) -> None:
    """Remove a checkpoint: at once for readers, then its bytes."""
    gone = hidden_beside(folder, "gone")
    remove_tree(gone)
    rename(folder, gone)
    sync_folder(folder.parent)
    _discard(gone)


def clean(folder: Path) -> None:
    """Remove what killed writers left, and finish or undo what they began."""
    for entry in sorted(folder.iterdir()):
        found = _HIDDEN.fullmatch(entry.name)
        if found is None or not entry.is_dir():
            continue
        if found[2] == "before" and not (folder / found[1]).is_dir():
            rename(entry, folder / found[1])
        else:
            _discard(entry)


def commit(part: Path, folder: Path) -> None:
    """Give a finished folder its plain name, replacing what had it."""
    before = hidden_beside(folder, "before")
    if folder.exists():
        remove_tree(before)
        rename(folder, before)
    rename(part, folder)
    sync_folder(folder.parent)
    _discard(before)


def _discard(folder: Path) -> None:
    """Remove what has no name; while a reader has it open on NFS, it stays for the next `clean`."""
    with contextlib.suppress(OSError):
        remove_tree(folder)


def _is_whole(folder: Path) -> bool:
    try:
        open_index(folder)
    except (CheckpointError, OSError):
        return False
    return True
