from __future__ import annotations

from barrow.cli.terminal import printable


def test_nothing_acts_on_the_terminal() -> None:
    assert printable("a\tb\nc é 日") == "a\tb\nc é 日"
    assert printable("\x1b[31m\x07\x9b\u202e") == "�[31m���"
