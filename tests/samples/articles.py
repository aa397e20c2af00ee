"""Articles of real prose, from docstrings of the standard library; no paragraph is in two."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.samples.pieces import Article, Piece, pieces_of


def real_articles(*, size: int) -> Iterator[Article]:
    """Pieces that follow one another, with at least so many characters of prose."""
    held: list[Piece] = []
    for piece in _pieces():
        held.append(piece)
        if sum(one.size for one in held) >= size:
            yield Article(tuple(held))
            held = []


def _pieces() -> Iterator[Piece]:
    used: set[str] = set()
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("[a-z]*.py")):
        for piece in pieces_of(path.read_text(encoding="utf-8"), path.stem):
            new = tuple(paragraph for paragraph in piece.paragraphs if paragraph not in used)
            used.update(new)
            if new:
                yield replace(piece, paragraphs=new)
