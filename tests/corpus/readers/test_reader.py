from __future__ import annotations

import re

from barrow import corpus
from barrow.corpus.readers.reader import EXCERPT, Reader, excerpt


def test_every_reader_has_a_name_and_a_version_of_its_own() -> None:
    """PILE-5: provenance names what extracted a text."""
    offered = (getattr(corpus, name) for name in corpus.__all__)
    readers = [each for each in offered if isinstance(each, type) and Reader in each.mro()[1:]]
    names = [each.extractor for each in readers]
    assert len(names) > 15
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"\w+/\d+", name) for name in names)


def test_excerpts_can_always_be_written() -> None:
    assert excerpt(b"caf\xc3\xa9 \xff") == "café \\xff"
    assert excerpt("a\ud800") == "a\\ud800"
    assert len(excerpt(b"x" * 10_000)) == EXCERPT
