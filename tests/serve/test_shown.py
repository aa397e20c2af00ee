from __future__ import annotations

from barrow.serve.shown import Shown
from barrow.tokens import ByteTokenizer


def fed(text: str, *stops: str) -> tuple[list[str], str, int | None]:
    """What was shown after each byte, the whole, and the byte that ended it."""
    shown = Shown(ByteTokenizer(), [256], stops=stops)
    steps = []
    for number, byte in enumerate(text.encode()):
        if shown.add(byte):
            return steps, shown.end(), number
        steps.append(shown.shown)
    return steps, shown.end(), None


def test_whole_characters_only() -> None:
    steps, whole, _ = fed("a€b")
    assert steps == ["a", "a", "a", "a€", "a€b"]
    assert whole == "a€b"


def test_an_incomplete_character_at_the_end() -> None:
    shown = Shown(ByteTokenizer(), [], stops=())
    for byte in "é".encode()[:1]:
        assert not shown.add(byte)
    assert (shown.shown, shown.end()) == ("", "\ufffd")


def test_a_stop_text_ends_it() -> None:
    assert fed("one two three", "two")[1:] == ("one ", 6)
    assert fed("€uro", "€")[1:] == ("", 2)


def test_what_may_become_a_stop_text_is_held_back() -> None:
    steps, whole, end = fed("ab\n\nc\n", "\n\n\n", "x")
    assert steps == ["a", "ab", "ab", "ab", "ab\n\nc", "ab\n\nc"]
    assert (whole, end) == ("ab\n\nc\n", None)


def test_overlapping_beginnings() -> None:
    assert fed("aabaabaac", "aabaac")[1:] == ("aab", 8)
    assert fed("aaab", "aab")[1:] == ("a", 3)
