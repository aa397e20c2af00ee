"""A checkpoint opened: its arrays by path, any block of them, read from mapped files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from barrow.ahead import available_cores, map_ahead
from barrow.checkpoint.folder import open_index
from barrow.checkpoint.index import Index, Piece
from barrow.errors import CheckpointError, WeightsError
from barrow.files import sha256_of
from barrow.files.dtypes import dtype_of
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.tensors import Array, LazyTensor, Tensors

Block = tuple[slice, ...]


@dataclass(frozen=True)
class Checkpoint:
    """A folder, its index, and its files, mapped."""

    folder: Path
    index: Index
    files: dict[str, Tensors]

    def verify(self, paths: Iterable[str] | None = None) -> None:
        """Raise unless the files that hold these leaves (or all) are as they were written."""
        wanted = self.index.leaves if paths is None else paths
        names = sorted({piece.file for path in wanted for piece in self.index.leaves[path].pieces})
        files = [self.folder / name for name in names]
        # Hashing releases the interpreter lock.
        digests = map_ahead(sha256_of, files, threads=min(len(files), available_cores()))
        bad = [
            name
            for name, digest in zip(names, digests, strict=True)
            if digest != self.index.files[name].sha256
        ]
        if bad:
            raise CheckpointError(
                f"{', '.join(bad)}: the checksum differs; the file was changed after it "
                "was written",
                reason="damaged",
                folder=self.folder,
            )

    def block(self, path: str, block: Block) -> Array:
        """A block of a leaf as it is stored: a view of the mapped file where one piece has it."""
        leaf = self.index.leaves[path]
        bounds = [part.indices(size)[:2] for part, size in zip(block, leaf.kind.shape, strict=True)]
        start, stop = [a for a, _ in bounds], [b for _, b in bounds]
        shape = tuple(max(0, b - a) for a, b in bounds)
        joined: Array | None = None
        for piece in leaf.pieces:
            common = _common(piece, start, stop)
            if common is None:
                continue
            of_piece, of_block = common
            held = self.files[piece.file][piece.tensor][of_piece]
            if held.shape == shape:
                return held
            if joined is None:
                joined = np.empty(shape, held.dtype)
            joined[of_block] = held
        return np.empty(shape, dtype_of(leaf.kind.dtype)) if joined is None else joined

    def tensors(self, prefix: str = "") -> Tensors:
        """All leaves under a prefix, which their names lose, each read whole when asked for."""
        return Tensors(
            {
                path.removeprefix(prefix): LazyTensor(
                    leaf.kind.shape,
                    dtype_of(leaf.kind.dtype),
                    partial(self.block, path, tuple(slice(None) for _ in leaf.kind.shape)),
                )
                for path, leaf in self.index.leaves.items()
                if path.startswith(prefix)
            }
        )


def open_checkpoint(folder: Path) -> Checkpoint:
    """Open a checkpoint's folder; lengths and headers are checked, checksums by `verify`."""
    index = open_index(folder)
    try:
        files = {name: open_safetensors(folder / name) for name in index.files}
        for path, leaf in index.leaves.items():
            for piece in leaf.pieces:
                entry = files[piece.file].entry(piece.tensor)
                if (entry.shape, entry.dtype) != (piece.shape, dtype_of(leaf.kind.dtype)):
                    raise CheckpointError(
                        f"{piece.file}: {path} is {entry.dtype}{list(entry.shape)} there, expected "
                        f"{leaf.kind.dtype}{list(piece.shape)}",
                        reason="damaged",
                        folder=folder,
                    )
    except (WeightsError, KeyError) as error:
        raise CheckpointError(str(error.args[0]), reason="damaged", folder=folder) from None
    return Checkpoint(folder, index, files)


def _common(piece: Piece, start: Sequence[int], stop: Sequence[int]) -> tuple[Block, Block] | None:
    """Where piece and block overlap, in the coordinates of each."""
    low = [max(a, b) for a, b in zip(piece.start, start, strict=True)]
    high = [min(a + n, b) for a, n, b in zip(piece.start, piece.shape, stop, strict=True)]
    if any(a >= b for a, b in zip(low, high, strict=True)):
        return None

    def within(origin: Sequence[int]) -> Block:
        return tuple(slice(a - o, b - o) for a, b, o in zip(low, high, origin, strict=True))

    return within(piece.start), within(start)
