from __future__ import annotations

import re

from barrow.corpus.filters.boilerplate.phrases import PHRASES


def test_phrases_are_words_and_told_once() -> None:
    assert len({phrase.words for phrase in PHRASES}) == len(PHRASES)
    for phrase in PHRASES:
        assert all(re.fullmatch("[a-z0-9]+", word) for word in phrase.words)
        assert phrase.extra == 0 or len(phrase.words) > 1
