"""A zip archive of uncompressed entries, mapped: no copies, no zip bombs.

PyTorch stores tensors uncompressed, so an entry is a span of the file. Reading a compressed entry
is an error; nothing is ever inflated.
"""

from __future__ import annotations

import struct
import zipfile
import zlib

import numpy as np

from barrow.errors import WeightsError
from barrow.weights.mapped_file import MappedFile
from barrow.weights.tensors import Array

_LOCAL = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1


class StoredZip:
    """Entries by name; each is checked against its CRC at its first reading."""

    def __init__(self, file: MappedFile) -> None:
        self._file = file
        self._checked: set[str] = set()
        try:
            with zipfile.ZipFile(file.path) as archive:
                entries = archive.infolist()
        except (
            *(zipfile.BadZipFile, NotImplementedError, ValueError, KeyError, OverflowError),
            *(struct.error, EOFError, OSError),
        ) as error:
            raise self._wrong(f"not a readable zip archive: {error}") from None
        self._entries = {entry.filename: entry for entry in entries}
        if len(self._entries) < len(entries):
            raise self._wrong("two entries of the same name")

    @property
    def names(self) -> list[str]:
        """Names of all entries."""
        return list(self._entries)

    def size(self, name: str) -> int:
        """Bytes of an entry."""
        return self._entry(name).file_size

    def read(self, name: str) -> Array:
        """Bytes of an entry, as a view of the file."""
        entry = self._entry(name)
        # zipfile adds offsets without checking the size; the sum may be anywhere.
        inside = 0 <= entry.header_offset <= self._file.size - _LOCAL.size
        header = self._file.read(entry.header_offset, _LOCAL.size) if inside else b""
        if not header.startswith(b"PK\3\4"):
            raise self._wrong(f"entry {name!r} has no header where the directory expects it")
        _, name_length, extra_length = _LOCAL.unpack(header)
        start = entry.header_offset + _LOCAL.size + name_length + extra_length
        if start + entry.file_size > self._file.size:
            raise self._wrong(
                f"entry {name!r} ends at byte {start + entry.file_size:,}, "
                f"the file at {self._file.size:,}"
            )
        data = self._file.array(np.dtype(np.uint8), (entry.file_size,), start)
        if name not in self._checked:
            if (found := zlib.crc32(data.data)) != entry.CRC:
                raise self._wrong(
                    f"entry {name!r} has CRC {found:08x}, expected {entry.CRC:08x}: the "
                    "file was changed"
                )
            self._checked.add(name)
        return data

    def _entry(self, name: str) -> zipfile.ZipInfo:
        entry = self._entries.get(name)
        if entry is None:
            raise self._wrong(f"no entry {name!r}")
        plain = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & _ENCRYPTED
        if not plain or entry.file_size != entry.compress_size:
            raise self._wrong(
                f"entry {name!r} is compressed or encrypted; expected stored, as PyTorch writes it"
            )
        return entry

    def _wrong(self, cause: str) -> WeightsError:
        return WeightsError(cause, path=self._file.path)
