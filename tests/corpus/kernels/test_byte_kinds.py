from __future__ import annotations

import numpy as np

from barrow.corpus.kernels.byte_kinds import DIGIT, IN_KEY, LETTER, WORD, contains, is_kind, packed


def test_kinds() -> None:
    for byte in range(256):
        character = chr(byte)
        ascii_ = byte < 128
        assert is_kind(byte, DIGIT) == (ascii_ and character.isdigit())
        assert is_kind(byte, LETTER) == (ascii_ and character.isalpha())
        assert is_kind(byte, WORD) == (ascii_ and character.isalnum())
        assert is_kind(byte, IN_KEY) == (ascii_ and (character.isalnum() or character in "_-+/"))


def test_packed_words() -> None:
    words = packed(b"tel", b"AKIA")
    assert contains(words, np.uint32(int.from_bytes(b"tel", "little")))
    assert not contains(words, np.uint32(int.from_bytes(b"let", "little")))
