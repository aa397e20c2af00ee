from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.plain_text import PlainText
from barrow.corpus.readers.reader import Reject


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_any_encoding(encoding: str, tmp_path: Path) -> None:
    text = "L'été, les élèves français préfèrent la forêt.\n\nÀ la plage, où ça?"
    path = tmp_path / "x.txt"
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    (document,) = PlainText().read(path)
    assert isinstance(document, Document)
    assert document.text == text


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "empty"), (bytes(range(32)) * 40, "binary"), (b"x" * 2000, "too-large")],
)
def test_what_is_no_text(data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    (reject,) = PlainText(max_bytes=1500).read(path)
    assert isinstance(reject, Reject)
    assert reject.reason == reason


@given(st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    (item,) = PlainText().read(path)
    assert list(PlainText().read(path)) == [item]
    if isinstance(item, Document):
        item.text.encode()
