"""Long texts cut at blank lines, so that there are documents enough to hold some out."""

from __future__ import annotations

from collections.abc import Iterator

from barrow.recipes.pocket_samples.deal import Paragraphs, blocks


def plain_parts(text: str, used: Paragraphs, *, size: int) -> Iterator[str]:
    """The paragraphs that were not used before, in parts of `size` characters and more."""
    held: list[str] = []
    for paragraph in blocks(text.replace("\r\n", "\n")):
        if used.take(paragraph):
            held.append(paragraph)
        if sum(map(len, held)) >= size:
            yield "\n\n".join(held) + "\n"
            held = []
    if held:
        yield "\n\n".join(held) + "\n"
