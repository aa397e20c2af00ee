"""PILE-1: wikitext as the text one would read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.text.wikitext import WikiStyle, wikitext_to_text

INLINE = {
    # Bold, italics.
    "'''Barrow''' is a ''mound''.": "Barrow is a mound.",
    "'''''Both''''' and ''''quoted'''.": "Both and 'quoted.",
    "Homère, l'''Iliade'' et l'''Odyssée''.": "Homère, l'Iliade et l'Odyssée.",
    "dell'''Iliade'', '''A'''s ''x'', '''A''' or ''b''": "dell'Iliade, As x, A or b",
    "L'auteur de l'''Iliade''.": "L'auteur de l'Iliade.",
    # Links.
    "A [[mound]] of [[Stone (rock)|stones]].": "A mound of stones.",
    "Many [[mound]]s, [[barrow|long barrow]]s.": "Many mounds, long barrows.",
    "[[Mound#Shape]], [[#Shape]], [[:Category:Mounds]]": "Mound#Shape, #Shape, Category:Mounds",
    "[[Star Trek: The Next Generation]]": "Star Trek: The Next Generation",
    "[[Star Trek: Picard|Picard]] and [[wikt:barrow|barrow]]": "Picard and barrow",
    "[[Boston (Lincolnshire)|]]": "Boston",
    "text [[fr:Tumulus]][[zh-min-nan:X]][[Category:Mounds|*]] here": "text here",
    "[[:fr:Tumulus|tumulus]]": "tumulus",
    "[[:fr:Tumulus]]": "fr:Tumulus",
    "[https://x.org/a a site], [https://x.org/b] and https://x.org/c": "a site, and https://x.org/c",
    "See [//x.org site] or [mailto:a@x.org me].": "See site or me.",
    "[[File:A.jpg|thumb|A [[mound]], ''old'']]Text": "Text",
    "[[Image:A.jpg|thumb|{{convert|5|m}} [https://x.org high] [[a|b [[c]]]]]] Text": "Text",
    "a [not a link] b": "a [not a link] b",
    "[[[mound]]]": "[mound]",
    # Notes, comments, code.
    "A fact.<ref>Source</ref> More<ref name=a /> text <ref>x</ref>.": "A fact. More text.",
    'A<ref name="a>b">x</ref> B': "A B",
    "A<!-- hidden -->B": "AB",
    "A <!-- open to the end": "A",
    "<nowiki>[[not a link]] ''x''</nowiki>": "[[not a link]] ''x''",
    "Let <math>a^2\n + b_{{1}}</math> be": "Let $a^2 + b_{{1}}$ be",
    "<math display=block>x</math>": "$x$",
    "Call <code>f()</code> and f() here": "Call f() and f() here",
    "<code>{{x}} ''y'' &lt;</code>": "{{x}} ''y'' <",
    "<poem>one\ntwo</poem>": "one\ntwo",
    "A<gallery>\nFile:x.jpg|y\n</gallery>B<timeline>z</timeline>": "AB",
    "An unclosed <ref>note stays": "An unclosed note stays",
    # HTML.
    "H<sub>2</sub>O, 10<sup>6</sup> m<sup>2</sup>, 1<sup>st</sup>": "H2O, 10^6 m^2, 1st",
    "one<br>two<br />three": "one\ntwo\nthree",
    "<span style='x'>a</span> <small>b</small> <u>c</u>": "a b c",
    "a < b and c > d, <notatag> stays": "a < b and c > d, <notatag> stays",
    "a&nbsp;b &amp; c &ndash; d &#91; &bogus; &amp;lt;": "a b & c – d [ &bogus; &lt;",
    "5&nbsp; km": "5 km",
    # Magic words and the rest.
    "__NOTOC__Text __TOC__ __init__": "Text __init__",
    "a\x00b\x01\x7f\x85\ufeff <nowiki>c\x00</nowiki>\n* d\x9f": "ab c\n\n- d",
    "Text ~~~~": "Text",
    "-{zh-hans:网络; zh-hant:網路}- -{plain}-": "网络 plain",
}


@pytest.mark.parametrize("source", INLINE)
def test_inline(source: str) -> None:
    assert wikitext_to_text(source) == INLINE[source]


GAPS = {
    "Foo ({{IPA-xx}}; {{audio|x.ogg}}) is": "Foo is",
    "Foo ({{unknown|x}}; born 1950) is": "Foo (born 1950) is",
    "Foo (born 1950; {{unknown|x}}) is": "Foo (born 1950) is",
    "Foo (a, {{unknown|x}}, b) is": "Foo (a, b) is",
    "Foo ({{unknown}}) is": "Foo is",
    "Foo [{{unknown}}].": "Foo.",
    "A {{unknown}} b": "A b",
    "A {{unknown}}, b {{x}}.": "A, b.",
    "A {{unknown}} {{x}} {{y}}b": "A b",
    "A{{citation needed}} b": "A b",
    "Text.\n{{unknown}} More": "Text. More",
    "{{unknown}}\nText": "Text",
    "f() and ( ) stay, x  y": "f() and ( ) stay, x y",
    "A (<ref>x</ref>) b": "A b",
    "((({{x}})))": "",
    "* {{unknown}}\n* b": "- b",
    "{{A|{{B|{{C}}}}}}x": "x",
    "{{{param}}} x": "x",
    "a }} b": "a b",
    "a ]] b": "a b",
    "a [[ b": "a b",
    "Text {{cite web|url=x\n\nMore": "Text\n\nMore",
    "{{nowrap|{a, b}}} c": "{a, b} c",
}


@pytest.mark.parametrize("source", GAPS)
def test_nothing_is_left_where_something_was_dropped(source: str) -> None:
    assert wikitext_to_text(source) == GAPS[source]


LAYOUT = {
    "a\nb\n\nc": "a b\n\nc",
    "Intro\n== History ==\nText\n=== Early ===\nMore": "Intro\n\nHistory\n\nText\n\nEarly\n\nMore",
    "==History==\n===Empty===\n== Next==\nText": "Next\n\nText",
    "Intro\n== See also ==\n* [[x]]\n=== Sub ===\ny\n== Then ==\nz": "Intro\n\nThen\n\nz",
    "Intro\n==References==\n{{reflist}}\n<references/>": "Intro",
    "* a\n** b\n* c\ntext": "- a\n  - b\n- c\n\ntext",
    "# a\n# b\n## c\n# d\n\n# e": "1. a\n2. b\n  1. c\n3. d\n\n1. e",
    "text\n: indented\n:: more\n* a\n*: under": "text\n\nindented\nmore\n- a\n  under",
    "; term : meaning\n; other": "term: meaning\nother",
    " code  here\n more": "code  here\nmore",
    "a\n----\nb": "a\n\nb",
    "a\n<pre>\n x\n\n\n  y [[z]]\n</pre>\nb": "a\n\n x\n\n  y [[z]]\n\nb",
    "a<source lang=py>\nif x:\n    y()\n</source>b": "a\n\nif x:\n    y()\n\nb",
    "<ul><li>a</li><li>b</li></ul>": "- a\n- b",
    "a<div>b</div><p>c</p>": "a b\n\nc",
    "{|\n|-\n| a || b\n|}\nText": "Text",
    "{| class=x\n| {| \n| a\n|}\n|}\nText\n:{|\n|x\n|}": "Text",
    "{|\n{| unclosed\n| a\n| b\n|}\n{|\n== Next ==\nText": "Next\n\nText",
    "{| unclosed\n| a\n== Next ==\nText": "Next\n\nText",
    "<table><tr><td>a</td></tr></table>Text": "Text",
    "| stray = 1\nText": "Text",
    "!Kung is a language": "!Kung is a language",
    "{{Infobox x\n| a = {{b|c}}\n| d = [[File:x.jpg|y]]\n}}\n'''X''' is": "X is",
    "#REDIRECT [[x]]": "1. REDIRECT x",
}


@pytest.mark.parametrize("source", LAYOUT)
def test_lines(source: str) -> None:
    assert wikitext_to_text(source) == LAYOUT[source]


def test_tables_as_rows() -> None:
    source = (
        '{| class="wikitable"\n|+ style="x" | Sizes\n! scope="col" | Name !! Size\n|-\n'
        '| [[Long barrow|Long]] || style="y" | {{convert|5|m}}\n|-\n'
        "| rowspan=2 |\nRound\n|a\n|}\nEnd"
    )
    style = WikiStyle(tables=True)
    assert wikitext_to_text(source, style) == "Sizes\nName | Size\nLong | 5 m\nRound | a\n\nEnd"
    html = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    assert wikitext_to_text(html, style) == "a | b\n1 | 2"


def test_captions() -> None:
    source = "[[File:A.jpg|thumb|200px|alt=x|A [[mound|barrow]] of {{convert|5|m}}]]\nText"
    style = WikiStyle(captions=True)
    assert wikitext_to_text(source, style) == "A barrow of 5 m\n\nText"
    assert wikitext_to_text("[[File:A.jpg|thumb|right]]Text", style) == "Text"


def test_names_of_the_wiki() -> None:
    style = WikiStyle(language="de", files=("datei",), categories=("kategorie",))
    source = "[[Datei:A.jpg|mini|x [[y]]]]Text {{lang-fr|eau}}[[Kategorie:Z]]"
    assert wikitext_to_text(source, style) == "Text eau"
    assert wikitext_to_text("{{lang-fr|eau}}") == "French: eau"


def test_all_sections_may_be_kept() -> None:
    source = "== See also ==\n* [[x]]"
    assert wikitext_to_text(source, WikiStyle(dropped_sections=())) == "See also\n\n- x"


HUGE: list[Callable[[int], str]] = [
    lambda n: "{{" * n + "x" + "}}" * n,
    lambda n: "{{lang|fr|" * n + "x" + "}}" * n,
    lambda n: "{{lang|fr|" * n,
    lambda n: "{{" * n,
    lambda n: "}}" * n,
    lambda n: "[[a|" * n + "x" + "]]" * n,
    lambda n: "[[File:a|" * n,
    lambda n: "[[" * n,
    lambda n: "{|\n" * n,
    lambda n: "{|\n" * n + "|}\n" * n,
    lambda n: "<ref>" * n,
    lambda n: "<ref name=" * n,
    lambda n: '<ref name="' * n,
    lambda n: "<!--" * n,
    lambda n: "<math>" * n,
    lambda n: "'" * n,
    lambda n: "'''a" * n,
    lambda n: "=" * n,
    lambda n: "== " * n,
    lambda n: "==a==\n" * n,
    lambda n: "*" * n,
    lambda n: "#a\n" * n,
    lambda n: "(" * n + "{{x}})" * n,
    lambda n: "( {{x}} , " * n,
    lambda n: " " * n + "{{x}}" + " " * n,
    lambda n: "{{x}} " * n,
    lambda n: "[http://a " * n,
    lambda n: "<" * n,
    lambda n: "<a " * n,
    lambda n: "&" * n,
    lambda n: "-{" * n,
    lambda n: "__" * n,
    lambda n: "{{convert|" + "1|" * n + "}}",
    lambda n: "{{val|" + "1" * n + "}}",
    lambda n: "{{frac|" + "=" * n + "}}",
    lambda n: "{{nowrap|" + "[" * n + "}}",
    lambda n: "{" * n + "}" * n,
    lambda n: "{{#if:" * n + "}}" * n,
    lambda n: "|" * n,
    lambda n: "[[a|b" * n + "\n",
    lambda n: "[[" + "a:" * n + "]]",
    lambda n: "{{ " + " " * n,
    lambda n: "[[ " + " " * n + "|" + " " * n,
]


@pytest.mark.parametrize("number", range(len(HUGE)))
def test_time_is_linear(number: int) -> None:
    """Linear time: nesting, unclosed brackets and repetition cost no more than their length."""
    style = WikiStyle(tables=True, captions=True)
    check_linear(lambda n: wikitext_to_text(HUGE[number](n), style), 2_000)


PIECES = st.sampled_from(
    [
        *(
            "{{",
            "}}",
            "[[",
            "]]",
            "|",
            "{|",
            "|}",
            "|-",
            "!",
            "''",
            "'''",
            "==",
            "=",
            "*",
            "#",
            ":",
        ),
        *(
            ";",
            "<ref>",
            "</ref>",
            "<math>",
            "</math>",
            "<pre>",
            "</pre>",
            "<!--",
            "-->",
            "lang|fr|",
        ),
        *(
            "convert|5|km",
            "File:a.jpg",
            "Category:b",
            "[http://x ",
            "]",
            "(",
            ")",
            ",",
            "<br>",
            "1",
        ),
        *("<table>", "</table>", "&nbsp;", "&lt;", "__TOC__", "~~~~", "-{", "}-", "\x01", "\x02"),
        *("\x04", "\r", "\ud800", "{{!}}", "{{nowrap|", "{{frac|1|2}}", "{{quote|", "\n", "\n\n"),
        *(" ", "word", "\u00e9"),
    ]
)


@settings(max_examples=150)
@given(st.lists(PIECES, max_size=60).map("".join))
def test_whatever_comes(source: str) -> None:
    for style in (WikiStyle(), WikiStyle(tables=True, captions=True, dropped_sections=())):
        text = wikitext_to_text(source, style)
        assert not any(mark in text for mark in "\x01\x02\x03\x04\x05\r")
        assert "\n\n\n" not in text
        assert text == text.strip()
        assert wikitext_to_text(source, style) == text
