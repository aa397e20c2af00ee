"""Windows miss nothing that a plain regular expression finds (PILE-8)."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.filters.pii import anchors as anchors
from barrow.corpus.kernels.scratch import Scratch

PATTERNS = {
    anchors.MAIL: re.compile(
        rb"[\w.%+'-]{1,64}@[a-zA-Z0-9][\w-]*\.[a-zA-Z]{2,8}".replace(b"_", b"")
    ),
    anchors.IPV4: re.compile(rb"(?<![\w.,-])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"),
    anchors.NUMBER: re.compile(
        rb"(?<![\w.,(+-])(?:\d{3}-\d{3}-\d{4}|\d{3}-\d\d-\d{4}|\d{4} \d{4} \d{4} \d{4})(?![\w.])"
    ),
}
TEXTS = st.lists(
    st.one_of(
        st.text("0123456789.-@ abG\n(é", max_size=30),
        st.from_regex(
            re.compile(r"[a-z]{1,5}@[a-z]{1,5}\.[a-z]{2,4}|\d{1,3}(\.\d{1,3}){3}"), fullmatch=True
        ),
        st.from_regex(re.compile(r"\d{3}-\d{3}-\d{4}|\d{3}-\d\d-\d{4}"), fullmatch=True),
    ),
    max_size=8,
).map("".join)


def windows_of(text: str) -> list[tuple[int, int, int]]:
    data = np.frombuffer(text.encode(), np.uint8)
    found = anchors.find_windows(data, np.array([0, len(data)], np.int64), Scratch())
    return list(zip(found.kinds.tolist(), found.starts.tolist(), found.stops.tolist(), strict=True))


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_every_match_has_a_window(text: str) -> None:
    windows = windows_of(text)
    for kind, pattern in PATTERNS.items():
        for match in pattern.finditer(text.encode()):
            assert any(
                k == kind and start < match.end() and stop > match.start()
                for k, start, stop in windows
            ), (match, windows)


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, max_size=4), st.integers(0, 9))
def test_windows_of_several_texts(texts: list[str], padding: int) -> None:
    data = [b"7" * padding, *(text.encode() for text in texts), b"@host.org"]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    found = anchors.find_windows(np.frombuffer(b"".join(data), np.uint8), offsets, Scratch())
    have = anchors.have_windows(np.frombuffer(b"".join(data), np.uint8), offsets)
    assert np.flatnonzero(have).tolist() == np.unique(found.documents).tolist()
    for i, text in enumerate(texts):
        mine = found.documents == i + 1
        begin = int(offsets[i + 1])
        alone = list(
            zip(
                found.kinds[mine].tolist(),
                (found.starts[mine] - begin).tolist(),
                (found.stops[mine] - begin).tolist(),
                strict=True,
            )
        )
        assert alone == windows_of(text)
