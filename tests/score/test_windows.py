from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

from barrow.score.card import Window
from barrow.score.windows import windows

PREFIX = -1


@st.composite
def some(draw: Any) -> tuple[int, Window]:
    context = draw(st.integers(2, 20))
    stride = draw(st.integers(1, context))
    prefix = draw(st.sampled_from(["begin", "end", "none"]))
    where = draw(st.sampled_from(["every", "first"]))
    return draw(st.integers(0, 70)), Window(context, stride, prefix, where)


@given(some())
def test_every_token_is_charged_once_with_as_much_before_it_as_fits(
    drawn: tuple[int, Window],
) -> None:
    """PILE-2: nothing is dropped or counted twice; a model sees `context` tokens at most."""
    num, window = drawn
    found = windows(num, window)
    charged = list(range(found.num_unseen))
    assert found.num_unseen == (1 if window.prefix == "none" and num else 0)
    for k in range(len(found)):
        begin, end, first = (int(x[k]) for x in (found.begin, found.end, found.first))
        charged += range(first, end)
        row = end - begin + int(found.prefixed[k])
        seen = row - 1
        assert 1 <= seen <= window.context
        # Something stands before the first charged token.
        assert first > begin or found.prefixed[k]
        # Nothing more would fit, unless the document begins there.
        assert seen == window.context or begin == 0
        assert found.prefixed[k] == (
            window.prefix != "none" and (k == 0 or window.prefix_in == "every")
        )
        if k:
            assert end - first <= window.stride
    assert charged == list(range(num))


@given(st.integers(0, 70), st.integers(2, 20))
def test_the_protocol_of_the_pile_has_the_windows_of_lm_eval(num: int, context: int) -> None:
    tokens = list(range(num))
    theirs = [
        make_disjoint_window(pair)
        for pair in get_rolling_token_windows(tokens, PREFIX, context, context_len=1)
    ]
    found = windows(num, Window(context, context, "end", "first"))
    ours = []
    for k in range(len(found)):
        row = [PREFIX] * int(found.prefixed[k]) + tokens[found.begin[k] : found.end[k]]
        charged = int(found.end[k] - found.first[k])
        ours.append((row[: len(row) - charged], row[len(row) - charged :]))
    assert ours == theirs


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Window(4, 2, "begin", "every"), [(0, 4, 0, True), (2, 6, 4, True), (3, 7, 6, True)]),
        (Window(4, 4, "end", "first"), [(0, 4, 0, True), (2, 7, 4, False)]),
        (Window(4, 4, "none"), [(0, 5, 1, False), (2, 7, 5, False)]),
    ],
)
def test_windows_of_seven_tokens(window: Window, expected: list[tuple[int, ...]]) -> None:
    found = windows(7, window)
    columns = (found.begin, found.end, found.first, found.prefixed)
    assert list(zip(*(x.tolist() for x in columns), strict=True)) == expected
