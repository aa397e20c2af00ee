"""Entries of a zip on their own; packed, damaged and hostile ones are tried in test_unpack.py."""

from __future__ import annotations

import io
import zipfile

from barrow.corpus.input.zip import zip_entries


def test_entries_are_those_zipfile_lists() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("a.txt", b"one")
        packed.writestr("b/c.txt", b"two, three")
    entries = list(zip_entries(file, max_entries=10))
    with zipfile.ZipFile(file) as packed:
        listed = [info.filename.encode() for info in packed.infolist()]
    assert [entry.name for entry in entries] == listed
