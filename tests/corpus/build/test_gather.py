from __future__ import annotations

from dataclasses import replace

from barrow.corpus.build.facts import Facts
from barrow.corpus.build.gather import CountedMeta, count_documents, found_languages


def test_documents_are_counted_by_all_that_is_known() -> None:
    """From lines to a shard it is tried in test_scatter_stage.py."""
    metas = [CountedMeta("A", "MIT", "de"), CountedMeta("A", None, None), CountedMeta("B")]
    told = count_documents(metas, [7, 8, 100], [None, "en", None])
    assert told["A"] == {
        "documents": 2,
        "bytes": 15,
        "licence.MIT.documents": 1,
        "licence.MIT.bytes": 7,
        "licence.unknown.documents": 1,
        "licence.unknown.bytes": 8,
        "language.de.documents": 1,
        "language.de.bytes": 7,
        "language.en.documents": 1,
        "language.en.bytes": 8,
        "length.3.documents": 1,
        "length.3.bytes": 7,
        "length.4.documents": 1,
        "length.4.bytes": 8,
    }
    assert told["B"]["length.7.documents"] == 1


def test_languages_that_were_found() -> None:
    facts = replace(Facts.blank(3), languages=["", "en"])
    facts.language[1] = 1
    assert found_languages(facts) == [None, "en", None]
    assert found_languages(Facts.blank(2)) == [None, None]
