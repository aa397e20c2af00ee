from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

import barrow.tokens
from barrow.errors import TokenizerError
from barrow.tokens import JsonTokenizer


@given(text=st.text())
def test_lossless(trained: JsonTokenizer, text: str) -> None:
    ids = trained.encode(text)
    assert ids.dtype == np.uint32
    assert trained.decode(ids) == text
    assert trained.decode_bytes(ids) == text.encode()
    assert b"".join(map(trained.token_bytes, ids.tolist())) == text.encode()


def test_strange_texts_come_back(trained: JsonTokenizer, encoder: bool, strange: list[str]) -> None:
    tokenizer = JsonTokenizer(trained._file, fast=encoder)
    data = "".join(strange).encode()
    offsets = np.cumsum([0, *(len(text.encode()) for text in strange)])
    ids, starts = tokenizer.encode_texts(np.frombuffer(data, np.uint8), offsets)
    for number, text in enumerate(strange):
        part = ids[starts[number] : starts[number + 1]]
        assert tokenizer.decode(part) == text
        assert part.tolist() == tokenizer.encode(text).tolist()


def test_special_tokens_are_never_found_in_a_text(trained: JsonTokenizer, encoder: bool) -> None:
    tokenizer = JsonTokenizer(trained._file, fast=encoder)
    assert dict(tokenizer.specials) == {"<|endoftext|>": tokenizer.begin}
    ids = tokenizer.encode("a<|endoftext|>b")
    assert tokenizer.begin not in ids
    assert tokenizer.token_bytes(tokenizer.vocab_size - 1) == b""
    assert tokenizer.decode([tokenizer.begin, *ids.tolist(), tokenizer.begin]) == "a<|endoftext|>b"


def test_a_part_of_a_buffer_and_bad_utf8(trained: JsonTokenizer) -> None:
    text = np.frombuffer(b"xxthe mound\xff", np.uint8)
    ids, starts = trained.encode_texts(text, np.array([2, 5, 11]))
    assert ids.tolist() == [*trained.encode("the").tolist(), *trained.encode(" mound").tolist()]
    assert starts.tolist()[0] == 0
    ids, starts = trained.encode_texts(text, np.array([2]))
    assert (ids.tolist(), starts.tolist()) == ([], [0])
    with pytest.raises(ValueError, match="text 1 is not UTF-8: .*0xff"):
        trained.encode_texts(text, np.array([2, 5, 12]))
    every_second = np.frombuffer(b"t_h_e_", np.uint8)[::2]
    assert trained.decode(trained.encode_texts(every_second, np.array([0, 3]))[0]) == "the"


def test_half_a_character_is_replaced(trained: JsonTokenizer) -> None:
    assert trained.decode_bytes([0xE6, 0x97]) == b"\xe6\x97"
    assert trained.decode([0xE6, 0x97, ord("a")]) == "\ufffda"


def test_ids_of_others_are_refused(trained: JsonTokenizer) -> None:
    for ask in (trained.decode, trained.decode_bytes):
        with pytest.raises(ValueError, match=f"ids must be from 0 to {trained.vocab_size - 1}"):
            ask([trained.vocab_size])
    with pytest.raises(ValueError, match="got -1"):
        trained.token_bytes(-1)


def test_saved_and_loaded_it_is_the_same(
    trained: JsonTokenizer, tmp_path: Path, strange: list[str]
) -> None:
    trained.save(tmp_path / "t")
    loaded = barrow.tokens.load(tmp_path / "t")
    assert loaded.hash == trained.hash
    assert (loaded.begin, loaded.end, loaded.pad) == (trained.begin, None, None)
    loaded.save(tmp_path / "again")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "t" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    reference = AutoTokenizer.from_pretrained(tmp_path / "t")
    assert reference.bos_token_id == trained.begin
    for text in strange:
        expected = reference.encode(text, add_special_tokens=False, split_special_tokens=True)
        assert trained.encode(text).tolist() == expected


def test_settings_of_others_are_kept(trained: JsonTokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "x", "bos_token": null}')
    loaded = barrow.tokens.load(tmp_path)
    assert loaded.begin == trained.begin
    loaded.save(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert settings["chat_template"] == "x"
    assert settings["bos_token"] == "<|endoftext|>"


def test_special_tokens_by_name(trained: JsonTokenizer) -> None:
    name, number = next(iter(trained.specials.items()))
    ids = trained.encode_marked(f"a {name}b").tolist()
    before = [] if trained.begin is None else [trained.begin]
    after = [] if trained.end is None else [trained.end]
    inside = [*trained.encode("a "), number, *trained.encode("b")]
    assert ids == [*before, *inside, *after]
    assert trained.decode_marked(inside) == f"a {name}b"


def test_spans_are_places_in_the_bytes(trained: JsonTokenizer) -> None:
    """A token that is part of a character has the place of the whole character."""
    text = "né 日🙂 x"
    spans = trained.spans(text)
    assert spans is not None
    data = text.encode()
    ids = trained.encode(text).tolist()
    assert len(spans) == len(ids)
    for token, (start, stop) in zip(ids, spans.tolist(), strict=True):
        assert trained.token_bytes(token) in data[start:stop]
        data[start:stop].decode()
    assert spans[0, 0] == 0
    assert spans[-1, 1] == len(data)
    none = trained.spans("")
    assert none is not None
    assert none.shape == (0, 2)


def test_spans_after_the_first_character_of_each_size(trained: JsonTokenizer) -> None:
    """U+0080, U+0800 and U+10000 are the first with two, three and four bytes in UTF-8."""
    for text in ("\x7fx", "\x80x", "\u07ffx", "\u0800x", "\uffffx", "\U00010000x"):
        spans = trained.spans(text)
        assert spans is not None
        size = len(text.encode())
        assert spans[-1].tolist() == [size - 1, size]


def test_a_pattern_without_end_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    """The library panics, which is no Exception."""
    split = {"type": "Split", "pattern": {"Regex": "(a|aa|a?a)+$"}, "behavior": "Isolated"}
    contents = {
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
        "pre_tokenizer": {**split, "invert": False},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(contents))
    found = barrow.tokens.load(tmp_path)
    assert found.encode("aab").tolist() == [0, 0, 1]
    text = "a" * 100 + "b"
    for encode in (found.encode, found.encode_by_reference, found.encode_marked, found.spans):
        with pytest.raises(TokenizerError, match=r"tokenizer\.json: the tokenizers library failed"):
            encode(text)
