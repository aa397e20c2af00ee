from __future__ import annotations

from collections.abc import Callable

import barrow.corpus as corpus
from barrow.corpus.readers.reader import Reader


def test_readers_and_filters_are_all_listed(barrow: Callable) -> None:
    """Each with its patterns and a description that no other has."""
    code, out, _ = barrow("corpus", "readers")
    named = {line.split()[0] for line in out.splitlines() if line[:1].strip()}
    own = [getattr(corpus, name) for name in corpus.__all__]
    readers = {one for one in own if Reader in getattr(one, "__mro__", ())[1:]}
    assert (code, named) == (0, {"reader"} | {one.__name__ for one in readers})
    assert "**/*.warc" in out
    assert len({one.__doc__.partition("\n")[0] for one in readers}) == len(readers)
    code, out, _ = barrow("corpus", "filters")
    named = {line.split()[0] for line in out.splitlines() if line[:1].strip()}
    assert code == 0
    assert named >= {"C4", "GopherQuality", "RedactPii", "Repair", "UrlRule", "Language", "Length"}
    assert not named & {"Texts", "Filter", "Decisions", "Rewriter"}
