"""Articles dealt out in turn, so that every sample has as many and no paragraph is in two."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from barrow.recipes.pocket_samples.pieces import Article, Piece

_BLANK = re.compile(r"\n(?:[ \t]*\n)+")


class Paragraphs:
    """Paragraphs that were used, whatever the white space in them was."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def take(self, paragraph: str) -> bool:
        """Whether it is new; from now on it is not."""
        plain = "".join(paragraph.split())
        is_new = plain not in self._used
        self._used.add(plain)
        return is_new

    def take_all(self, text: str) -> bool:
        """Whether all paragraphs of a text are new, from blank line to blank line."""
        is_new = [self.take(paragraph) for paragraph in blocks(text)]
        return all(is_new)

    def fresh(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """The pieces without what was used before."""
        for piece in pieces:
            new = tuple(paragraph for paragraph in piece.paragraphs if self.take(paragraph))
            code = piece.code if self.take_all(piece.code) else ""
            if new:
                yield Piece(piece.name, new, code)


def blocks(text: str) -> list[str]:
    """What stands between blank lines."""
    return [block for block in _BLANK.split(text.strip("\n")) if block.strip()]


def deal(pieces: Iterable[Piece], sizes: Sequence[int], *, num: int) -> list[list[Article]]:
    """`num` articles for each of `sizes`, or as many as there are pieces for.

    An article is of pieces that follow one another, with so many characters of prose at least.
    """
    hands: list[list[Article]] = [[] for _ in sizes]
    left = iter(pieces)
    for _ in range(num):
        for hand, size in zip(hands, sizes, strict=True):
            article = _gathered(left, size)
            if article is None:
                return hands
            hand.append(article)
    return hands


def _gathered(pieces: Iterator[Piece], size: int) -> Article | None:
    held: list[Piece] = []
    for piece in pieces:
        held.append(piece)
        if sum(one.size for one in held) >= size:
            return Article(tuple(held))
    return None
