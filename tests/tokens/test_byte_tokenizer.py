from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Reference

import barrow.tokens
from barrow.tokens import ByteTokenizer


@given(st.text())
def test_lossless(text: str) -> None:
    tokenizer = ByteTokenizer()
    ids = tokenizer.encode(text)
    assert ids.dtype == np.uint32
    assert ids.tolist() == list(text.encode())
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode_bytes(ids) == text.encode()


def test_what_it_is() -> None:
    tokenizer = barrow.tokens.load("bytes")
    assert isinstance(tokenizer, ByteTokenizer)
    assert tokenizer.vocab_size == 259
    assert dict(tokenizer.specials) == {"<|endoftext|>": 256, "<|pad|>": 257, "<|mask|>": 258}
    assert (tokenizer.begin, tokenizer.end) == (256, None)
    assert (tokenizer.pad, tokenizer.mask) == (257, 258)
    assert [tokenizer.token_bytes(i) for i in (0, 97, 255, 256)] == [b"\0", b"a", b"\xff", b""]
    assert tokenizer.num_bytes.tolist() == [1] * 256 + [0] * 3
    assert tokenizer.decode([256, 104, 105, 0xC3, 257]) == "hi\ufffd"
    # Stores remember it: it must not change.
    assert tokenizer.hash == "eeba17d5e18d47456eafda669f084220b95ca30ef76ddc82cc3397de3943858b"


def test_many_texts_in_one_buffer() -> None:
    text = np.frombuffer("xxhé<|pad|>y".encode(), np.uint8)
    ids, starts = ByteTokenizer().encode_texts(text, np.array([2, 5, 5, 12]))
    assert bytes(ids.tolist()) == "hé<|pad|>".encode()
    assert starts.tolist() == [0, 3, 3, 10]
    ids, starts = ByteTokenizer().encode_texts(text, np.array([0]))
    assert (ids.tolist(), starts.tolist()) == ([], [0])


def test_saved_and_loaded_it_is_the_same_here_and_elsewhere(tmp_path: Path) -> None:
    ByteTokenizer().save(tmp_path / "new" / "folder")
    loaded = barrow.tokens.load(tmp_path / "new" / "folder")
    assert isinstance(loaded, ByteTokenizer)
    reference = Reference.from_file(str(tmp_path / "new" / "folder" / "tokenizer.json"))
    text = "naïve 日本\x00 it's"
    assert reference.encode(text).ids == loaded.encode(text).tolist()
    assert reference.encode("<|pad|>").ids == [257]


@pytest.mark.parametrize("ids", [[259], [-1], np.array([5, 1000])])
def test_ids_of_others_are_refused(ids: list[int]) -> None:
    with pytest.raises(ValueError, match="ids must be from 0 to 258, got"):
        ByteTokenizer().decode(ids)
    with pytest.raises(ValueError, match="encoded with another tokenizer"):
        ByteTokenizer().token_bytes(259)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ValueError, match="character 1 is half of a surrogate"):
        ByteTokenizer().encode("a\ud800")


def test_special_tokens_by_name() -> None:
    bytes_ = ByteTokenizer()
    ids = bytes_.encode_marked("é<|mask|>b<|mask")
    assert ids.tolist() == [256, *"é".encode(), 258, *b"b<|mask"]
    assert bytes_.decode_marked(ids) == "<|endoftext|>é<|mask|>b<|mask"
