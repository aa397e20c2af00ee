from __future__ import annotations

import json
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


def test_settings_of_one(barrow: Callable) -> None:
    code, out, _ = barrow("corpus", "filters", "GopherQuality")
    rows = [line.split(None, 2) for line in out.splitlines()]
    assert code == 0
    assert ["min_words", "50", "words of a text"] in [
        [cell.strip() for cell in row] for row in rows
    ]
    code, _, err = barrow("corpus", "readers", "Wrac")
    assert code == 2
    assert "there is no reader 'Wrac'; did you mean 'Warc'?" in err


def test_all_settings_as_json(barrow: Callable) -> None:
    """Every public reader and filter can be listed, those with required settings too."""
    found = {}
    for part in ("readers", "filters"):
        code, out, _ = barrow("corpus", part, "--json")
        assert code == 0
        found |= {row[part[:-1]]: row["settings"] for row in json.loads(out)}
    assert {row["key"]: row["default"] for row in found["Quality"]}["model"] == "required"
    assert {row["key"]: row["default"] for row in found["Records"]}["text_key"] == '"text"'
    for name, settings in found.items():
        fields = getattr(corpus, name).__dataclass_fields__
        assert [row["key"] for row in settings] == list(fields)
