from __future__ import annotations

from barrow.corpus.text.wikitext.marks import CONTROLS, GONE, close_gaps, without_marks


def test_gaps_are_closed_only_where_something_went() -> None:
    assert close_gaps(f"a ({GONE}; {GONE}) b") == "a b"
    assert close_gaps("a ( ; ) b") == "a ( ; ) b"
    assert close_gaps(f"a {GONE} b {GONE}. c ({GONE}, d)") == "a b. c (d)"
    assert close_gaps(f"a ( ; ) {GONE} b") == "a ( ; ) b"
    assert close_gaps(f"{GONE} a\n{GONE} b") == "a\nb"
    assert close_gaps(f"a, {GONE}, b") == "a, b"


def test_a_long_text_before_a_gap_is_kept() -> None:
    text = "word " * 100
    assert close_gaps(f"{text}{GONE} end {text}{GONE}.") == f"{text}end {text.rstrip()}."


def test_controls_are_removed() -> None:
    assert without_marks("a\x01b\x05\r\nc\rd\te") == "ab\nc\nd\te"
    assert CONTROLS.sub("", "a\x00\x7f\x80\ufeffb\n\t") == "ab\n\t"
