from __future__ import annotations

import unicodedata
from html.parser import HTMLParser

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from barrow.pages.escape import escaped, markdown_code, markdown_text, one_line, shown

ANY = st.text(st.characters(exclude_categories=())) | st.text("<>&\"'`|\\*_[]()!#~\n\r\t :/w.@-+=$")


@given(ANY)
@example("\x00\x1b\x7f\x85\ufeff\u202e\u2066\u061c\U000e0041\ufffe\U0010ffff\ud800")
def test_nothing_that_acts_is_left(text: str) -> None:
    result = shown(text)
    result.encode()
    for character in result:
        if character not in "\n\t":
            assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
            assert unicodedata.bidirectional(character) not in (
                *("LRE", "RLE", "LRO", "RLO", "PDF"),
                *("LRI", "RLI", "FSI", "PDI"),
            )


def test_what_may_be_read_stays() -> None:
    text = "Größe, שלום, مرحبا, 漢字, 👩\u200d🔬, می\u200cخواهم\n\tline"
    assert shown(text) == text
    assert shown("a\r\nb\rc") == "a\nb␍c"
    assert shown("\x00\x1b[0m") == "␀␛[0m"


@given(ANY)
def test_html_reads_back(text: str) -> None:
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_data(self, data: str) -> None:
            found.append(data)

        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            found.append(dict(attributes)["title"] or "")

    reader = Reader()
    reader.feed(f'<p title="{escaped(text)}">{escaped(text)}</p>')
    reader.close()
    assert found[0] == shown(text)
    assert "".join(found[1:]) == shown(text)


@given(ANY)
def test_one_line(text: str) -> None:
    result = one_line(text, most=20)
    assert len(result) <= 21
    assert "\n" not in result
    assert "\t" not in result


def test_a_long_text_is_not_looked_at_to_its_end() -> None:
    assert one_line("a b " * 10_000_000, most=5) == "a b a…"
    assert one_line(" " * 1_000 + "x", most=5) == "…"


@given(ANY)
@example("http://example.org")
@example("www.example.org")
@example("<script>alert(1)</script>")
@example("[a](javascript:1) ![b](c)")
@example("a | b \\| c `d`")
@example("`")
@example("x ``` y")
def test_markdown_is_nothing_but_text(text: str) -> None:
    """Read by a parser of markdown: one cell, one paragraph, no element inside."""
    parser = MarkdownIt("gfm-like", {"linkify": False}).enable("table")
    for made in (markdown_text(text), markdown_code(text)):
        table = f"| a | b |\n| --- | --- |\n| {made} | end |\n"
        tokens = parser.parse(table)
        cells = [token for token in tokens if token.type == "inline"][2:]
        assert len(cells) == 2
        assert cells[1].content == "end"
        kinds = {child.type for child in cells[0].children or []}
        assert kinds <= {"text", "text_special", "code_inline"}
        words = "".join(child.content for child in cells[0].children or [])
        assert words.replace("\u200b", "").strip() == one_line(text).replace("\u200b", "").strip()
