"""Write one checkpoint: every process its arrays, then the lead the index, then one rename."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from barrow.checkpoint.folder import commit, hidden_beside
from barrow.checkpoint.index import (
    INDEX,
    Index,
    Leaf,
    Piece,
    StoredFile,
    change_places,
    index_bytes,
    is_covered,
    parse_piece,
    piece_table,
)
from barrow.checkpoint.snapshot import HeldPiece, Snapshot
from barrow.errors import CheckpointError, WriteFailed
from barrow.files import (
    make_folder,
    new_folder,
    portable,
    remove,
    remove_tree,
    sync_folder,
    write_bytes,
)
from barrow.parallel.processes import Peers
from barrow.weights.safetensors_write import write_safetensors


def write_checkpoint(
    folder: Path, held: Snapshot, *, step: int | None, about: Mapping[str, Any], peers: Peers
) -> None:
    """Write to a hidden folder beside `folder` and rename it; a failure leaves nothing.

    All processes of a run call this. Each writes the pieces it holds; the lead commits once all
    have, and all return after that.
    """
    part = hidden_beside(folder, "part")

    def begin() -> None:
        make_folder(folder.parent)
        remove_tree(part)
        new_folder(part)

    def finish() -> None:
        files, leaves = _gathered(part, held)
        kept = change_places(about, partial(portable, folder=folder))
        write_bytes(part / INDEX, index_bytes(Index(step, kept, leaves, files)))
        for note in part.glob("part-*.json"):
            remove(note)
        sync_folder(part)
        commit(part, folder)

    try:
        peers.lead("begin", begin)
        peers.everyone("write", lambda: _write_part(part, held.pieces, peers.process))
        peers.lead("commit", finish)
    except BaseException as error:
        if peers.process == 0:
            with contextlib.suppress(OSError):
                remove_tree(part)
        if isinstance(error, OSError) and not isinstance(error, WriteFailed):
            raise WriteFailed(
                f"{folder} could not be written: {error.strerror or error}"
            ) from error
        raise


def _write_part(part: Path, pieces: tuple[HeldPiece, ...], process: int) -> None:
    """Write the arrays of one process, and a note of them for the lead."""
    name = f"arrays-{process:05}.safetensors"
    tensors = {_tensor_name(piece): piece.array for piece in pieces}
    if len(tensors) != len(pieces):
        raise ValueError("names of leaves must not end in '@' and numbers; rename them")
    table: dict[str, Any] = {"files": {}, "pieces": []}
    if pieces:
        (written,) = write_safetensors(part / name, tensors).files
        table["files"][name] = {"bytes": written.num_bytes, "sha256": written.sha256}
    for piece in pieces:
        where = Piece(name, _tensor_name(piece), piece.start, piece.array.shape)
        table["pieces"].append({"path": piece.path, **piece_table(where)})
    write_bytes(part / f"part-{process:05}.json", json.dumps(table).encode())


def _tensor_name(piece: HeldPiece) -> str:
    """The leaf's path, and the block's corner where that is not the origin."""
    if not any(piece.start):
        return piece.path
    return f"{piece.path}@{','.join(map(str, piece.start))}"


def _gathered(part: Path, held: Snapshot) -> tuple[dict[str, StoredFile], dict[str, Leaf]]:
    files: dict[str, StoredFile] = {}
    pieces: dict[str, list[Piece]] = {path: [] for path in held.kinds}
    for note in sorted(part.glob("part-*.json")):
        table = json.loads(note.read_bytes())
        files |= {
            name: StoredFile(file["bytes"], file["sha256"]) for name, file in table["files"].items()
        }
        for piece in table["pieces"]:
            pieces[piece["path"]].append(parse_piece(piece))
    leaves = {path: Leaf(kind, tuple(pieces[path])) for path, kind in held.kinds.items()}
    for path, leaf in leaves.items():
        if not is_covered(leaf):
            raise CheckpointError(
                f"the processes' pieces of {path} do not cover it: do all processes see "
                "this folder?",
                reason="incomplete",
                folder=part,
            )
    return files, leaves
