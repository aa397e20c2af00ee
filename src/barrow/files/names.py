"""Checks of names: those read from files, and those of results."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from barrow.errors import UnsafeName

# A `Path` has one slash where the URL had two; fsspec chains URLs by "::".
_URL = re.compile(r"(?:[A-Za-z][\w+.-]*:)(?:/|:[A-Za-z][\w+.-]*:)")


def inside(folder: Path, name: object, *, links_to: Path | None = None) -> Path:
    """The path of a name, read from a file, of something in `folder`.

    Files are untrusted: the name must be relative, without ``..``, and no link in its path may lead
    out of the folder (or out of `links_to`, where the folder's files are links by design). Anything
    else raises `UnsafeName`, whether the file is there or not.
    """
    path = folder
    for part in checked_name(name).parts:
        path = path / part
        if path.is_symlink():
            found = Path(os.path.realpath(path))
            homes = (os.path.realpath(home) for home in (folder, links_to) if home is not None)
            if not any(found.is_relative_to(home) for home in homes):
                raise UnsafeName(f"{name!r} is a link that leads out of the folder {folder}")
    return path


def checked_name(name: object) -> PurePosixPath:
    """A name that is relative and has no ``..``: enough where there are no links."""
    path = PurePosixPath(name if isinstance(name, str) else "")
    if not path.parts or path.is_absolute() or ".." in path.parts or set(str(name)) & set("\0\\"):
        raise UnsafeName(f"{name!r} leads out of the folder; expected the name of a file in it")
    return path


def local_path(path: str | os.PathLike[str]) -> Path:
    """The path of a result; a URL is refused, as it would create a folder named ``s3:``."""
    text = os.fspath(path)
    if _URL.match(text):
        raise ValueError(
            f"{text} is a URL, but results are only written to local disks; pass a local folder "
            "and copy it afterwards"
        )
    return Path(path)


def portable(value: Any, folder: str | os.PathLike[str]) -> Any:
    """A JSON value for a file in `folder`, whose absolute paths become relative to it.

    Then both may be moved together, and shared. Only what exists is a path.
    """

    def change(text: str) -> str:
        place = os.path.realpath(text)
        if not text.startswith("/") or place == "/" or not os.path.exists(text):  # noqa: PTH110
            return text
        name = os.path.relpath(place, os.path.realpath(folder))
        return name if name.startswith("..") else f"./{name}"

    return _changed(value, change)


def resolved(value: Any, folder: str | os.PathLike[str]) -> Any:
    """Undo `portable`; a path that is relative to the working directory stays."""

    def change(text: str) -> str:
        if text.partition("/")[0] not in (".", ".."):
            return text
        place = os.path.normpath(Path(os.path.realpath(folder), text))
        return text if os.path.exists(text) and not os.path.exists(place) else place  # noqa: PTH110

    return _changed(value, change)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _changed(one, change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(one, change) for one in value]
    return value
