from __future__ import annotations

import numpy as np
import pytest

from barrow.corpus.kernels.utf8 import code_at, code_size


@pytest.mark.parametrize("code", [0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF])
def test_the_first_and_last_characters_of_each_size(code: int) -> None:
    data = np.frombuffer(f"é{chr(code)}x".encode(), np.uint8)
    assert code_at(data, np.uint64(2)) == code
    assert code_size(data[2]) == len(chr(code).encode())
