from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.text.html.text import html_to_text


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ("<p>one</p>\n\n<p>two\n  lines</p>", "one\n\ntwo lines"),
        ("one<p>two<p>three", "one\n\ntwo\n\nthree"),  # as Hacker News writes
        ("a<br>b<br/>c<br><br><br>d<br>", "a\nb\nc\n\nd"),
        ("<h2>Head</h2>text<hr>more", "Head\n\ntext\n\nmore"),
        ("<div>a</div><div>b</div>", "a\nb"),
        ("un<b>broken</b> <EM>words</EM>", "unbroken words"),
        ("a&nbsp;b\u3000c\td", "a b c d"),
    ],
)
def test_paragraphs_and_breaks(fragment: str, text: str) -> None:
    assert html_to_text(fragment) == text


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ("<p>x</p><ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<p>y</p>", "x\n\n- a\n- b\n\ny"),
        ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
        ('<ol start="9"><li>a</li><li>b</li></ol>', "9. a\n10. b"),
        ("<ul><li>a<ol><li>b</li><li>c</li></ol></li><li>d</li></ul>", "- a\n  1. b\n  2. c\n- d"),
        ("<ul><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>", "- a\n\n  b\n\n- c"),
        ("<ol><li>a<pre>\n  x\n y</pre></li></ol>", "1. a\n\n     x\n    y"),
        ("<ul><li></li><li>a</li></ul>", "- a"),
        ("<ul><li><ul><li></li></ul>a</li></ul>", "- a"),
        ("<ul><li><ol><li>a</li></ol></li></ul>", "- 1. a"),
        ("<li>a</li></ul></ol></li>b", "- a\nb"),
    ],
)
def test_lists(fragment: str, text: str) -> None:
    assert html_to_text(fragment) == text


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ("<blockquote>\n<p>a</p>\n<p>b</p>\n</blockquote><p>c</p>", "> a\n>\n> b\n\nc"),
        ("<blockquote>a<blockquote>b</blockquote>c</blockquote>", "> a\n>\n> > b\n>\n> c"),
        ("<blockquote>a</blockquote><blockquote>b</blockquote>", "> a\n\n> b"),
        ("<blockquote><ul><li>a</li><li>b</li></ul></blockquote>", "> - a\n> - b"),
        ("<blockquote><pre>a\n\n  b</pre></blockquote>", "> a\n>\n>   b"),
        ("<ul><li><blockquote>a<br>b</blockquote></li></ul>", "- > a\n  > b"),
    ],
)
def test_quotes(fragment: str, text: str) -> None:
    assert html_to_text(fragment) == text


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        (
            "a<pre class='lang-py'><code>\nif x &lt; 1:\n    y\n\n\n\tz  \n</code></pre>b",
            "a\n\nif x < 1:\n    y\n\n\n\tz\n\nb",
        ),
        ("<pre>    <span>deep</span>\n  less</pre>", "    deep\n  less"),
        ("<pre>a<br>b<p>c</p></pre>", "a\nbc"),
        ("<pre>never ended  \n  x", "never ended\n  x"),
        ("<pre> \n </pre>a", "a"),
        ("use <code>a &amp;&amp; b</code>.", "use `a && b`."),
        ("<code>a`b</code><code> </code>", "`` a`b ``"),
        ("<code>a<p>b</code>", "a\n\nb"),
    ],
)
def test_code(fragment: str, text: str) -> None:
    assert html_to_text(fragment) == text


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ('<a href="https://e.org/x">text</a>', "text"),
        ('<a href="https:&#x2F;&#x2F;e.org/long?a=1&amp;copy=2">https://e.org/lo...</a>',
         "https://e.org/long?a=1&copy=2"),
        ('<a href="https://e.org/long?a&copy=2">https://e.org/lo…</a>',
         "https://e.org/long?a&copy=2"),
        ('<a href="https://e.org/">and so on...</a>', "and so on..."),
        ("<a name=x>here</a></a>", "here"),
        ('see <img src="x.png" alt="a map"> and <img alt="enter image description here">.',
         "see a map and ."),
        ("10<sup>-6</sup> m, the 2<sup>nd</sup>, a note<sup>1</sup>, H<sub>2</sub>O",
         "10^-6 m, the 2nd, a note1, H2O"),
    ],
)  # fmt: skip
def test_inline(fragment: str, text: str) -> None:
    assert html_to_text(fragment) == text


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        (
            (
                "x<table><thead><tr><th></th><th>A</th></tr></thead>\n<tbody><tr><td><p>b</p></td>"
                "<td>c<br>d</td></tr><tr><td></td><td></td></tr></tbody></table>y"
            ),
            "x\n\n| A\nb | c d\n\ny",
        ),
        ("<tr><td>a<td>b<tr><td>c", "a | b\nc"),
        ("<table><tr><td>a<ul><li>b</li></ul></td><td>c</td></tr></table>", "a b | c"),
    ],
)
def test_tables(fragment: str, text: str) -> None:
    assert html_to_text(fragment) == text


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ("&amp;lt;p&amp;gt; &#39;&eacute;&#x1F600;", "&lt;p&gt; 'é😀"),
        ("&nosuch; &#xD800; &#0; &", "&nosuch; \ufffd \ufffd &"),
        ("a<script>if (a<b) '</p>'</script>b<STYLE>p {}</STYLE >c<!-- <p> -->d", "abcd"),
        ("a<script>never ended", "a"),
        ("a<!-- never ended", "a"),
        ("1 < 2, a <3 </3 <>", "1 < 2, a <3 </3 <>"),
        ("<p it's>a</p> <p title='a>b' x=\"it's\">c</p>", "a\n\nc"),
        ("a<p title='never ended>b", "a"),
        ("<!DOCTYPE html><?xml?>a", "a"),
        ("a\0b\r\n\r\n<pre>c\r\n d\re</pre>", "ab\n\nc\n d\ne"),
        ("a\0b", "ab"),
        ("", ""),
        (" \n<p> </p><br>", ""),
    ],
)
def test_what_is_not_text(fragment: str, text: str) -> None:
    assert html_to_text(fragment) == text


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ("<html><head><title>t</title><meta x></head><body>b</body></html>", "b"),
        ('<html><head><title/><script src="x"/></head><body>b<style/>c</body></html>', "bc"),
        ("<head><title>t</title><p>no body, no end", "no body, no end"),
        ("<header>a</header><main>b</main><aside>c</aside><footer>d</footer>", "a\nb\nc\nd"),
        ("x<style>p { a > b }</style><SCRIPT>if (a<b) {}</Script>y<!-- <p> -- > -->z", "xyz"),
        ("kept <a href='unclosed", "kept"),
    ],
)
def test_pages(fragment: str, text: str) -> None:
    assert html_to_text(fragment) == text


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ("<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 | 2\n3"),
        ("<table><tr><td><p>a</p><p>b</p></td><td>c</td></tr></table>d", "a\n\nb\n\nc\n\nd"),
        ("<table><tr><td><img alt=x></td><td>&nbsp;<br></td><td>a</td><td></td></tr></table>", "a"),
        ("<table><tr><td>a<br>b</td><td>c</td></tr></table>", "a\nb | c"),
        ("<table><tr><td><ul><li>a<td>b</table>c", "- a\n\nb\n\nc"),
        ("<ul><li>a<table><tr><td><ol><li>b</table>c</ul>d", "- a\n\n  1. b\n\n  c\n\nd"),
        ("</table></td><td>a</table>b", "a\n\nb"),
    ],
)
def test_layout_tables(fragment: str, text: str) -> None:
    assert html_to_text(fragment, images=False, layout_tables=True) == text


