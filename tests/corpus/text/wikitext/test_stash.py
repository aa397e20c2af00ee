"""PILE-1: stretches of a page that are not wikitext."""

from __future__ import annotations

import re
from html.entities import html5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.text.wikitext.marks import BREAK, GONE, STASHED, STASHED_END
from barrow.corpus.text.wikitext.stash import Stash


def there_and_back(source: str) -> str:
    stash = Stash()
    return stash.put_back(stash.take_out(source))


COMMENTS = {
    "": "",
    "a<!-- b -->c": "ac",
    "a<!---->c": "ac",
    "a<!-- b": "a",
    "a<!-- b --": "a",
    "a --> b": "a --> b",
    "<!-- a <!-- b -->c -->d": "c -->d",
    "<!-- <nowiki> -->a</nowiki>": "a</nowiki>",
    "a <!--x--> <!--y--> b": "a   b",
    "a<!--x--> <!--y-->b": "a b",
    # A line of nothing but comments and blanks goes, with its end (Help:Comments; Preprocessor).
    "a\n<!-- x -->\nb": "a\nb",
    "a\n \t<!-- x --> \nb": "a\nb",
    "a\n <!--x--> <!--y--> \nb": "a\nb",
    "a\n<!--x-->\n<!--y-->\nb": "a\nb",
    "a\n<!--x\n\ny-->\n\nb": "a\n\nb",
    "<!--x-->\na": "a",
    # On a line that has something else the end stays.
    "a<!--x-->\nb": "a\nb",
    "a<!--x--><!--y-->\nb": "a\nb",
    "a<!--x--> <!--y-->\n\nb": "a \n\nb",
    "a.<ref>n</ref><!--x-->\n\nb": "a.\n\nb",
    "a <ref/><!--x-->\nb": f"a {GONE}\nb",
    "\n<!--x-->a<!--y-->\nb": "\na\nb",
    "a\n<!--x--> b": "a\n b",
    "a\n <!--x--> b": "a\n  b",
    "a\n<!--x-->": "a\n",
}


@pytest.mark.parametrize("source", COMMENTS)
def test_comments(source: str) -> None:
    assert there_and_back(source) == COMMENTS[source]


DROPPED = {
    "a<ref>n</ref>b": "ab",
    "a <ref>n</ref>": f"a {GONE}",
    "a<ref name=x/>b<ref name='y' />c": "abc",
    'a<ref name="x/y">n</ref>b': "ab",
    "a<REF>n</Ref >b": "ab",
    "(<ref>n</ref>)": f"({GONE})",
    "a<ref>\n{{cite}}<br>\n</ref>b": "ab",
    "a<gallery>\nx\n</gallery><timeline>y</timeline>b": f"a{GONE}b",
    "a<references><ref>n</ref></references>b": "ab",
    "a<section begin=x/>b<templatestyles src=y />": "ab",
    # Nothing closes it: MediaWiki shows the words.
    "a<ref>n": "an",
    "a<ref>n<ref>m</ref>o": "ao",
    "a</ref>b": "a</ref>b",
    "a<reflist>b</reflist>": "a<reflist>b</reflist>",
    "a<ref": "a<ref",
    "a <math> </math> b": f"a {GONE} b",
}


@pytest.mark.parametrize("source", DROPPED)
def test_what_is_dropped(source: str) -> None:
    assert there_and_back(source) == DROPPED[source]


KEPT = {
    "<math>a^2\n  + b</math>": "$a^2 + b$",
    '<math display="block">{{x}}</math>': "${{x}}$",
    "<ce>H2O</ce><chem>CO2</chem>": "$H2O$$CO2$",
    "<nowiki>[[a]] ''b'' <ref>c</ref> &lt;</nowiki>": "[[a]] ''b'' <ref>c</ref> <",
    "<nowiki><nowiki></nowiki>": "<nowiki>",
    "a<nowiki/>b": "ab",
    "<code>[[a]]</code>": "[[a]]",
    "<code><nowiki>{{a}}</nowiki></code>": "{{a}}",
    "<code><NOWIKI />a</code>": "a",
    "a<pre>\n b\n  c \n</pre>d": "a\n\n b\n  c\n\nd",
    "<pre><nowiki>[[a]]</nowiki> &lt;b&gt;</pre>": "\n\n[[a]] <b>\n\n",
    # What is highlighted is shown as it stands, entities included.
    "<syntaxhighlight lang=html>\n&lt;b>&amp;amp;<nowiki>\n</syntaxhighlight>": (
        "\n\n&lt;b>&amp;amp;<nowiki>\n\n"
    ),
    "<source>a && b &c</source>": "\n\na && b &c\n\n",
    "<poem>\na\nb\n\nc</poem>": f"a{BREAK}b{BREAK}{BREAK}c",
    "<poem>a<ref>n</ref>\n<!-- x -->\nb <nowiki>''c''</nowiki></poem>d": f"a{BREAK}b ''c''d",
    "<poem>a<poem>b</poem>c": "abc",
    "<nowiki>a\x00\ufeffb水</nowiki>": "ab水",
}


