"""A cache of published weights: fetched once, checked, and found again.

Each model has a folder of its own; ``fetched.json`` in it, written last, says what it holds. A
folder without that file is unfinished and is gone on with. A lock keeps two processes from
fetching the same model at once: the second waits and finds it there.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.errors import FetchFailed, NotFound
from barrow.files import WrittenFile, write_bytes
from barrow.weights.download import download, sha256_of
from barrow.weights.fetch_settings import FetchSettings
from barrow.weights.safetensors_read import read_index
from barrow.weights.source import OneFile, Repository, read_source

_NOTE = "fetched.json"
_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_PICKLED = "pytorch_model.bin"
# Beside configuration and weights; those that a repository lacks are passed over.
_OPTIONAL = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json"),
    *("merges.txt", "vocab.txt", "generation_config.json"),
)

OnBytes = Callable[[int], None]


@dataclass(frozen=True)
class Fetched:
    """A model in the cache: `path` is its one file, or the folder of its several."""

    what: str
    path: Path
    files: tuple[WrittenFile, ...]

    @property
    def num_bytes(self) -> int:
        """Bytes of all its files."""
        return sum(file.num_bytes for file in self.files)


def fetch(
    what: str,
    *,
    settings: FetchSettings,
    sha256: str | None = None,
    on_bytes: OnBytes | None = None,
) -> Fetched:
    """The model that a name, URL or repository id means, out of the cache or the net.

    What is in the cache is trusted by its size; with `sha256` it is read and compared.
    """
    source = read_source(what, sha256=sha256)
    folder = place_of(source, settings)
    if settings.offline:
        found = _look(folder)
        if found is None:
            raise FetchFailed(_missing(what, source, settings))
        return _checked(found, source)
    with _locked(folder):
        found = _look(folder)
        if found is not None:
            return _checked(found, source)
        if isinstance(source, OneFile):
            files = [_file(source, folder, settings, on_bytes)]
        else:
            files = _repository(source, folder, settings, on_bytes)
        _write_note(folder, what, files)
    return _fetched(what, folder, files)


def where(what: str, *, settings: FetchSettings) -> Fetched:
    """The model in the cache; NotFound where it is not."""
    source = read_source(what)
    found = _look(place_of(source, settings))
    if found is None:
        raise NotFound(
            f"{what} is not in the cache; it would be {place_of(source, settings)}: "
            f"barrow models get {what}"
        )
    return found


def cached(settings: FetchSettings) -> list[Fetched]:
    """Every whole model in the cache, by folder name."""
    home = settings.cache / "models"
    folders = sorted(home.iterdir()) if home.is_dir() else []
    return [found for folder in folders if (found := _look(folder)) is not None]


def place_of(source: OneFile | Repository, settings: FetchSettings) -> Path:
    """The folder of a model, whether it is there or not."""
    return settings.cache / "models" / source.folder


def _file(
    source: OneFile, folder: Path, settings: FetchSettings, on_bytes: OnBytes | None
) -> WrittenFile:
    return download(
        source.url,
        folder / source.file_name,
        settings=settings,
        sha256=source.sha256,
        on_bytes=on_bytes,
    )


def _repository(
    source: Repository, folder: Path, settings: FetchSettings, on_bytes: OnBytes | None
) -> list[WrittenFile]:
    def get(name: str) -> WrittenFile:
        target = folder / name
        if target.exists():  # whole, from a run that was stopped later
            return WrittenFile(target, target.stat().st_size, sha256_of(target))
        url = source.url(name, hub=settings.hub)
        return download(url, target, settings=settings, on_bytes=on_bytes)

    def get_if_there(name: str) -> list[WrittenFile]:
        try:
            return [get(name)]
        except NotFound:
            return []

    try:
        files = [get("config.json")]
    except NotFound as error:
        raise NotFound(
            f"{error}: is {source.name} a model, and {source.revision} one of its revisions?"
        ) from None
    index = get_if_there(_INDEX)
    if index:
        shards = sorted(set(read_index(folder / _INDEX)[0].values()))
        files += [*index, *map(get, shards)]
    else:
        weights = get_if_there(_SINGLE) or get_if_there(_PICKLED)
        if not weights:
            raise NotFound(f"{source.name} has neither {_INDEX}, {_SINGLE} nor {_PICKLED}")
        files += weights
    for name in _OPTIONAL:
        files += get_if_there(name)
    return files


def _look(folder: Path) -> Fetched | None:
    """What the folder holds, if its note is there and every file has the size noted."""
    try:
        note: Any = json.loads((folder / _NOTE).read_bytes())
        files = [
            WrittenFile(folder / entry["name"], int(entry["bytes"]), str(entry["sha256"]))
            for entry in note["files"]
        ]
        whole = files and all(file.path.stat().st_size == file.num_bytes for file in files)
        return _fetched(str(note["what"]), folder, files) if whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _fetched(what: str, folder: Path, files: list[WrittenFile]) -> Fetched:
    return Fetched(what, files[0].path if len(files) == 1 else folder, tuple(files))


def _write_note(folder: Path, what: str, files: list[WrittenFile]) -> None:
    note = {
        "what": what,
        "files": [
            {"name": file.path.name, "bytes": file.num_bytes, "sha256": file.sha256}
            for file in files
        ],
    }
    write_bytes(folder / _NOTE, (json.dumps(note, indent=1) + "\n").encode())


def _checked(found: Fetched, source: OneFile | Repository) -> Fetched:
    expected = source.sha256 if isinstance(source, OneFile) else None
    if expected is not None and (digest := sha256_of(found.path)) != expected.lower():
        raise FetchFailed(
            f"{found.path}: expected sha256 {expected.lower()}, the cache has {digest}; "
            "delete it and fetch again"
        )
    return found


def _missing(what: str, source: OneFile | Repository, settings: FetchSettings) -> str:
    if isinstance(source, OneFile):
        origin, names = source.url, source.file_name
    else:
        origin = f"{settings.hub}/{source.name}"
        names = f"config.json, {_SINGLE} (or {_INDEX} and its shards), tokenizer.json"
    return (
        f"{what} is not in the cache, and fetching is off (BARROW_OFFLINE or HF_HUB_OFFLINE); "
        f"it would come from {origin} into {place_of(source, settings)}: {names}"
    )


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # let go of when the file is closed, or the process dies
        yield
