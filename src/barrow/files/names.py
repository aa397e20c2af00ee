"""Names that were read from a file, and names of what is to be written: both are checked here."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from barrow.errors import UnsafeName


def inside(folder: Path, name: object, *, links_to: Path | None = None) -> Path:
    """The path of a name that some file gives for something in `folder`.

    Files come from others: the name must be relative, without ``..``, and no link on its way may
    lead out of the folder (or out of `links_to`, where the folder's files are links by design).
    Anything else raises `UnsafeName`, whether the file is there or not.
    """
    path = folder
    for part in checked_name(name).parts:
        path = path / part
        if path.is_symlink():
            found = Path(os.path.realpath(path))
            homes = (os.path.realpath(home) for home in (folder, links_to) if home is not None)
            if not any(found.is_relative_to(home) for home in homes):
                raise UnsafeName(f"{name!r} leads out of the folder {folder}: it is a link")
    return path


def checked_name(name: object) -> PurePosixPath:
    """A name that is relative and has no ``..``: all that can be asked where there are no links."""
    path = PurePosixPath(name if isinstance(name, str) else "")
    if not path.parts or path.is_absolute() or ".." in path.parts or set(str(name)) & set("\0\\"):
        raise UnsafeName(f"{name!r} leads out of the folder; expected the name of a file in it")
    return path


def output_folder(path: str | os.PathLike[str]) -> Path:
    """The path of a folder or file to be written; a URL is refused, for nothing writes there."""
    text = os.fspath(path)
    scheme, colon, _ = text.partition(":/")  # a Path has one slash where the URL had two
    if colon and scheme.isalnum() and not Path(f"{scheme}:").exists():
        raise ValueError(
            f"{text} is a URL, and results are written to local folders only; name a local folder "
            f"and copy it to {scheme}:// afterwards"
        )
    return Path(path)
