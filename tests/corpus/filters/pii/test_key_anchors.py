"""Long runs wherever they begin, against a regular expression (PILE-8)."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.filters.pii.key_anchors import MIN_KEY, find_keys

RUN = re.compile(rb"[A-Za-z0-9_+/-]{16,}")


def runs(text: str) -> list[tuple[int, int]]:
    data = np.frombuffer(text.encode(), np.uint8)
    found = np.zeros((4, 50), np.int64)
    num = find_keys(data, 0, len(data), 3, 5, False, found, 0)
    assert (found[0, :num] == 3).all()
    assert (found[1, :num] == 5).all()
    return list(zip(found[2, :num].tolist(), found[3, :num].tolist(), strict=True))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(st.text("aB1 =", max_size=40), st.sampled_from(["=" + "a1" * 8, "=" + "b2" * 9])),
        max_size=6,
    ).map("".join)
)
def test_runs_after_an_equals_sign(text: str) -> None:
    data = text.encode()
    expected = [
        match.span()
        for match in RUN.finditer(data)
        if re.search(rb"[^ ]={1}$", data[: match.start()])
        and re.search(rb"\d", match.group())
        and re.search(rb"[A-Za-z]", match.group())
    ]
    got = runs(text)
    assert set(expected) <= set(got)
    assert all(RUN.fullmatch(data[a:b]) for a, b in got)


def test_beginnings() -> None:
    for lead in range(40):
        key = "ghp_" + "a1" * 18
        assert runs(" " * lead + key + " ") == [(lead, lead + len(key))]
        assert runs(" " * lead + "x" + key) == []
    assert runs("ghp_" + "a" * (MIN_KEY - 5)) == []
