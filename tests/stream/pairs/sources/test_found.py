from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.stream.pairs.sources.found import captions_in, captions_of, record_of


@given(st.lists(st.one_of(st.text(max_size=12), st.integers(), st.none())))
def test_captions_are_words_with_one_blank_between(values: list[object]) -> None:
    found = captions_of(values)
    words = [text.split() for text in values if isinstance(text, str)]
    assert [caption.split(" ") for caption in found] == [some for some in words if some]


@pytest.mark.parametrize(
    ("record", "key", "expected"),
    [
        ({"text": "b", "caption": "a"}, None, ("a",)),
        ({"caption": None, "texts": ["a", "", " b  c "]}, None, ("a", "b c")),
        ({"caption": "a", "says": "b"}, "says", ("b",)),
        ({"caption": "a"}, "says", ()),
        ({"caption": 7}, None, ()),
    ],
)
def test_under_the_first_usual_key_or_the_one_named(
    record: dict[str, object], key: str | None, expected: tuple[str, ...]
) -> None:
    assert captions_in(record, key) == expected


def test_a_record_is_an_object() -> None:
    assert record_of(b'{"a": 1}') == {"a": 1}
    for data in (b"", b"[1]", b"{", b"\xff", b"[" * 100_000):
        assert record_of(data) is None
