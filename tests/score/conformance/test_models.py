from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from barrow.score.conformance.models import (
    BEGIN,
    END,
    RuleModel,
    split_tokenizer,
    uniform_rule,
    witness,
)
from barrow.score.protocol import prefix_token
from barrow.tokens import ByteTokenizer

IDS = st.lists(st.integers(0, 300), min_size=2, max_size=12)


def test_tokens_that_split_characters_and_two_specials() -> None:
    tokenizer = split_tokenizer()
    assert prefix_token(tokenizer, "begin") == ("begin", BEGIN)
    assert prefix_token(tokenizer, "end") == ("end", END)
    pieces = [tokenizer.token_bytes(token) for token in tokenizer.encode("the né 日🙂 ").tolist()]
    assert pieces == [
        *(b"the", b" ", b"n", b"\xc3", b"\xa9 "),
        *(b"\xe6\x97", b"\xa5", b"\xf0", b"\x9f\x99", b"\x82", b" "),
    ]


@given(st.text(max_size=20))
def test_no_text_is_lost(text: str) -> None:
    tokenizer = split_tokenizer()
    assert tokenizer.decode_bytes(tokenizer.encode(text)) == text.encode()


def test_a_rule_is_asked_with_all_that_is_seen() -> None:
    model = RuleModel(ByteTokenizer(), lambda row, i: 100 * row[i] + sum(row[:i]))
    logs = model.log_probs([np.array([1, 2, 4], np.int32), np.array([7], np.int32)])
    assert [own.tolist() for own in logs] == [[-201, -403], []]
    assert model.longest == 3


def test_uniform() -> None:
    assert uniform_rule(8)([1, 2], 1) == math.log(8)


@given(IDS, IDS)
def test_a_witness_knows_rows_apart(one: list[int], other: list[int]) -> None:
    nats = [witness(row, len(row) - 1) for row in (one, other)]
    assert all(0.5 <= value <= 6.5 for value in nats)
    assert (nats[0] == nats[1]) == (one == other)
    # What comes after is not seen.
    assert witness([*one, 5], len(one) - 1) == nats[0]
