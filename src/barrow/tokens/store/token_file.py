"""One file of tokens: ids, where documents begin, their identities, and the file's pieces.

The output of a tokenizing task and a finished shard of a store are such files; a shard has
documents of one domain only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import StoreError
from barrow.files.safetensors import Column
from barrow.tokens.store.array_file import (
    Header,
    Written,
    map_arrays,
    read_header,
    read_rows,
    write_arrays,
)
from barrow.tokens.store.pieces import NUM_FIELDS, Piece, from_table, to_table

_U64 = np.dtype("<u8")


def expected_arrays(dtype: np.dtype[Any]) -> dict[str, tuple[np.dtype[Any], int]]:
    """Names, dtypes and dimensions of the arrays of a token file."""
    return {
        "pieces": (_U64, 2),
        "offsets": (_U64, 1),
        "identity": (_U64, 2),
        "number": (_U64, 1),
        "ids": (dtype, 1),
    }


def write_token_file(
    path: Path,
    pieces: Sequence[Piece],
    *,
    offsets: Iterable[npt.NDArray[np.uint64]],
    identity: Iterable[npt.NDArray[np.uint64]],
    number: Iterable[npt.NDArray[np.uint64]],
    ids: Iterable[npt.NDArray[Any]],
    dtype: np.dtype[Any],
) -> Written:
    """Write a file, each array in as many parts as it comes in.

    `offsets` (one more than documents) are where documents begin and end in `ids`, `identity` the
    two halves of each document's id, `number` its number in the file of the archive.
    """
    domains, table = to_table(pieces)
    documents = sum(piece.documents for piece in pieces)
    tokens = sum(piece.tokens for piece in pieces)
    columns = {
        "pieces": Column(_U64, (len(pieces), NUM_FIELDS), (table,)),
        "offsets": Column(_U64, (documents + 1,), offsets),
        "identity": Column(_U64, (documents, 2), identity),
        "number": Column(_U64, (documents,), number),
        "ids": Column(dtype, (tokens,), ids),
    }
    return write_arrays(path, columns, note={"domains": domains})


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A file whose header and table of pieces were read and are consistent."""

    path: Path
    header: Header
    pieces: tuple[Piece, ...]
    document_starts: tuple[int, ...]
    token_starts: tuple[int, ...]

    @classmethod
    def open(cls, path: Path, dtype: np.dtype[Any]) -> TokenFile:
        """Open a file without reading its tokens."""
        header = read_header(path)
        found = {name: (p.dtype, len(p.shape)) for name, p in header.places.items()}
        if found != expected_arrays(dtype):
            raise _wrong(path, f"expected the arrays of a token file, found {', '.join(found)}")
        table = np.concatenate([np.empty((0, NUM_FIELDS), _U64), *_all(path, header, "pieces")])
        try:
            pieces = from_table(header.note["domains"], table)
        except (TypeError, LookupError) as error:
            raise _wrong(path, f"its pieces name no domain ({error!r})") from None
        documents = tuple(accumulate((piece.documents for piece in pieces), initial=0))
        tokens = tuple(accumulate((piece.tokens for piece in pieces), initial=0))
        sizes = {name: place.shape[0] for name, place in header.places.items()}
        wanted = {
            "pieces": len(pieces),
            "offsets": documents[-1] + 1,
            "identity": documents[-1],
            "number": documents[-1],
            "ids": tokens[-1],
        }
        if sizes != wanted or header.places["identity"].shape[1] != 2:
            raise _wrong(path, f"expected arrays of lengths {wanted}, found {sizes}")
        return cls(path, header, tuple(pieces), documents, tokens)

    def rows(self, name: str, start: int, stop: int) -> Iterable[npt.NDArray[Any]]:
        """Some rows of an array, a part at a time."""
        return read_rows(self.path, self.header.places[name], start, stop)

    def mapped(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays, mapped into memory."""
        dtype = self.header.places["ids"].dtype
        return map_arrays(self.path, expected_arrays(dtype))[0]


def _all(path: Path, header: Header, name: str) -> Iterable[npt.NDArray[Any]]:
    place = header.places[name]
    if place.shape[1:] != (NUM_FIELDS,):
        raise _wrong(path, f"expected {NUM_FIELDS} numbers for a piece, found {place.shape[1:]}")
    return read_rows(path, place, 0, place.shape[0])


def _wrong(path: Path, cause: str) -> StoreError:
    return StoreError(cause, reason="bad-header", file=path.name)
