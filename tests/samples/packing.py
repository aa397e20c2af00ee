"""Packed files that have the same bytes each time: no clock, no owner."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable

Files = Iterable[tuple[str, bytes]]


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def tarred(files: Files) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def zipped(files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files:
            # An EPUB's first file has to be stored as it is.
            is_stored = name == "mimetype"
            how = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name), data, how)
    return out.getvalue()
