from __future__ import annotations

import locale

from barrow.corpus.language.codes import _NAMES, language_of_name, language_of_tag


def test_names_and_tags() -> None:
    assert language_of_name(" German ") == "de"
    assert language_of_name("klingon") == ""
    tags = {"de": "de", "pt-BR": "pt", "zh_Hans": "zh", "en-orig": "en", "xx": "", "text": ""}
    assert {tag: language_of_tag(tag) for tag in tags} == tags


def test_names_are_those_of_the_locales() -> None:
    """Against Python's table of locale names."""
    known = {name: locale.locale_alias[name][:2] for name in _NAMES if name in locale.locale_alias}
    assert len(known) > 20
    assert {name: language_of_name(name) for name in known} == known
