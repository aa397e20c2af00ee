from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Reference
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from barrow.errors import TokenizerError
from barrow.tokens import JsonTokenizer
from barrow.tokens.token_bytes import token_bytes
from barrow.tokens.tokenizer_json import check, parse

LONE = [f"<0x{byte:02X}>" for byte in range(256)]


def as_llama(*, metaspace: str | None) -> JsonTokenizer:
    """A tokenizer as Llama's is: with normalizers, or in the newer files with Metaspace."""
    library = Reference(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    if metaspace is None:
        library.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
    else:
        library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=metaspace, split=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<unk>", "<s>", "</s>", *LONE],
        initial_alphabet=list("abdehmnorstu▁"),
        show_progress=False,
    )
    library.train_from_iterator(["the mound and the barrow on the mound"] * 3, trainer)
    data = parse(library.to_str(), "x").data
    kept = [token for token in data["added_tokens"] if token["id"] < 3]
    return JsonTokenizer(check({**data, "added_tokens": kept}, "x"))


@pytest.fixture(scope="module")
def llama() -> JsonTokenizer:
    return as_llama(metaspace=None)


def test_pieces_spaces_and_lone_bytes(llama: JsonTokenizer) -> None:
    assert [llama.token_bytes(i) for i in range(4)] == [b"", b"", b"", b"\x00"]
    assert llama.token_bytes(3 + 0x0A) == b"\n"
    assert llama.token_bytes(3 + 0xFF) == b"\xff"
    table = {llama.token_bytes(i) for i in range(259, llama.vocab_size)}
    assert {b" and", b" ", b"b"} <= table


@given(text=st.text(st.characters(exclude_characters="▁", codec="utf-8")))
def test_text_comes_back(llama: JsonTokenizer, text: str) -> None:
    """The bytes of ids add up to the text and the space that is put before it."""
    ids = llama.encode(text)
    assert llama.decode(ids) == text
    assert llama.num_bytes[ids].sum() == len(text.encode()) + bool(text)


def test_metaspace(llama: JsonTokenizer) -> None:
    always, never = as_llama(metaspace="always"), as_llama(metaspace="never")
    for text in ("the mound", "and\n\nthe x日"):
        assert always.encode(text).tolist() == llama.encode(text).tolist()
        assert always.decode(always.encode(text)) == text
        assert never.decode(never.encode(text)) == text
    assert never.decode(never.encode(" the")) == " the"
    # Of a file from before there were schemes.
    old = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}
    file = check({**always._file.data, "pre_tokenizer": old}, "x")
    assert token_bytes(file).space_first
    file = check({**always._file.data, "pre_tokenizer": {**old, "add_prefix_space": False}}, "x")
    assert not token_bytes(file).space_first


def test_byte_level_with_a_space_first(trained: JsonTokenizer) -> None:
    cut = {**trained._file.data["pre_tokenizer"], "add_prefix_space": True}
    prefixed = JsonTokenizer(check({**trained._file.data, "pre_tokenizer": cut}, "x"))
    assert prefixed.token_bytes(int(prefixed.encode("the")[0])) == b" the"
    assert prefixed.decode(prefixed.encode("the mound")) == "the mound"


def test_ordinary_added_tokens_are_text(trained: JsonTokenizer) -> None:
    number = trained.vocab_size
    token = {"id": number, "content": "日 X", "special": False, "normalized": False}
    token |= {"single_word": False, "lstrip": False, "rstrip": False}
    data = {**trained._file.data}
    data["added_tokens"] = [*data["added_tokens"], token]
    tokenizer = JsonTokenizer(check(data, "x"))
    assert tokenizer.token_bytes(number) == "日 X".encode()
    assert number in tokenizer.encode("the 日 X mound").tolist()
    assert tokenizer.decode(tokenizer.encode("the 日 X mound")) == "the 日 X mound"


def bpe(**changes: Any) -> dict[str, Any]:
    return {"model": {"type": "BPE", "vocab": {"a": 0, "▁": 1}, "merges": [], **changes}}


def test_plain_pieces_keep_what_looks_like_a_space() -> None:
    assert token_bytes(check(bpe(), "x")).table == (b"a", "▁".encode())
    assert token_bytes(check({**bpe(), "normalizer": None}, "x")).space_first is False
    assert token_bytes(check(bpe(vocab={"<0x41>": 0}), "x")).table == (b"<0x41>",)
    fallback = bpe(vocab={"<0x41>": 0}, byte_fallback=True)
    assert token_bytes(check(fallback, "x")).table == (b"A",)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"model": {"type": "WordPiece", "vocab": {"a": 0}}}, "WordPiece tokens do not record"),
        ({"model": {"type": "WordLevel", "vocab": {"a": 0}}}, "WordLevel tokens do not record"),
        (bpe(end_of_word_suffix="</w>"), "BPE with end_of_word_suffix '</w>' does not record"),
        (bpe(continuing_subword_prefix="@@"), "continuing_subword_prefix '@@'"),
        ({**bpe(), "pre_tokenizer": {"type": "Whitespace"}}, "Whitespace drops what it cuts at"),
        (
            {**bpe(), "pre_tokenizer": {"type": "Split", "behavior": "Removed"}},
            "Split drops what it cuts at",
        ),
    ],
)
def test_kinds_whose_bytes_cannot_be_known(data: Any, words: str) -> None:
    with pytest.raises(TokenizerError, match=words) as caught:
        token_bytes(check(data, "x"))
    assert "use a byte-level or a SentencePiece one" in str(caught.value)


def test_such_kinds_encode_and_decode_all_the_same() -> None:
    """BERT's kind: begin and end are known, bytes are not."""
    library = Reference(
        models.WordPiece({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "bar": 3, "##row": 4})
    )
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.add_special_tokens(["[UNK]", "[CLS]", "[SEP]"])
    tokenizer = JsonTokenizer(parse(library.to_str(), "x"))
    assert tokenizer.encode("barrow bar").tolist() == [3, 4, 3]
    assert tokenizer.decode([1, 3, 4, 3, 2]) == "barrow bar"
    for ask in (lambda: tokenizer.num_bytes, lambda: tokenizer.decode_bytes([3])):
        with pytest.raises(TokenizerError, match="WordPiece"):
            ask()


@pytest.mark.parametrize("scheme", ["first", "always", "never"])
def test_a_space_that_metaspace_puts_first_is_not_in_the_text(scheme: str) -> None:
    """Bits per byte count the bytes of the text, so they must be the text's own."""
    tokenizer = as_llama(metaspace=scheme)
    for text in ("stone cart", "stone", "a  b"):
        assert tokenizer.decode_bytes(tokenizer.encode(text)) == text.encode()


def test_places_in_bytes_at_every_length_of_utf_8() -> None:
    """The first and the last character of one, two, three and four bytes."""
    tokenizer = as_llama(metaspace="never")
    text = "a\x7f\x80b\u07ff\u0800c\uffff\U00010000d\U0010ffff"
    sizes = [len(character.encode()) for character in text]
    assert sizes == [1, 1, 2, 1, 2, 3, 1, 3, 4, 1, 4]
    spans = tokenizer.spans(text)
    assert spans is not None
    expected = [
        (len(text[:first].encode()), len(text[:last].encode()))
        for first, last in tokenizer._found(text).offsets
    ]
    assert spans.tolist() == [list(span) for span in expected]
    assert spans[-1, 1] == sum(sizes)
