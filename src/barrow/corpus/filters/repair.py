"""Repairs damage of encodings and systems: mojibake, controls, line ends.

U+FFFD stays: what it replaced is lost. Unicode forms stay unless one is asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.filter import Rewriter, Rewritten
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.word_hashes import eight_byte_view
from barrow.corpus.text.mojibake import repair_controls, repair_mojibake

_LINE_END = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029](?:(?<=\r)\n)?")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufeff\ufff9-\ufffb]")


@dataclass(frozen=True)
class Repair(Rewriter):
    r"""Repairs mojibake and control characters, and normalises line ends.

    C1 controls become the characters of Windows-1252; all line ends become ``\n``; other controls,
    byte order marks and interlinear marks are removed. Counted are `mojibake` (runs of it), `c1`,
    `line-ends`, `controls`, and `form` (1 if the text was not in `normal_form`).

    - `normal_form`: the Unicode form of texts: NFC, NFKC, NFD or NFKD; null leaves it
    """

    normal_form: Literal["NFC", "NFKC", "NFD", "NFKD"] | None = None

    def touches(self, texts: Texts) -> npt.NDArray[np.bool_]:
        anything = self.normal_form is not None
        return _damaged(texts.text, eight_byte_view(texts.text), texts.offsets, anything)

    def rewrite(self, text: str, meta: Mapping[str, Any]) -> Rewritten:  # noqa: ARG002
        found: dict[str, int] = {}
        repaired = text
        if not text.isascii():
            repaired, found["mojibake"] = repair_mojibake(repaired)
            repaired, found["c1"] = repair_controls(repaired)
        repaired, found["line-ends"] = _LINE_END.subn("\n", repaired)
        repaired, found["controls"] = _CONTROL.subn("", repaired)
        if self.normal_form is not None and not unicodedata.is_normalized(
            self.normal_form, repaired
        ):
            repaired, found["form"] = unicodedata.normalize(self.normal_form, repaired), 1
        return Rewritten(repaired, {name: number for name, number in found.items() if number})


_HIGH = np.uint64(0x8080808080808080)
_SPACES = np.uint64(0x6060606060606060)
_DELETE = np.uint64(0x0101010101010101)
_TAB_LF = np.uint64(0x0808080808080808)


@compiled
def _damaged(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    offsets: npt.NDArray[np.int64],
    anything: bool,
) -> npt.NDArray[np.bool_]:
    """Which texts have a control, an unusual line end, or a letter with the marks of mojibake;
    with `anything`, also those with any character that is not ASCII.
    """
    found = np.zeros(len(offsets) - 1, np.bool_)
    one, eight = np.uint64(1), np.uint64(8)
    for document in range(len(offsets) - 1):
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        last = np.uint64(max(offsets[document], min(offsets[document + 1], len(eights)) - 8))
        while at < end:
            if at < last:
                chunk = eights[at]
                # In the highest bit: below 32, or 127, or not ASCII.
                low = chunk & ~_HIGH
                if ((~(low + _SPACES)) | (low + _DELETE) | chunk) & _HIGH == 0:
                    at += eight
                    continue
            byte = text[at]
            if byte < 0x80:
                if (byte < 0x20 and byte != 9 and byte != 10) or byte == 0x7F:
                    found[document] = True
                    break
                at += one
                continue
            if anything or _odd(text, at, end):
                found[document] = True
                break
            at += np.uint64(2) if byte < 0xE0 else np.uint64(3) if byte < 0xF0 else np.uint64(4)
    return found


@compiled
def _odd(text: npt.NDArray[np.uint8], at: np.uint64, end: np.uint64) -> bool:
    """Whether a character that is not ASCII is a control, a line end, or begins mojibake."""
    one, two = np.uint64(1), np.uint64(2)
    byte, second = text[at], text[at + one]
    if byte == 0xC2:
        return bool(second < 0xA0)
    if byte == 0xE2:
        return bool(second == 0x80 and (text[at + two] == 0xA8 or text[at + two] == 0xA9))
    if byte == 0xEF:
        third = text[at + two]
        marks = second == 0xBF and 0xB9 <= third <= 0xBB
        return bool(marks or (second == 0xBB and third == 0xBF))
    if byte != 0xC3 or not 0x82 <= second <= 0xB4:
        return False
    needed = 1 if second < 0xA0 else 2 if second < 0xB0 else 3
    place = at + two
    for _ in range(needed):
        if place >= end:
            return False
        first = text[place]
        if first == 0xE2:
            place += np.uint64(3)
        elif first == 0xC2 or first == 0xC5 or first == 0xC6 or first == 0xCB:
            place += two
        else:
            return False
    return True
