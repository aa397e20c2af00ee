"""The table of characters: kinds and what they are folded to (PILE-12)."""

from __future__ import annotations

import pytest

from barrow.corpus.kernels.characters import (
    ALONE,
    KIND_SHIFT,
    LETTER,
    NOTHING,
    SEPARATOR,
    SEQUENCE,
    VALUE_MASK,
    characters,
)


def entry(character: str) -> tuple[int, str]:
    table = characters()
    value = int(table.entries[ord(character)])
    folded = value & VALUE_MASK
    if not value & SEQUENCE:
        return value >> KIND_SHIFT, chr(folded) if folded else ""
    codes = []
    while table.sequences[folded]:
        codes.append(chr(table.sequences[folded]))
        folded += 1
    return value >> KIND_SHIFT, "".join(codes)


@pytest.mark.parametrize(
    ("character", "kind", "folded"),
    [
        ("a", LETTER, "a"),
        ("Z", LETTER, "z"),
        ("7", LETTER, "7"),
        ("é", LETTER, "e"),
        ("ß", LETTER, "ss"),
        ("ﬁ", LETTER, "fi"),
        ("Σ", LETTER, "σ"),
        ("ς", LETTER, "σ"),
        ("𝔘", LETTER, "u"),
        ("Ⅷ", LETTER, "viii"),
        ("人", ALONE, "人"),
        ("が", ALONE, "か"),
        ("ｶ", LETTER, "カ"),
        ("ไ", ALONE, "ไ"),
        ("𠀀", ALONE, "𠀀"),
        (" ", SEPARATOR, ""),
        ("'", SEPARATOR, ""),
        ("—", SEPARATOR, ""),
        ("。", SEPARATOR, ""),
        ("😀", SEPARATOR, ""),
        ("\u0301", NOTHING, ""),
        ("\u00ad", NOTHING, ""),
        ("\u200b", NOTHING, ""),
    ],
)
def test_characters(character: str, kind: int, folded: str) -> None:
    assert entry(character) == (kind, folded)
