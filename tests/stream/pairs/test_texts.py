from __future__ import annotations

import pytest

from barrow.stream.pairs import ClipTexts


class Letters:
    """Letters to numbers, as a tokenizer of CLIP's kind."""

    start, end, hash = 98, 99, "letters"

    def encode(self, text: str) -> list[int]:
        return [ord(letter) - ord("a") + 1 for letter in text]


def test_rows_of_clip() -> None:
    encode = ClipTexts(Letters(), context=6)
    assert encode(["abc", "", "abcdefgh"]).tolist() == [
        [98, 1, 2, 3, 99, 0],
        [98, 99, 0, 0, 0, 0],
        [98, 1, 2, 3, 4, 99],
    ]
    assert encode.hash == "letters-6"
    assert encode([]).shape == (0, 6)
    with pytest.raises(ValueError, match="context: expected 3 or more places, got 2"):
        ClipTexts(Letters(), context=2)(["a"])
