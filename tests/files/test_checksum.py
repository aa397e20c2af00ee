from __future__ import annotations

import hashlib
import io
import subprocess
from pathlib import Path

from barrow.files import sha256_of


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
