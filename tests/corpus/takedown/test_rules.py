from __future__ import annotations

from pathlib import Path

import pytest

from barrow import config
from barrow.corpus.takedown.rules import (
    LIST,
    Matcher,
    Rules,
    TakedownList,
    load_list,
    place_of,
    url_matches,
)
from barrow.corpus.takedown.texts import TextRule, words_scheme
from barrow.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "pattern", "expected"),
    [
        ("https://example.com/a", "https://example.com/a", True),
        ("http://www.Example.com:80/a#b", "https://example.com/a", True),
        ("https://example.com/a/b", "example.com/a", True),
        ("https://example.com/a?b=1", "example.com/a", True),
        ("https://example.com/ab", "example.com/a", False),
        ("https://example.com/A", "example.com/a", False),
        ("https://example.com/a", "example.com/a/", True),
        ("https://example.com/a/b", "example.com/a/", True),
        ("https://example.com", "example.com/", True),
        ("https://sub.example.com/a", "example.com", False),
        ("https://sub.example.com/a", "*.Example.com/*", True),
        ("https://example.com/x/1.pdf", "example.com/*.pdf", True),
        ("https://example.com/x/1.pdf?a", "example.com/*.pdf", False),
        ("https://example.com/aba", "example.com/a*b*a", True),
        ("https://example.com/a", "example.com/a*a", False),
        ("ftp://example.com/a", "example.com/a", False),
        ("ftp://example.com/a", "ftp://example.com/*", True),
        ("", "example.com", False),
    ],
)
def test_addresses(url: str, pattern: str, expected: bool) -> None:
    assert url_matches(url, pattern) is expected


def test_metas() -> None:
    name = "0123456789abcdef-01234567"
    assert Matcher(Rules(ids=(name,))).meta_matches(identity=name)
    assert not Matcher(Rules(ids=(name,))).meta_matches(identity=name[:-1] + "8")
    assert Matcher(Rules(contents=(name[:16],))).meta_matches(identity=name[:-1] + "8")
    assert Matcher(Rules(domains=("A",))).meta_matches(domain="A")
    assert not Matcher(Rules(domains=("A",))).meta_matches(licence="A", url=7)
    assert Matcher(Rules(licences=("A",))).meta_matches(licence="A")
    named = Matcher(Rules(licences=("CC-BY-4.0", "CC-BY-*")))  # names alone, no patterns
    for licence in ("CC-BY", "CC-BY-3.0", "cc-by-4.0", "CC-BY-4.0 OR MIT"):
        assert not named.meta_matches(licence=licence)
    places = Matcher(Rules(places=(place_of("a.tar", "b"),)))
    assert places.meta_matches(source="a.tar", member="b")
    assert not places.meta_matches(source="a.tar", member="")
    assert place_of("a", None) == place_of("a", "")
    texts = Matcher(Rules(texts=(TextRule.of("a secret, kept"),)))
    assert texts.text_matches("it was A SECRET\nkept \ud800 so far")
    assert not texts.text_matches("a secret")


def test_rules_that_make_no_sense() -> None:
    for name in ("", "12", "0123456789ABCDEF-01234567", "0123456789abcdef-0123456"):
        with pytest.raises(ConfigError, match="expected an id"):
            Rules(ids=(name,))
    for kind in ("urls", "domains", "licences"):
        with pytest.raises(ConfigError, match="empty"):
            Rules(**{kind: (" ",)})
    assert not Rules()


def test_lists_grow_and_are_read_back(tmp_path: Path) -> None:
    one, two = Rules(domains=("B",), texts=(TextRule.of("x y"),)), Rules(domains=("A", "B"))
    assert one | two == two | one == Rules(domains=("A", "B"), texts=(TextRule.of("x y"),))
    assert load_list(tmp_path) is None
    told = TakedownList(2, one | two, words_scheme())
    (tmp_path / LIST).write_text(config.to_json(told))
    assert load_list(tmp_path) == told
    (tmp_path / LIST).write_text(config.to_json(told).replace(words_scheme(), "0" * 16))
    with pytest.raises(ConfigError, match="another version"):
        load_list(tmp_path)
