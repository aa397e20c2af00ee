from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.dm_mathematics import DmMathematics
from barrow.corpus.readers.reader import Reject


def make(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "train-easy" / "arithmetic__add.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def test_documents_are_cut_at_questions(tmp_path: Path) -> None:
    """PILE-9: documents of at most 8 KiB, cut at even lines."""
    problems = [f"What is {n} + {n}?\n{2 * n}\n" for n in range(2000)]
    documents = list(DmMathematics().read(make(tmp_path, "".join(problems).encode())))
    assert all(isinstance(d, Document) for d in documents)
    texts = [d.text for d in documents]  # type: ignore[union-attr]
    assert "".join(texts) == "".join(problems)
    assert all(8192 - 40 < len(text) <= 8192 for text in texts[:-1])
    assert all(text.startswith("What is") for text in texts)
    meta = documents[1].meta  # type: ignore[union-attr]
    assert (meta["module"], meta["difficulty"]) == ("arithmetic__add", "train-easy")
    assert texts[1].startswith(f"What is {meta['member']} +")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"What is 1 + 1?\n2\nWhat is 2 + 2?\n", "no-answer"),
        (b"What is \xff?\n2\n", "not-utf8"),
        (b"x" * 9000 + b"\n2\n", "too-long"),
        (b"", "empty"),
    ],
)
def test_bad_input(data: bytes, reason: str, tmp_path: Path) -> None:
    rejects = [i for i in DmMathematics().read(make(tmp_path, data)) if isinstance(i, Reject)]
    assert [reject.reason for reject in rejects] == [reason]


def test_windows_line_ends(tmp_path: Path) -> None:
    (document,) = DmMathematics().read(make(tmp_path, b"1+1?\r\n2\r\n"))
    assert document == Document(
        "1+1?\n2\n", {"module": "arithmetic__add", "difficulty": "train-easy", "member": "0"}
    )


@given(st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = make(tmp_path, data)
    items = list(DmMathematics(document_bytes=50).read(path))
    assert all(isinstance(item, Document | Reject) for item in items)
    assert list(DmMathematics(document_bytes=50).read(path)) == items
