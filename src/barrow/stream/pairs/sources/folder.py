"""Pairs from a folder of images."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from barrow.images.decode import is_image
from barrow.stream.pairs.sources.found import Found, LeftOut, captions_of

Captions = Literal["auto", "txt", "folder", "name"]


def from_folder(root: Path, *, captions: Captions = "auto") -> Iterator[Found | LeftOut]:
    """Images under a folder, in the order of their paths.

    Captions are the lines of a text file beside the image (`txt`: a.png and a.txt), the name of the
    image's folder, or its own name, with blanks for underscores and hyphens. `auto` is `txt` where
    any image has such a file, else `folder` where images are in subfolders, else `name`.
    """
    kind = _kind(root) if captions == "auto" else captions
    for path in _files(root):
        if not is_image(path):
            continue
        found = _captions(root, path, kind)
        if isinstance(found, LeftOut):
            yield found
        else:
            yield Found(path, found, file=path, length=(root / path).stat().st_size)


def _files(root: Path) -> Iterator[str]:
    """Paths relative to a folder, sorted; hidden ones are skipped."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = Path(folder).relative_to(root)
        yield from ((inside / name).as_posix() for name in sorted(files) if name[:1] != ".")


def _kind(root: Path) -> Captions:
    is_deep = False
    for path in _files(root):
        if is_image(path):
            if (root / path).with_suffix(".txt").is_file():
                return "txt"
            is_deep = is_deep or "/" in path
    return "folder" if is_deep else "name"


def _captions(root: Path, path: str, kind: Captions) -> tuple[str, ...] | LeftOut:
    place = Path(path)
    if kind != "txt":
        name = place.parent.name if kind == "folder" else place.stem
        if words := captions_of([name.replace("_", " ").replace("-", " ")]):
            return words
        return LeftOut(path, "no-caption", "the image is in no folder that could name its class")
    file = (root / place).with_suffix(".txt")
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return LeftOut(path, "no-caption", f"it has no {file.name} beside it")
    except UnicodeDecodeError:
        return LeftOut(path, "bad-caption", f"{file.name} is not UTF-8")
    return captions_of(lines) or LeftOut(path, "no-caption", f"{file.name} is empty")