def test_options() -> None:
    assert html_to_text("<blockquote>a<p>b</blockquote>", quote="  ") == "  a\n\n  b"
    assert html_to_text("a<img alt='b'>c", images=False) == "ac"
    tokens = ["", "*note", "", "1", "p", "", "Text", "/p", "", "", "/*note", "", "more", None, None]
    assert html_to_text("", edit=lambda _: tokens) == "1 Text\n\nmore"
    tokens = ["", "*note", "", "1", "*note", "", "2", "p", "", "Id.", "/*note", "", "x", "p", ""]
    assert html_to_text("", edit=lambda _: tokens) == "1\n\n2 Id.\n\nx"


@pytest.mark.parametrize(
    "piece",
    [
        *("<div>", "<b>", "<blockquote>x", "<ul><li>x", "<table><tr><td>x", "<a href=x>", "<pre>"),
        *("<", "</", "<a ", '<a b="', "<a '", "<!--", "<!", "&", "&#", "<code>`", "1<sup>1"),
        *("<a href='x'>y...</a>", "<code>x</code>", "a<br>", "<script", "</li>", "<img alt=", " "),
        *("<title>", "<title/>", "<script</script", "<td>", "<td>x", "<table>", "</table>"),
    ],
)
def test_nesting_and_repetition_cost_no_more_than_their_length(piece: str) -> None:
    check_linear(lambda n: html_to_text(piece * n), 5_000)
    check_linear(lambda n: html_to_text(piece * n, layout_tables=True), 5_000)


def test_a_long_attribute_costs_no_more_than_its_length() -> None:
    check_linear(lambda n: html_to_text(f"<a {'x' * n}>y...</a>"), 20_000)


def test_deep_quotes_stay_readable() -> None:
    lines = html_to_text("<blockquote>x" * 1000).split("\n")
    assert max(map(len, lines)) < 50


TAGS = st.sampled_from(
    [
        "p",
        "br",
        "ul",
        "ol",
        "li",
        "blockquote",
        "pre",
        "code",
        "a",
        "img",
        "table",
        "tr",
        "td",
        "th",
        "h1",
        "div",
        "sup",
        "script",
        "b",
        "hr",
    ]
)
PIECES = st.one_of(
    TAGS.map("<{}>".format),
    TAGS.map("</{}>".format),
    st.sampled_from(["<a href='http://x.y/z'>", "http://x...", "&lt;", "&#1", "<!--", "\0", "\r"]),
    st.text(max_size=5),
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_fragment_becomes_tidy_text(fragment: str) -> None:
    text = html_to_text(fragment)
    assert text == html_to_text(fragment)
    assert "\0" not in text
    assert "\r" not in text
    assert text == text.rstrip()
    assert not any(line != line.rstrip() for line in text.split("\n"))
    if "<pre>" not in fragment:
        assert "\n\n\n" not in text


@given(st.lists(st.sampled_from(["x", "<b>", "</b>", "<span>", "é ", "<p>", "&amp;"])))
def test_the_words_are_those_another_library_finds(pieces: list[str]) -> None:
    spaced = "".join(pieces).replace("<p>", " <p>")
    assert html_to_text(spaced).split() == BeautifulSoup(spaced, "html.parser").get_text().split()
