from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barrow.score.projection import project, spread
from barrow.tokens import ByteTokenizer, JsonTokenizer, Tokenizer
from barrow.tokens.tokenizer_json import check


def json_tokenizer(made: tokenizers.Tokenizer) -> Tokenizer:
    import json

    return JsonTokenizer(check(json.loads(made.to_str()), "made here"))


@pytest.fixture(scope="module")
def byte_level() -> Tokenizer:
    """Byte-level BPE: tokens cut characters in two."""
    from tokenizers import decoders, models, pre_tokenizers, trainers

    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=280, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(["the barrow, the mound, the stone 日本"] * 5, trainer)
    return json_tokenizer(made)


@pytest.fixture(scope="module")
def word_piece() -> Tokenizer:
    """Lower case, words only: neither spaces nor capitals can be told from its tokens."""
    from tokenizers import models, normalizers, pre_tokenizers

    words = ["[UNK]", "the", "barrow", "##s", "stone", "é", ","]
    made = tokenizers.Tokenizer(
        models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    )
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return json_tokenizer(made)


@given(text=st.text(max_size=40), seed=st.integers(0, 9))
def test_nats_of_bytes_sum_to_those_of_tokens(byte_level: Any, text: str, seed: int) -> None:
    """Partial UTF-8 tokens too: nothing is decoded on the way."""
    for tokenizer in (ByteTokenizer(), byte_level):
        ids = tokenizer.encode(text)
        nats = np.random.default_rng(seed).random(len(ids))
        found, how = project(text.encode(), ids, nats, tokenizer)
        assert how == "bytes"
        assert len(found) == len(text.encode())
        np.testing.assert_allclose(found.sum(), nats.sum(), rtol=1e-12, atol=1e-12)
        at = 0
        for token, cost in zip(ids.tolist(), nats.tolist(), strict=True):
            size = len(tokenizer.token_bytes(token))
            np.testing.assert_allclose(found[at : at + size], cost / size)
            at += size


def test_a_space_before_every_text_is_no_byte_of_it() -> None:
    from tokenizers import decoders, models, pre_tokenizers

    vocab = {"▁": 0, "a": 1, "▁a": 2, "b": 3}
    made = tokenizers.Tokenizer(models.BPE(vocab, [("▁", "a")]))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = decoders.Metaspace()
    tokenizer = json_tokenizer(made)
    ids = tokenizer.encode("ab a")
    assert ids.tolist() == [2, 3, 2]
    found, how = project(b"ab a", ids, np.array([1.0, 2.0, 4.0]), tokenizer)
    assert how == "bytes"
    assert found.tolist() == [1.0, 2.0, 2.0, 2.0]
    # A first token that is the space alone gives its nats to the next.
    found, _ = project(b"b", tokenizer.encode("b"), np.array([1.0, 2.0]), tokenizer)
    assert found.tolist() == [3.0]


def test_a_tokenizer_that_changes_the_text_is_aligned_by_places(word_piece: Tokenizer) -> None:
    text = "The barrows, É"
    ids = word_piece.encode(text)
    assert len(ids) == 5
    nats = np.array([3.0, 7.0, 1.0, 1.0, 3.0])
    found, how = project(text.encode(), ids, nats, word_piece)
    assert how == "offsets"
    # The | space barrow | s | , | space É (two bytes)
    assert found.tolist() == [1.0] * 3 + [1.0] * 7 + [1.0] + [1.0] + [1.0] * 3


def test_where_nothing_is_known_the_document_has_the_nats(word_piece: Tokenizer) -> None:
    class Mute(ByteTokenizer):
        def decode_bytes(self, ids: Any) -> bytes:
            return b"something else"

    found, how = project(b"abcd", np.array([97, 98]), np.array([1.0, 3.0]), Mute())
    assert how == "document"
    assert found.tolist() == [1.0] * 4
    assert project(b"", np.zeros(0, int), np.zeros(0), Mute())[1] == "bytes"


def test_tokens_without_bytes_give_their_nats_to_a_neighbour() -> None:
    found = spread(np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 2, 1, 0]))
    assert found.tolist() == [1.5, 1.5, 12.0]


@given(
    sizes=st.lists(st.integers(0, 3), min_size=1, max_size=12).filter(any),
    piece=st.integers(1, 5),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_give_what_the_whole_gives(
    sizes: list[int], piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a plain loop: tokens without bytes add to the next that has some, or to the last."""
    monkeypatch.setattr("barrow.score.projection._PIECE", piece)
    nats = [1.0 + 0.5 * k for k in range(len(sizes))]
    held = [k for k, size in enumerate(sizes) if size]
    owned = dict.fromkeys(held, 0.0)
    for k, own in enumerate(nats):
        owned[next((place for place in held if place >= k), held[-1])] += own
    expected = [owned[k] / sizes[k] for k in held for _ in range(sizes[k])]
    found = spread(np.array(nats), np.array(sizes, np.uint32))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
