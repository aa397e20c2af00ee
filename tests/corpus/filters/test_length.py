from __future__ import annotations

import pytest

from barrow.corpus.filters.length import Length
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError


def test_bytes_are_counted_not_characters() -> None:
    texts = Texts.of_strings(["ab", "é", "abc", "abcdef", ""], [{}] * 5, Scratch())
    length = Length(min_bytes=2, max_bytes=5)
    code, value = length.decide(texts)
    assert code.tolist() == [0, 0, 0, 2, 1]
    assert length.cause(length.reasons[1], value[3]) == "6 bytes, more than 5"
    assert length.cause(length.reasons[0], value[4]) == "0 bytes, fewer than 2"
    assert Length().decide(texts).code.tolist() == [0, 0, 0, 0, 1]


def test_limits_that_exclude_everything() -> None:
    with pytest.raises(ConfigError, match="max_bytes must be ≥ min_bytes"):
        Length(min_bytes=2, max_bytes=1)