@pytest.mark.parametrize("source", KEPT)
def test_what_is_kept(source: str) -> None:
    assert there_and_back(source) == KEPT[source]


def test_place_holders_hide_what_they_stand_for() -> None:
    stash = Stash()
    text = stash.take_out("a<nowiki>''b''</nowiki> <math>[[c]]</math> <poem>''d''</poem>")
    assert "b" not in text
    assert "c" not in text
    assert "''d''" in text, "a poem is wikitext"
    assert text.count(STASHED) == text.count(STASHED_END) == 2
    one, two = stash.put("one"), stash.put("two")
    assert stash.put_back(f"{two} {one} {two} &amp;") == "two one two &"


ENTITIES = {
    "&amp;lt;": "&lt;",
    "&eacute;&#233;&#xE9;&#Xe9;": "éééé",
    "&#x1F600;": "\U0001f600",
    "&bogus; &; &#; &#x; & &amp": "&bogus; &; &#; &#x; & &amp",
    # Names are whole: &not; is one, and no part of others.
    "&copyright; &notit; &AMP;": "&copyright; &notit; &",
    # Of what no text may hold nothing is left.
    "a&#13;b&#0;c&#x81;d&#xFEFF;e&#1;f": "ab\ufffdcdef",
    "&#xD800;&#x110000;": "\ufffd\ufffd",
    "&#99999999;": "&#99999999;",
}


@pytest.mark.parametrize("source", ENTITIES)
def test_entities(source: str) -> None:
    assert there_and_back(source) == ENTITIES[source]


def test_all_entities_with_names() -> None:
    for name in html5:
        if name.endswith(";"):
            assert there_and_back(f"&{name}") == html5[name]


PIECES = st.sampled_from(
    [
        *("<ref>", "</ref>", "<ref/>", "<math>", "</math>", "<pre>", "</pre>", "<poem>", "</poem>"),
        *("<nowiki>", "</nowiki>", "<!--", "-->", "<code>", "</code>", "\n", " ", "&lt;", "&", "a"),
        *('<ref name="', ">", '"', "水"),
    ]
)


@settings(max_examples=150)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_whatever_comes(source: str) -> None:
    text = there_and_back(source)
    assert STASHED not in text
    assert STASHED_END not in text
    assert len(text) <= len(source) + 4, "four line ends around code are all that is added"


@settings(max_examples=150)
@given(st.lists(st.sampled_from(["<!--", "-->", "\n", " ", "a", "-", "<ref/>"]), max_size=30))
def test_comments_as_defined(pieces: list[str]) -> None:
    """The slow way: line by line, each with the comments that begin on it."""
    source = "".join(pieces)
    marked = re.sub(r"<!--.*?(?:-->|\Z)", "\0", source, flags=re.DOTALL)
    lines = re.split(r"(?<=\n)", marked)
    own = r"[ \t]*\0[ \t\0]*\n"
    kept = "".join(line for line in lines if not re.fullmatch(own, line)).replace("\0", "")
    assert there_and_back(source).replace(GONE, "") == kept.replace("<ref/>", "")


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "<ref>",
            "</ref>",
            "<ref ",
            '<ref "',
            "<!--",
            "<!---->",
            "<!----> ",
            "\n<!---->",
            "<!--\n",
        ),
        *(
            "\n <!--a--><!--b-->",
            "<poem>",
            "<poem></poem>",
            "<poem><ref></poem>",
            "<math>",
            "&",
            "&a",
        ),
        *("<code><nowiki>", "<pre>a</pre>", " ", "\n", "<nowiki/>"),
    ],
)
def test_time_is_linear(piece: str) -> None:
    """In linear time."""
    assert len(there_and_back(piece * 50)) <= (len(piece) + 1) * 50
    check_linear(lambda n: there_and_back(piece * n), 2_000)


def test_time_is_linear_in_the_depth_of_poems() -> None:
    check_linear(lambda n: there_and_back("<poem>" * n + "a" + "</poem>" * n), 3_000)


def test_very_many_tags_that_nothing_closes() -> None:
    """Linear time: their ends are not looked for anew each time."""
    assert there_and_back("a<ref></r" * 99) == "a</r" * 99
    check_linear(lambda n: there_and_back("a<ref></r" * n), 20_000)
