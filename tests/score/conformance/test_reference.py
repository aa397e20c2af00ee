from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

from barrow.score.card import Window
from barrow.score.conformance.check import barrow_scorer, documents_of, rows
from barrow.score.conformance.models import END, RuleModel, split_tokenizer, witness
from barrow.score.conformance.reference import PREFIXES, bits_per_byte, seen_before, token_nats
from barrow.score.protocol import Protocol
from barrow.score.windows import windows


@st.composite
def some(draw: Any) -> tuple[int, Window]:
    context = draw(st.integers(2, 20))
    stride = draw(st.integers(1, context))
    prefix = draw(st.sampled_from(["begin", "end", "none"]))
    where = draw(st.sampled_from(["every", "first"]))
    return draw(st.integers(0, 70)), Window(context, stride, prefix, where)


@given(some())
def test_each_token_once_with_what_its_window_holds(drawn: tuple[int, Window]) -> None:
    """PILE-2: the definition, token by token, is what `windows` works out."""
    num, window = drawn
    ids = list(range(num))
    prefix = PREFIXES[window.prefix]
    found = windows(num, window)
    seen: list[list[int] | None] = [None] * found.num_unseen
    for k in range(len(found)):
        first = [prefix] if found.prefixed[k] else []
        places = range(found.first[k], found.end[k])
        seen += [first + ids[found.begin[k] : place] for place in places]
    assert seen == [seen_before(ids, place, window) for place in ids]


@given(st.integers(0, 70), st.integers(2, 20))
def test_that_of_the_pile_is_what_lm_eval_sees(num: int, context: int) -> None:
    ids = list(range(num))
    seen = []
    for pair in get_rolling_token_windows(ids, END, context, context_len=1):
        before, charged = make_disjoint_window(pair)
        seen += [before + charged[:i] for i in range(len(charged))]
    window = Window(context, context, "end", "first")
    assert seen == [seen_before(ids, place, window) for place in ids]


TOKENIZER = split_tokenizer()


@given(some(), st.lists(st.text("the né日🙂1 ", max_size=25), min_size=1, max_size=4))
def test_any_context_and_stride_through_the_scorer(
    drawn: tuple[int, Window], texts: list[str]
) -> None:
    """A property of the whole: nats of each document are the reference's."""
    _, window = drawn
    texts = [*texts, "text"]
    protocol = Protocol("custom", window.context, window.stride, window.prefix, window.prefix_in)
    result = barrow_scorer(RuleModel(TOKENIZER, witness), protocol, documents_of(texts))
    size = TOKENIZER.vocab_size
    ids = [TOKENIZER.encode(text).tolist() for text in texts]
    expected = [math.fsum(token_nats(own, window, witness, size)) for own in ids]
    assert rows(result).nats.tolist() == pytest.approx(expected, rel=1e-12)
    assert rows(result).tokens.tolist() == [len(own) for own in ids]


def test_bits() -> None:
    assert bits_per_byte([math.log(2)] * 12, 4) == pytest.approx(3)
