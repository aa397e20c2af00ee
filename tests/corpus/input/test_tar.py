"""Entries of a tar on their own; packed, damaged and hostile ones are tried in test_unpack.py."""

from __future__ import annotations

import io
import tarfile

from barrow.corpus.input.tar import is_tar


def test_a_tar_is_told_by_its_first_block() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("a.txt"), io.BytesIO(b""))
    assert is_tar(file.getvalue()[:512])
    assert not is_tar(b"x" * 512)
    assert not is_tar(b"")
