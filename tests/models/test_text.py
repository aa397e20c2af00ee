from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import barrow.tokens
from barrow.errors import NotFound
from barrow.models.text import open_tokenizer, prompt_tokens, text_pieces
from barrow.tokens import ByteTokenizer

BYTES = ByteTokenizer()


@given(st.text(max_size=40), st.lists(st.integers(1, 3), max_size=60))
def test_characters_wait_for_their_last_byte(text: str, cuts: list[int]) -> None:
    ids = BYTES.encode(text).tolist()
    pieces, at = [], 0
    for cut in cuts:
        pieces.append(ids[at : at + cut])
        at += cut
    shown = list(text_pieces(BYTES, [*pieces, ids[at:]], prompt=[]))
    assert "".join(shown) == text
    assert all(shown)


def test_half_a_character_at_the_end_is_shown_as_such() -> None:
    assert list(text_pieces(BYTES, [[0x41, 0xE2], [0x82]], prompt=[])) == ["A", "\ufffd"]


def test_special_tokens_have_no_text() -> None:
    assert BYTES.begin is not None
    assert "".join(text_pieces(BYTES, [[65, BYTES.begin, 66]], prompt=[])) == "AB"


def test_the_space_before_every_text_is_not_written(tmp_path: Path) -> None:
    """As llama2.c's own program: of the piece after the begin token, one space is removed."""
    pieces = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(b"<0x%02X>" % byte for byte in range(256))]
    pieces += [b" ", b"a", b" a", b"  "]
    head = struct.pack("<i", 8)
    file = tmp_path / "tokenizer.bin"
    file.write_bytes(head + b"".join(struct.pack("<fi", 0, len(p)) + p for p in pieces))
    tokenizer = open_tokenizer(file)
    space, a, blank_a, blanks = range(259, 263)

    def written(*pieces: list[int], prompt: list[int]) -> str:
        return "".join(text_pieces(tokenizer, pieces, prompt=prompt))

    assert written([blank_a], [blank_a], prompt=[1]) == "a a"
    assert written([blanks, a], prompt=[1]) == " a"
    assert written([2], [space], [blank_a], prompt=[]) == " a"
    assert written([blank_a], prompt=[1, blank_a]) == " a"


def test_a_prompt_begins_a_document() -> None:
    assert prompt_tokens(BYTES, "ab") == [BYTES.begin, 97, 98]
    assert prompt_tokens(BYTES, "ab", begin=False) == [97, 98]
    assert prompt_tokens(BYTES, "") == [BYTES.begin]
    with pytest.raises(ValueError, match="empty, and without the begin token there is nothing"):
        prompt_tokens(BYTES, "", begin=False)


def plain_tokenizer() -> dict[str, object]:
    """A tokenizer.json with no special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made = Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(alphabet))}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    found: dict[str, object] = json.loads(made.to_str())
    return found


def test_without_a_begin_token_an_empty_prompt_is_an_error(tmp_path: Path) -> None:
    contents = plain_tokenizer()
    tokenizer = open_tokenizer(contents)
    assert tokenizer.begin is None
    assert len(prompt_tokens(tokenizer, "ab")) == 2
    with pytest.raises(ValueError, match="the prompt is empty.*the tokenizer has no begin token"):
        prompt_tokens(tokenizer, "")
    (tmp_path / "tokenizer.json").write_text(json.dumps(contents))
    assert open_tokenizer(tmp_path).hash == tokenizer.hash
    assert barrow.tokens.load(tmp_path).hash == tokenizer.hash


def test_a_model_without_tokenizer() -> None:
    with pytest.raises(NotFound, match="the model has no tokenizer beside it"):
        open_tokenizer(None)
