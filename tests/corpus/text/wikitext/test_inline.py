"""PILE-1: marks inside lines, as MediaWiki reads them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.text.wikitext.inline import (
    without_apostrophes,
    without_magic_words,
    without_tags,
)
from barrow.corpus.text.wikitext.marks import BREAK, GONE

DEEP = 3_000


@pytest.mark.parametrize(
    ("number", "left"),
    # MediaWiki: two are italics, three bold, five both; any other apostrophe is a character.
    [(1, 1), (2, 0), (3, 0), (4, 1), (5, 0), (6, 1), (7, 2), (8, 3), (10, 5), (15, 10)],
)
def test_a_row_of_apostrophes(number: int, left: int) -> None:
    text, shown = "a " + "'" * number + "b", "a " + "'" * left + "b"
    assert without_apostrophes(text) == shown
    assert without_apostrophes(text + " " + "'" * 8) == shown + " '''"


def test_bold_and_italics() -> None:
    assert without_apostrophes("") == ""
    assert without_apostrophes("it's a dog's") == "it's a dog's"
    assert without_apostrophes("''a'' '''b''' '''''c'''''") == "a b c"
    assert without_apostrophes("'''a ''b''''' ''never closed") == "a b never closed"
    assert without_apostrophes("''é''ß'''水'''") == "éß水"


def test_an_elided_article_keeps_its_apostrophe() -> None:
    assert without_apostrophes("l'''Iliade'' et d'''Athènes''") == "l'Iliade et d'Athènes"
    assert without_apostrophes("nell'''Odissea''") == "nell'Odissea"
    assert without_apostrophes("'''A'''s ''b''") == "As b", "bold ends before the plural"
    assert without_apostrophes("ab'''cd''' e") == "abcd e"
    assert without_apostrophes("l'''a\nb''") == "la\nb", "marks end with their line"


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["'", "''", "'''", "a", " ", "\n", "l", "é"]), max_size=40))
def test_only_apostrophes_go(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert without_apostrophes(text).replace("'", "") == text.replace("'", "")


def test_magic_words() -> None:
    assert without_magic_words("__NOTOC__a __FORCETOC__b") == "a b"
    assert without_magic_words("__БЕЗОГЛ__a") == "a"
    assert without_magic_words("__init__ __NOTOC _TOC_ __AB__ __A1B__ ____") == (
        "__init__ __NOTOC _TOC_ __AB__ __A1B__ ____"
    )


def test_signatures() -> None:
    for number in (3, 4, 5):
        assert without_magic_words(f"a {'~' * number} b") == f"a {GONE} b"
    assert without_magic_words("a ~~ b ~ c") == "a ~~ b ~ c"


@pytest.mark.parametrize(
    ("rules", "shown"),
    [
        ("zh-hans:网络; zh-hant:網路;", "网络"),
        ("zh-cn:a b;zh-tw:c", "a b"),
        ("ZH-Hans : x", "x"),
        ("zh:z", "z"),
        ("sr-ec:ћ; sr-el:ć", "ћ"),
        ("plain", "plain"),
        ("A|zh-hans:x; zh-hant:y", "x"),
        ("R|x: y; z", "x: y; z"),
        ("zh-hans;zh-hant|words", "words"),
        ("", ""),
        # A ";" or ":" that no code stands before is part of the words.
        ("a; b", "a; b"),
        ("a&nbsp;b", "a&nbsp;b"),
        ("zh-cn:a&amp;b; c;zh-tw:d", "a&amp;b; c"),
        ("http://x.org/a", "http://x.org/a"),
        ("Chapter: One", "Chapter: One"),
        # Rules for the rest of the page and for the title show nothing.
        ("H|zh-cn:a;zh-tw:b", GONE),
        ("T|zh-cn:a;zh-tw:b", GONE),
        ("-|zh-cn:a", GONE),
        ("T; H | zh-cn:a", GONE),
    ],
)
def test_variants_of_a_script(rules: str, shown: str) -> None:
    assert without_magic_words(f"[-{{{rules}}}-]") == f"[{shown}]"


def test_what_is_no_variant() -> None:
    for text in ("-{", "a -{ b", "}- -{", "-{a{b}-", "{-a-}"):
        assert without_magic_words(text) == text


def test_inline_tags_go_and_their_words_stay() -> None:
    assert without_tags('<b>a</b><SPAN style="x">b</Span >') == "ab"
    assert without_tags("a<wbr/>b<nowiki />c<includeonly>d") == "abcd"
    assert without_tags("<syntaxhighlight lang=x>a</syntaxhighlight>") == "a"


def test_tags_that_break_lines() -> None:
    assert without_tags("a<br>b<br/>c<BR clear=all />d</br>e") == BREAK.join("abcde")
    assert without_tags("a<p>b</p>c") == "a\nb\nc"
    assert without_tags("a<hr/>b") == "a\n\nb"
    assert without_tags("<ul><li>a</li><LI>b</ul>") == "\n\n* a\n* b\n"
    assert without_tags("<h2>a</h2><div class=x>b</div>") == "\na\n\nb\n"


def test_what_is_no_tag_stays() -> None:
    for text in (
        *("a < b > c", "<notatag>", "<b", "<>", "</>", "< b>", "<b<i", "<1>", "<é>", "<bé>"),
        "<abcdefghijklmnopqrstuvwxyz>",
    ):
        assert without_tags(text) == text
    assert without_tags("<b <i>a") == "<b a"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("10<sup>6</sup>", "10^6"),
        ("10<SUP>6</SUP>", "10^6"),
        ("m<sup>-2</sup>", "m^-2"),
        ("s<sup>\u22121</sup>", "s^\u22121"),
        ("(a)<sup>n</sup>", "(a)^n"),
        ("1<sup>st</sup>", "1st"),
        ("a <sup>2</sup>", "a 2"),
        ("<sup>2</sup>", "2"),
        ("x<sup>1234567</sup>", "x1234567"),
        ("x<sup>2", "x2"),
    ],
)
def test_powers(source: str, shown: str) -> None:
    assert without_tags(source) == shown


@pytest.mark.parametrize(
    "piece", ["'''a", "''", "__A", "~", "-{", "-{;", "-{}-", "<", "<b ", "a<sup>", "<a a"]
)
def test_time_is_linear(piece: str) -> None:
    """In linear time."""
    for function in (without_apostrophes, without_magic_words, without_tags):
        check_linear(lambda n, act=function: act(piece * n), DEEP)  # type: ignore[misc]
        assert len(function(piece * DEEP)) <= len(piece) * DEEP


@pytest.mark.parametrize("filling", ["; ", "; zh", " ", "a", ";zh :"])
def test_time_is_linear_inside_a_variant(filling: str) -> None:
    check_linear(lambda n: without_magic_words(f"-{{zh:{filling * n}}}-"), DEEP)
    assert len(without_magic_words(f"-{{zh:{filling * DEEP}}}-")) < len(filling) * DEEP + 9
