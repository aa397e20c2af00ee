from __future__ import annotations

import hashlib
import io
import os
import subprocess
from pathlib import Path

from barrow.files import sha256_of, version_of, write_bytes


def test_a_file_and_the_rest_of_a_stream(tmp_path: Path) -> None:
    data = bytes(range(256)) * 40_000  # more than is read at once
    path = tmp_path / "x"
    path.write_bytes(data)
    read: list[int] = []
    assert sha256_of(path, on_bytes=read.append) == hashlib.sha256(data).hexdigest()
    assert sum(read) == len(data)
    assert len(read) > 1
    told = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout
    assert sha256_of(str(path)) == told.split()[0]
    stream = io.BytesIO(data)
    stream.seek(5)
    assert sha256_of(stream) == hashlib.sha256(data[5:]).hexdigest()


def test_a_file_that_replaces_another_within_a_tick(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"one")
    before, status = version_of(path), path.stat()
    write_bytes(path, b"two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert version_of(path) != before
