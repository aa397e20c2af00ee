"""Lines around an article go, its sentences stay (PILE-8)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.config import from_json, to_json
from barrow.corpus.filters.boilerplate.boilerplate import RULES, DropBoilerplate, boilerplate_rule
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

LINES = {
    "This website uses cookies to improve your experience.": "cookies",
    "We use cookies. By continuing to browse the site you agree to our policy.": "cookies",
    "By continuing to use this site, you consent to our use of cookies.": "cookies",
    "Share this:": "share",
    "Share on Facebook": "share",
    "Subscribe to our newsletter for weekly tips": "subscribe",
    "Subscribe »": "subscribe",
    "Log in or register": "login",
    "You must be logged in to post a comment.": "login",
    "Read more…": "read-more",
    ">> Read more": None,
    "[Continue reading →]": "read-more",
    "Privacy Policy": "terms",
    "Terms of Use | Privacy Policy": "terms",
    "Use of this site constitutes acceptance of our User Agreement.": "terms",
    "Please enable JavaScript to view the comments powered by Disqus.": "javascript",
    "Leave a Reply": "comments",
    "Your email address will not be published. Required fields are marked *": "comments",
    "Skip to main content": "page",
    "ADVERTISEMENT": "page",
    "© 2014 Guardian News and Media Limited.": "copyright",
    "Copyright © 2012 A. N. Author": "copyright",
    "All rights reserved.": "copyright",
    "Copyright 2011 The Associated Press. All rights reserved.": "copyright",
    "  © 1999 Us  ": "copyright",
    "Home | News | Sport | Weather | Contact Us": "navigation",
    "Home › Products › Garden Tools › Spades": "navigation",
    "Home · About · Blog · Contact": "navigation",
}
SENTENCES = [
    "We use cookies and milk to make this dessert.",
    "The site uses cookies, which the court found unlawful.",
    "This site uses cookies",
    "Read more books, said my grandmother.",
    "Share this with your children before bed and they will sleep.",
    "I had to log in to see my marks.",
    "Log in to the server and run the command below.",
    "Subscribe to the theory or not, it holds.",
    "The advertisement was withdrawn.",
    "He said that all rights reserved to the states were listed in the tenth amendment.",
    "Copyright law changed in 1976.",
    "She was 20 | 30 | 40",
    "alpha | beta | gamma | delta",
    "a | b | c || d",
    "| Name | Age | City | Job |",
    "type T = Alpha | Beta | Gamma | Delta",
    "# Copyright (c) 2010 Foo. All rights reserved.",
    "// All rights reserved.",
    "Copyright (c) 1998-2011 The OpenSSL Project.",
    "    Read more",
    "login_or_register()",
    "© is a sign.",
    "",
    "1. Read more",
]


def rewrite(text: str) -> tuple[str, dict[str, int]]:
    done = DropBoilerplate().rewrite(text, {})
    return done.text, dict(done.found)


def touched(*texts: str) -> list[bool]:
    texts_ = Texts.of_strings(texts, [{}] * len(texts), Scratch())
    return list(DropBoilerplate().touches(texts_).tolist())


@pytest.mark.parametrize("line", LINES)
def test_lines(line: str) -> None:
    rule = LINES[line]
    data = line.encode()
    assert boilerplate_rule(data, 0, len(data)) == rule
    if rule:
        assert touched(f"An article.\n{line}\nIt goes on.") == [True]
        assert rewrite(f"An article.\n{line}\nIt goes on.") == (
            "An article.\nIt goes on.",
            {rule: 1},
        )
        assert rewrite(line) == ("", {rule: 1})
        assert rewrite(f"a\n{line}") == ("a\n", {rule: 1})
        assert rewrite(f"a\n\n{line}\n\nb")[0] == "a\n\nb"
        others = tuple(other for other in RULES if other != rule)
        assert DropBoilerplate(others).rewrite(line, {}).text == line
        assert rewrite("x" * 300 + line)[1] == {}


@pytest.mark.parametrize("line", SENTENCES)
def test_sentences_stay(line: str) -> None:
    text = f"An article.\n{line}\nIt goes on."
    assert rewrite(text) == (text, {})


def test_rows_of_tables_stay() -> None:
    table = "Name | Town | Trade | Age\nAnn | Bonn | Baker | Old\nBob | Rome | Cook | Young"
    assert rewrite(table) == (table, {})


def test_long_lines_stay() -> None:
    line = "We use cookies on this site " + "and we explain why " * 20
    assert rewrite(line) == (line, {})


def test_rules() -> None:
    assert from_json(DropBoilerplate, to_json(DropBoilerplate(("page",)))) == DropBoilerplate(
        ("page",)
    )
    with pytest.raises(ConfigError, match="cookies, share"):
        DropBoilerplate(("x",))


SOME = st.lists(st.sampled_from([*LINES, *SENTENCES, "é", "日本 | x", "reserved"]), max_size=6)


@settings(max_examples=150, deadline=None)
@given(st.lists(SOME.map("\n".join), max_size=4))
def test_neighbours_in_the_buffer_make_no_difference(texts: list[str]) -> None:
    together = touched(*texts)
    for i, text in enumerate(texts):
        assert together[i] == touched(text)[0]
        mended, found = rewrite(text)
        assert together[i] or not found
        assert (mended == text) == (not found)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=200), st.text("|A ·\n©c", max_size=80)))
def test_any_text(text: str) -> None:
    mended, found = rewrite(text)
    kept = mended.split("\n")
    assert all(line in text for line in kept)
    assert len(text.split("\n")) >= len(kept)
    assert set(found) <= set(RULES)
