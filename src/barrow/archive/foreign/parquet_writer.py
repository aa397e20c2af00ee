"""Documents as Parquet: the text, what most tools ask for as columns, the rest of meta as JSON."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from barrow.archive.document import Document
from barrow.errors import MissingExtra
from barrow.files import AtomicFile, atomic_file

# Keys of meta that are columns. Other keys, and values that are not strings, are in `meta`.
COLUMNS = (
    *("id", "pile_set_name", "source", "member", "url", "title", "date", "language", "licence"),
    *("retrieved", "extractor", "raw_sha256"),
)
_GROUP_BYTES = 1 << 26
_GROUP_ROWS = 10_000


def write_parquet(
    path: Path, documents: Iterable[Document], *, group_bytes: int = _GROUP_BYTES
) -> int:
    """Write documents to one file, in groups of rows that fit in memory; how many there were.

    `barrow.archive.open` reads the same documents from it.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", f"writing {path}") from None
    names = ("text", *COLUMNS, "meta")
    schema = pyarrow.schema([(name, pyarrow.string()) for name in names])
    rows: list[tuple[str | None, ...]] = []
    number = size = 0
    with (
        atomic_file(path) as file,
        pyarrow.parquet.ParquetWriter(_Sink(file), schema, compression="zstd") as writer,
    ):

        def flush() -> None:
            columns = zip(*rows, strict=True) if rows else [()] * len(names)
            arrays = [pyarrow.array(column, pyarrow.string()) for column in columns]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            rows.clear()

        for document in documents:
            row = _row(document)
            rows.append(row)
            number += 1
            size += sum(len(value) for value in row if value)
            if size >= group_bytes or len(rows) >= _GROUP_ROWS:
                flush()
                size = 0
        if rows or not number:
            flush()
    return number


def write_parquet_folder(folder: Path, documents: Iterable[Document], *, file_size: int) -> int:
    """Write documents to files ``00000.parquet``, … of about `file_size` characters of text."""
    rest = iter(documents)
    number = 0
    for k, first in enumerate(rest):
        number += write_parquet(folder / f"{k:05d}.parquet", _next(first, rest, file_size))
    return number


def _next(first: Document, rest: Iterator[Document], size: int) -> Iterator[Document]:
    """A document and as many of the next ones as have about `size` characters together."""
    yield first
    size -= len(first.text)
    while size > 0 and (document := next(rest, None)) is not None:
        size -= len(document.text)
        yield document


def _row(document: Document) -> tuple[str | None, ...]:
    meta: dict[str, Any] = dict(document.meta)
    columns = [meta.pop(key) if isinstance(meta.get(key), str) else None for key in COLUMNS]
    return (document.text, *columns, msgspec.json.encode(meta).decode() if meta else None)


class _Sink(io.RawIOBase):
    """An atomic file, as pyarrow writes to one."""

    def __init__(self, file: AtomicFile) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.num_bytes

    def write(self, data: Any) -> int:
        self._file.write(data)
        return len(memoryview(data))
