from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from barrow.corpus.markup import markup_text
from barrow.corpus.tidy_text import tidy

CASES = {
    "a <b>b</b>  c\n d": "a b c d",
    "<p>one</p>\n<P class=x>two<br>three": "one\n\ntwo\nthree",
    "<div>a</div><div>b</div>\n<div>\n<div>c</div></div>": "a\nb\nc",
    "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>": "1 2\n3",
    "x<style>p { a > b }</style><SCRIPT>if (a<b) {}</Script>y<!-- <p> -- > -->z": "xyz",
    "<html><head><title>t</title></head><body>b</body></html>": "b",
    "1 < 2 &lt;3&gt; &amp;amp; caf&eacute;&nbsp;&#8364;": "1 < 2 <3> &amp; café €",
    "<pre>def f():\n    return  1\n</pre>after": "def f():\n    return  1\n\nafter",
    "<!DOCTYPE html><?php x ?>text": "text",
    "kept <a href='unclosed": "kept",
    "kept <!-- unclosed <p>x": "kept",
}


@pytest.mark.parametrize("markup", CASES)
def test_markup(markup: str) -> None:
    assert tidy(markup_text(markup)).strip() == CASES[markup]


def test_words_are_those_a_browser_shows() -> None:
    """Against lexbor, a whole HTML parser."""
    page = (
        "<html><head><style>x{}</style></head><body><h1>One <i>two</i></h1><ul><li>three<li>four"
        "</ul><p>five &amp; six<script>no()</script></p><table><tr><td>7<td>8</table></body></html>"
    )
    tree = LexborHTMLParser(page)
    tree.strip_tags(["script", "style"])
    assert markup_text(page).split() == tree.body.text(separator=" ").split()


@given(st.text(alphabet="<>/!-ab p=\"'&;\n\0é", max_size=80))
def test_any_text(text: str) -> None:
    result = markup_text(text)
    assert not re.search(r"</?(?:pre|style)>", result)
    assert "\0" not in result
