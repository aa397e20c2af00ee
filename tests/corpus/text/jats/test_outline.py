"""Lines of markdown."""

from __future__ import annotations

from barrow.corpus.text.jats.outline import Outline


def test_lists_and_quotes() -> None:
    outline = Outline()
    outline.put("a")
    outline.owe(2)
    outline.open("- ")
    outline.put("b")
    outline.put("c")
    outline.open("> ", "> ")
    outline.put("d")
    outline.owe(2)
    outline.put("e")
    outline.close()
    outline.close()
    outline.owe(2)
    outline.open("- ")
    outline.relabel("(i) ")
    outline.open("1. ")
    outline.put("f")
    outline.close()
    outline.close()
    outline.put("g")
    assert outline.text() == "a\n\n- b\n  c\n  > d\n  >\n  > e\n\n(i) 1. f\ng"


def test_headings_with_nothing_under_them_are_left_out() -> None:
    outline = Outline()
    for level, title in ((2, "A"), (3, "B"), (3, "C")):
        outline.head(level, title)
    outline.put("c")
    for level, title in ((2, "D"), (3, "E"), (2, "F")):
        outline.head(level, title)
    assert outline.text() == "## A\n\n### C\n\nc"


def test_code() -> None:
    outline = Outline()
    outline.put_code("\n\tif:\n\n  x  \n")
    outline.put_code("```")
    outline.put_code(" \n")
    outline.put("y")
    assert outline.text() == "```\n    if:\n\n  x\n```\n\n````\n```\n````\n\ny"


def test_depth_is_bounded() -> None:
    outline = Outline()
    for _ in range(1000):
        outline.open("- ")
    outline.put("x")
    for _ in range(1000):
        outline.close()
    outline.put("y")
    assert outline.text() == f"{'- ' * 20}x\ny"
