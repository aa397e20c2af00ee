from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barrow.corpus.takedown.find import find_taken
from barrow.corpus.takedown.rules import Rules
from barrow.corpus.takedown.texts import TextRule
from barrow.errors import ConfigError


def test_what_is_found(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path)
    found = find_taken(corpus, Rules(domains=("Notes",)))
    assert (found.num_documents, found.num_rejects) == (20, 1)
    assert found.rejects_by_domain == {"Notes": 1}
    assert sum(sum(found.by_domain(s).values()) for s in found.documents) == 20
    assert len(found.examples) == 5
    assert found.copies == 1, "letter 3 has the text of notes"
    assert not found.is_everything
    assert find_taken(corpus, Rules(domains=("Notes", "Letters"))).is_everything
    (letter,) = made.titled(corpus, "letter 3")
    assert find_taken(corpus, Rules(ids=(letter.meta["id"],))).copies == 2
    copies = find_taken(corpus, Rules(ids=(letter.meta["id"],)), and_copies=True)
    assert (copies.num_documents, copies.copies) == (3, 0)
    by_text = find_taken(corpus, Rules(texts=(TextRule.of(letter.text),)))
    assert by_text.ids == copies.ids
    excerpt = find_taken(corpus, Rules(texts=(TextRule.of(made.sentence("bad")),)))
    assert (excerpt.num_documents, excerpt.num_rejects) == (0, 1)
    assert find_taken(corpus, Rules(licences=("CC-BY-4.0",))).num_documents == 10
    assert find_taken(corpus, Rules(licences=("CC",))).num_documents == 0
    with pytest.raises(ConfigError, match="as the corpus names it, got the pattern 'CC-BY-\\*'"):
        find_taken(corpus, Rules(domains=("Notes",), licences=("CC-BY-*",)))
    # Where the index is not enough, documents are looked at: the same is found.
    both = find_taken(corpus, Rules(domains=("Notes",), licences=("none",)))
    assert both.ids == found.ids


def test_copies_that_deduplication_had_removed(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path, dedup=True)
    (kept,) = [d for t in ("letter 3", "again", "the same") for d in made.titled(corpus, t)]
    found = find_taken(corpus, Rules(ids=(kept.meta["id"],)))
    assert (found.num_documents, found.num_rejects, len(found.rejected_copies)) == (1, 2, 2)
    # The id of a reject is an id, too.
    name = sorted(found.rejected_copies)[0]
    assert find_taken(corpus, Rules(ids=(name,))).found == {name}
