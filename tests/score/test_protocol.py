from __future__ import annotations

from typing import Any

import pytest

from barrow.score.card import Window
from barrow.score.protocol import PROTOCOLS, Protocol, named_protocol, prefix_token
from barrow.tokens import ByteTokenizer


class Roles(ByteTokenizer):
    """A tokenizer with the roles that are given."""

    def __init__(self, begin: int | None, end: int | None, specials: dict[str, int]) -> None:
        self.begin, self.end, self.specials = begin, end, specials  # type: ignore[misc]


BYTES = ByteTokenizer()


def test_the_default_is_the_same_for_all_models_that_see_1024_tokens() -> None:
    expected = Window(1024, 512, "begin", "every", "barrow")
    assert PROTOCOLS["barrow"].window(BYTES, 1024) == expected
    assert PROTOCOLS["barrow"].window(BYTES, 8192) == expected
    assert PROTOCOLS["barrow"].window(BYTES, None) == expected
    # A shorter model is said to be one.
    assert PROTOCOLS["barrow"].window(BYTES, 100) == Window(100, 50, "begin", "every", "barrow")


def test_the_other_protocols_follow_the_model() -> None:
    assert PROTOCOLS["pile"].window(BYTES, 2048) == Window(2048, 2048, "end", "first", "pile")
    assert PROTOCOLS["sliding"].window(BYTES, 64) == Window(64, 32, "begin", "every", "sliding")


def test_changes_make_a_protocol_custom() -> None:
    pile = PROTOCOLS["pile"]
    assert pile.changed() is pile
    assert pile.changed(prefix="end") is pile
    changed = pile.changed(context=16, stride=4, prefix="none")
    assert changed == Protocol("custom", 16, 4, "none", "first")
    assert changed.window(BYTES, 64) == Window(16, 4, "none", "first", "custom")
    # A stride of half the context stays half of it.
    assert PROTOCOLS["barrow"].changed(context=100).window(BYTES, 1024).stride == 50


@pytest.mark.parametrize(
    ("role", "begin", "end", "specials", "expected"),
    [
        ("begin", 1, 2, {}, ("begin", 1)),
        ("end", 1, 2, {}, ("end", 2)),
        ("begin", None, 2, {}, ("end", 2)),
        ("end", 1, None, {}, ("begin", 1)),
        ("end", 1, None, {"</s>": 7}, ("end", 7)),
        ("begin", None, None, {"<|endoftext|>": 9}, ("end", 9)),
        ("begin", None, None, {"<pad>": 0}, ("none", None)),
        ("none", 1, 2, {}, ("none", None)),
    ],
)
def test_the_prefix_is_a_role_that_the_tokenizer_can_fill(
    role: Any, begin: int | None, end: int | None, specials: dict[str, int], expected: Any
) -> None:
    assert prefix_token(Roles(begin, end, specials), role) == expected


def test_bad_protocols() -> None:
    with pytest.raises(ValueError, match="context must be ≥ 2, for a prefix and one token, got 1"):
        Protocol("custom", 1, None, "begin")
    with pytest.raises(ValueError, match="stride must be ≥ 1, got 0"):
        PROTOCOLS["barrow"].changed(stride=0)
    with pytest.raises(ValueError, match="prefix must be begin, end or none, got 'bos'"):
        PROTOCOLS["barrow"].changed(prefix="bos")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no protocol 'pil'; there are barrow, pile, sliding"):
        named_protocol("pil")
    with pytest.raises(ValueError, match="the model sees 1 tokens, expected at least 2"):
        PROTOCOLS["barrow"].window(BYTES, 1)
    with pytest.raises(ValueError, match="no maximum length: pass a context"):
        PROTOCOLS["pile"].window(BYTES, None)
    with pytest.raises(ValueError, match="context must be ≤ 64, the model's length, got 99"):
        PROTOCOLS["barrow"].changed(context=99).window(BYTES, 64)
    with pytest.raises(ValueError, match="a stride of 20 skips tokens"):
        PROTOCOLS["barrow"].changed(context=10, stride=20).window(BYTES, 64)
