from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import barrow
from barrow import Document


def test_exact_composition(folder: Path, documents: list[Document], either_path: str) -> None:
    """PILE-5: the exact composition."""
    result = barrow.archive.composition(barrow.archive.open(folder))
    counts = Counter(d.domain for d in documents)
    sizes: Counter[str | None] = Counter()
    for document in documents:
        sizes[document.domain] += len(document.text.encode())
    assert {share.domain: (share.documents, share.bytes) for share in result.shares} == {
        name: (counts[name], sizes[name]) for name in counts
    }
    assert [s.bytes for s in result.shares] == sorted(
        (s.bytes for s in result.shares), reverse=True
    )
    assert result.total.documents == 1000
    assert result.disk_bytes == sum(p.stat().st_size for p in folder.glob("*.zst"))
    assert result.compression_ratio == result.content_bytes / result.disk_bytes > 1
    rows = result.as_dict()["domains"]
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert rows[0]["mean_bytes"] == rows[0]["bytes"] / rows[0]["documents"]


def test_by_any_key(write: object) -> None:
    path = write(  # type: ignore[operator]
        [
            Document("a", {"source": {"year": 1999}}),
            Document("bb", {"source": {"year": 1999}}),
            Document("c", {"source": "x"}),
            Document("d", {}),
        ]
    )
    result = barrow.archive.composition(barrow.archive.open(path), by="source.year")
    assert [(s.domain, s.documents, s.bytes) for s in result.shares] == [
        ("1999", 2, 3),
        ("(none)", 2, 2),
    ]


def test_an_empty_archive(write: object) -> None:
    path = write([])  # type: ignore[operator]
    result = barrow.archive.composition(barrow.archive.open(path))
    assert result.shares == ()
    assert result.total.mean == 0
    assert result.as_dict()["documents"] == 0
