"""Some texts of a part, as filters left them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import barrow.archive
from barrow.archive.block import Block
from barrow.corpus.build.facts import load_columns
from barrow.corpus.build.parts import PartFiles
from barrow.corpus.kernels.word_hashes import Offsets


@dataclass(frozen=True)
class PartTexts:
    """Text i is ``text[offsets[i]:offsets[i + 1]]``, that of document ``rows[i]`` of the part."""

    rows: npt.NDArray[np.int64]
    text: npt.NDArray[np.uint8]
    offsets: Offsets
    _block: Block
    _places: npt.NDArray[np.int64]

    def text_of(self, i: int) -> bytes:
        """Text i, in UTF-8."""
        return self.text[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def metas(self) -> list[dict[str, Any]]:
        """What is known about each of the documents."""
        metas = self._block.metas()
        return [metas[place] for place in self._places]


def part_texts(part: PartFiles, start: int, wanted: npt.NDArray[np.bool_]) -> Iterator[PartTexts]:
    """The wanted texts of the documents from `start` on, a block at a time.

    Rewritten texts are taken from the rewriters' output.
    """
    if not wanted.any():
        return
    changed = np.zeros(len(wanted), np.bool_)
    new: Iterator[barrow.archive.Document] = iter(())
    if part.changed is not None:
        columns = load_columns(part.facts, ("kept", "changed"))
        changed = columns["kept"] & columns["changed"]
        new = iter(barrow.archive.open(part.changed, threads=1))
    at = 0
    archive = barrow.archive.open(part.documents, threads=1)[start : start + len(wanted)]
    for block in archive.blocks():
        here = slice(at, at + len(block))
        places = np.flatnonzero(wanted[here])
        changed_here = np.flatnonzero(changed[here]).tolist()
        if len(places) == len(block) and not changed_here:
            yield PartTexts(places + at, block.text, block.offsets, block, places)
        else:
            new_texts = {i: next(new).text.encode() for i in changed_here}
            pieces = [
                np.frombuffer(new_texts[i], np.uint8)
                if i in new_texts
                else block.text[block.offsets[i] : block.offsets[i + 1]]
                for i in places.tolist()
            ]
            if pieces:
                offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
                yield PartTexts(places + at, np.concatenate(pieces), offsets, block, places)
        at += len(block)
