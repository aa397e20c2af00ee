from __future__ import annotations

from markdown_it import MarkdownIt

from barrow.pages.markdown import markdown_table, sentence


def test_a_table() -> None:
    text = markdown_table(
        ("name", "number", "why"), [("a", "1", "x"), ("b", "2", "y")], text=(0, 2)
    )
    assert text == "| name | number | why |\n| --- | --: | --- |\n| a | 1 | x |\n| b | 2 | y |"
    assert markdown_table(("name",), []) == "None."


def test_a_sentence_says_the_same() -> None:
    words = "Of <b>, `c`, [d](e), *f*, _g_ and h|i no document is left."
    html = MarkdownIt().render(sentence(words))
    assert html == f"<p>{words.replace('<b>', '&lt;b&gt;')}</p>\n"
