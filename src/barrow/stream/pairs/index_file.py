"""The files of an index of pairs.

`pairs.json` is the manifest, `pairs.safetensors` has the table: for each pair its file, the
place of its bytes there, its name and its captions; texts are one long array of bytes and where
each ends. `left_out.jsonl` names what was left out, and why. `images-N.bin` has the images of
source N that had to be copied.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from barrow.files.safetensors import Column
from barrow.tokens.store.array_file import Written, write_arrays

MANIFEST = "pairs.json"
TABLE = "pairs.safetensors"
LEFT_OUT = "left_out.jsonl"

_U64, _U32, _U8 = np.dtype("<u8"), np.dtype("<u4"), np.dtype("<u1")
COLUMNS: dict[str, tuple[np.dtype[Any], int]] = {
    "offset": (_U64, 1),
    "length": (_U64, 1),
    "first_caption": (_U64, 1),
    "caption_ends": (_U64, 1),
    "name_ends": (_U64, 1),
    "file_ends": (_U64, 1),
    "file": (_U32, 1),
    "captions": (_U8, 1),
    "names": (_U8, 1),
    "files": (_U8, 1),
}
_PIECE = 1 << 24


def blob_name(domain: int) -> str:
    """The file with the copied images of a source."""
    return f"images-{domain}.bin"


@dataclass(frozen=True)
class DomainEntry:
    """A source of an index. Paths of its files are relative to `root`."""

    name: str
    kind: str
    root: str
    pairs: int
    copied_bytes: int = 0


@dataclass(frozen=True)
class IndexFile:
    """The contents of `pairs.json`. `sha256` is that of the table; `left_out` counts by reason.

    Files may be outside their source's root only if `is_outside`.
    """

    domains: tuple[DomainEntry, ...]
    pairs: int
    captions: int
    image_bytes: int
    is_checked: bool
    sha256: str
    left_out: dict[str, int] = field(default_factory=dict)
    is_outside: bool = False
    format: Literal["barrow-pairs"] = "barrow-pairs"
    version: Literal[1] = 1


class SpooledTexts:
    """Texts to be written to a file: bytes on the disk, ends in memory."""

    def __init__(self, folder: Path) -> None:
        # It has no name, and ends with the process.
        self._file: BinaryIO = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._total = 0
        self.ends = array("Q")

    def add(self, text: str) -> None:
        """Append one."""
        data = text.encode("utf-8", "surrogateescape")
        self._file.write(data)
        self._total += len(data)
        self.ends.append(self._total)

    def columns(self, name: str, ends: str) -> dict[str, Column]:
        """The two arrays: all bytes, and where each text ends."""
        return {
            ends: _column(self.ends),
            name: Column(_U8, (self._total,), self._pieces()),
        }

    def _pieces(self) -> Iterator[npt.NDArray[np.uint8]]:
        self._file.seek(0)
        while piece := self._file.read(_PIECE):
            yield np.frombuffer(piece, np.uint8)

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()


class TableWriter:
    """Takes pairs in order, and writes the table at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._captions, self._names, self._files = (SpooledTexts(folder) for _ in range(3))
        self._numbers = {"offset": array("Q"), "length": array("Q"), "file": array("L")}
        self._first = array("Q", [0])
        self._last_file: str | None = None

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, *_: object) -> None:
        for texts in (self._captions, self._names, self._files):
            texts.close()

    @property
    def num_captions(self) -> int:
        """Captions so far."""
        return len(self._captions.ends)

    def add(self, name: str, captions: tuple[str, ...], file: str, place: tuple[int, int]) -> None:
        """Append a pair. A file that follows itself is listed once."""
        if file != self._last_file:
            self._files.add(file)
            self._last_file = file
        self._numbers["file"].append(len(self._files.ends) - 1)
        self._numbers["offset"].append(place[0])
        self._numbers["length"].append(place[1])
        # A name that equals the file's is not stored.
        self._names.add("" if name == file else name)
        for caption in captions:
            self._captions.add(caption)
        self._first.append(len(self._captions.ends))

    def write(self) -> Written:
        """Write the table atomically."""
        columns = {
            **{name: _column(values) for name, values in self._numbers.items()},
            "first_caption": _column(self._first),
            **self._captions.columns("captions", "caption_ends"),
            **self._names.columns("names", "name_ends"),
            **self._files.columns("files", "file_ends"),
        }
        columns["file"] = _column(self._numbers["file"], _U32)
        return write_arrays(
            self._folder / TABLE, {name: columns[name] for name in COLUMNS}, note={}
        )


def _column(values: array[int], dtype: np.dtype[Any] = _U64) -> Column:
    numbers = np.frombuffer(values, np.dtype(values.typecode)) if values else np.empty(0, dtype)
    return Column(dtype, (len(values),), (numbers,))
