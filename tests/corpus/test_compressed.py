from __future__ import annotations

import bz2
import gzip
import os
import random
from pathlib import Path

import pytest
import zstandard

from barrow.corpus.compressed import BadFile, decompressed, open_decompressed

PLAIN = bytes(range(256)) * 2000


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


PACK = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "zst": zstd}


def read_all(path: Path) -> tuple[bytes, str]:
    data = b""
    try:
        for piece in decompressed(path):
            assert len(piece) <= 1 << 16
            data += piece
    except BadFile as error:
        return data, error.reason
    return data, ""


@pytest.mark.parametrize("form", PACK)
def test_told_by_content_not_by_name(form: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(PACK[form](PLAIN))
    assert read_all(path) == (PLAIN, "")
    file = open_decompressed(path)
    assert b"".join(iter(lambda: file.read(100), b"")) == PLAIN


@pytest.mark.parametrize("form", ["gz", "bz2", "zst"])
def test_several_members(form: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(PACK[form](b"one") + PACK[form](PLAIN) * 2)
    assert read_all(path) == (b"one" + PLAIN * 2, "")


@pytest.mark.parametrize("form", ["gz", "bz2", "zst"])
def test_what_precedes_the_damage_is_kept(form: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    noise = random.Random(0).randbytes(3_000_000)
    packed = PACK[form](noise)
    path.write_bytes(packed[:-100])
    data, reason = read_all(path)
    assert reason == "truncated"
    assert noise.startswith(data)
    assert len(data) > 1_000_000
    path.write_bytes(packed[:2_000_000] + b"\xff" * 100 + packed[2_000_100:])
    data, reason = read_all(path)
    assert reason == "corrupt"
    path.write_bytes(packed + b"garbage")
    data, reason = read_all(path)
    assert data == noise
    assert reason == ("" if form == "bz2" else "corrupt")  # bzip2 ignores it, as its program does


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    assert read_all(tmp_path / "empty") == (b"", "empty-file")
    for name in (".", "missing", "dangling", "pipe", "nul\0", "x" * 5000):
        assert read_all(tmp_path / name) == (b"", "unreadable"), name
