from __future__ import annotations

from pathlib import Path

from barrow import Document
from barrow.corpus.readers.plain_text import read


def test_a_file_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("é")
    assert list(read(path)) == [Document("é", {"member": ""})]
