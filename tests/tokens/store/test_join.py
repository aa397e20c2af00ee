from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from barrow.engine import File
from barrow.errors import StoreError
from barrow.tokens.store import index
from barrow.tokens.store.array_file import read_header
from barrow.tokens.store.join import Joined, Settings, check_sha256, join, load_written
from barrow.tokens.store.pieces import Piece
from barrow.tokens.store.token_file import TokenFile, write_token_file

U16 = np.dtype("<u2")


def piece_file(path: Path, seed: int) -> Path:
    """Two pieces of domain A and one of B between them."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, 9)
    groups = [("A", 0, 4), ("B", 4, 5), ("A", 5, 9)]
    pieces = [
        Piece(f"{seed:032x}", 0, k, name, b - a, int(lengths[a:b].sum()), 0)
        for k, (name, a, b) in enumerate(groups)
    ]
    write_token_file(
        path,
        pieces,
        offsets=[np.cumsum([0, *lengths]).astype(np.uint64)],
        identity=[rng.integers(0, 2**60, (9, 2)).astype(np.uint64)],
        number=[np.arange(9, dtype=np.uint64)],
        ids=[rng.integers(0, 60_000, int(lengths.sum())).astype(U16)],
        dtype=U16,
    )
    return path


def texts(path: Path, pieces: slice | list[int]) -> list[list[int]]:
    arrays = load_file(path)
    file = TokenFile.open(path, U16)
    rows = range(len(file.pieces))[pieces] if isinstance(pieces, slice) else pieces
    bounds = arrays["offsets"].tolist()
    return [
        arrays["ids"][bounds[d] : bounds[d + 1]].tolist()
        for row in rows
        for d in range(file.document_starts[row], file.document_starts[row + 1])
    ]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [piece_file(tmp_path / f"{k}.safetensors", k) for k in range(3)]


@pytest.fixture
def run(tmp_path: Path, files: list[Path]) -> Callable[..., Joined]:
    def run(places: list[tuple[int, int]], name: str = "out", sha256: str | None = None) -> Joined:
        out = Joined(tmp_path / name, "key")
        out.folder.mkdir()
        rows = tuple(row for _, row in places)
        settings = Settings("uint16", "hash", None, None, rows, (sha256,) * len(rows))
        join(settings, tuple(File(files[k], "") for k, _ in places), out)
        return out

    return run


def test_pieces_one_after_another(run: Callable[..., Joined], files: list[Path]) -> None:
    out = run([(1, 2), (0, 0), (2, 0), (2, 2)])
    wanted = texts(files[1], [2]) + texts(files[0], [0]) + texts(files[2], [0, 2])
    assert texts(out.tokens.path, slice(None)) == wanted
    found, sources = load_file(out.tokens.path), [load_file(path) for path in files]
    assert found["number"].tolist() == [5, 6, 7, 8, 0, 1, 2, 3, 0, 1, 2, 3, 5, 6, 7, 8]
    np.testing.assert_array_equal(found["identity"][:4], sources[1]["identity"][5:])
    assert [p.source[-1] for p in TokenFile.open(out.tokens.path, U16).pieces] == [
        "1",
        "0",
        "2",
        "2",
    ]
    data = out.tokens.path.read_bytes()
    written = load_written(out.entry)
    assert (written.bytes, written.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_a_shard_can_be_taken_apart_again(run: Callable[..., Joined], files: list[Path]) -> None:
    """Pieces are found again in a shard, so that a store can be its own cache."""
    once = run([(0, 0), (1, 0), (2, 0)])
    files.append(once.tokens.path)
    again = run([(3, 0), (3, 1), (3, 2)], "again")
    assert again.tokens.path.read_bytes() == once.tokens.path.read_bytes()


def test_damage_does_not_get_a_new_checksum(run: Callable[..., Joined], files: list[Path]) -> None:
    good = hashlib.sha256(files[1].read_bytes()).hexdigest()
    run([(1, 0)], "good", sha256=good)
    data = bytearray(files[1].read_bytes())
    data[-1] ^= 1
    files[1].write_bytes(data)
    with pytest.raises(StoreError, match=f"1.safetensors: expected SHA-256 {good}, found"):
        run([(1, 0)], "bad", sha256=good)


def test_a_checksum(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    check_sha256(tmp_path / "x", hashlib.sha256(b"abc").hexdigest())
    with pytest.raises(StoreError, match="the file was changed"):
        check_sha256(tmp_path / "x", hashlib.sha256(b"abd").hexdigest())


def test_the_index_runs_over_all_shards(tmp_path: Path, files: list[Path]) -> None:
    out = index.Indexed(tmp_path, "key")
    shards = tuple(File(path, "") for path in files)
    index.index(index.Settings("A", "uint16"), shards, out)
    lengths = [len(text) for path in files for text in texts(path, slice(None))]
    assert load_file(out.starts.path)["starts"].tolist() == np.cumsum([0, *lengths]).tolist()
    assert read_header(out.starts.path).note == {"domain": "A"}
