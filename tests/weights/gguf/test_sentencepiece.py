"""A vocabulary with scores as tokenizer.json, against the rule that SentencePiece follows."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from barrow.weights.gguf.sentencepiece import added_token, merges_of, scored_pieces_json

BYTES = [f"<0x{i:02X}>" for i in range(256)]
JOINED = ["▁t", "he", "▁the", "in", "er", "ing", "▁a", "the", "▁▁", "an", "▁in", "hen"]
LETTERS = list("▁thearingo")
PIECES = ["<unk>", "<s>", "</s>", *BYTES, *JOINED, *LETTERS]
# As trained: joined pieces by rank, single ones below them, control pieces out of the way.
SCORES = [0.0] * 259 + [-float(i) for i in range(len(JOINED) + len(LETTERS))]


def encode(text: str) -> list[int]:
    """Join the best-scored pair of neighbours, the leftmost of equals, until none is a piece."""
    rank = {piece: number for number, piece in enumerate(PIECES)}
    found: list[str] = []
    for letter in "▁" + text.replace(" ", "▁"):
        found += [letter] if letter in rank else [BYTES[b] for b in letter.encode()]
    while True:
        pairs = [
            (-SCORES[rank[a + b]], i)
            for i, (a, b) in enumerate(itertools.pairwise(found))
            if a + b in rank and a + b not in BYTES
        ]
        if not pairs:
            return [rank[piece] for piece in found]
        _, i = min(pairs)
        found[i : i + 2] = [found[i] + found[i + 1]]


def tokenizer(**options: bool) -> Tokenizer:
    table = scored_pieces_json(PIECES, SCORES, special=[0, 1, 2], unknown=0, **options)
    return Tokenizer.from_str(json.dumps(table))


@given(st.text(alphabet="thearing no\né日", max_size=40).filter(bool))
def test_ids_are_those_of_the_rule(text: str) -> None:
    found = tokenizer()
    assert found.encode(text, add_special_tokens=False).ids == encode(text)
    assert found.decode(found.encode(text).ids) == text


def test_without_the_leading_space() -> None:
    found = tokenizer(leading_space=False)
    assert found.encode("the").tokens == ["the"]
    assert tokenizer().encode("the").tokens == ["▁the"]
    assert found.decode(found.encode(" the").ids) == " the"


def test_special_tokens_are_special() -> None:
    found = tokenizer()
    assert found.token_to_id("<s>") == 1
    assert found.decode([1, *encode("the"), 2], skip_special_tokens=True) == "the"
    assert added_token(5, "x", special=False)["special"] is False


def test_a_text_that_begins_with_a_token() -> None:
    table = scored_pieces_json(PIECES, SCORES, special=[0, 1, 2], unknown=0, begin=1)
    found = Tokenizer.from_str(json.dumps(table))
    assert found.encode("the").ids == [1, *encode("the")]
    assert found.encode("the", add_special_tokens=False).ids == encode("the")


class Counted(dict[str, int]):
    """A vocabulary that counts how often it is asked."""

    asked = 0

    def __contains__(self, piece: object) -> bool:
        self.asked += 1
        return super().__contains__(piece)


def test_a_long_piece_is_not_cut_everywhere() -> None:
    """Cutting a stranger's piece of a million characters at each of them would take minutes."""
    vocab = Counted({"": 0, "a": 1, "ab": 2, "b": 3, "ab" * 5000: 4, "ab" * 4999 + "a": 5})
    found = merges_of(vocab, [0.0] * 6, aside=())
    assert found == [["a", "b"], ["ab" * 4999 + "a", "b"]]
    assert vocab.asked < 20


def test_a_piece_twice() -> None:
    with pytest.raises(ValueError, match="the vocabulary has a duplicate: 'a'"):
        scored_pieces_json(["a", "b", "a"], [0, 0, 0], special=[], unknown=None)
