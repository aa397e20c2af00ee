from __future__ import annotations

import numpy as np
import pytest

from barrow.tokens import ByteTokenizer, JsonTokenizer, Tokenizer


def test_it_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Tokenizer()  # type: ignore[abstract]


@pytest.mark.parametrize("name", ["bytes", "trained"])
def test_num_bytes_are_those_of_every_id(name: str, trained: JsonTokenizer) -> None:
    tokenizer = ByteTokenizer() if name == "bytes" else trained
    assert len(tokenizer.num_bytes) == tokenizer.vocab_size
    for token in range(tokenizer.vocab_size):
        assert tokenizer.num_bytes[token] == len(tokenizer.token_bytes(token))
    text = "the naïve mound\x00 日本"
    assert tokenizer.num_bytes[tokenizer.encode(text)].sum() == len(text.encode())


def test_decode_takes_lists_and_arrays_of_any_kind(trained: JsonTokenizer) -> None:
    ids = trained.encode("the barrow")
    for form in (ids, ids.tolist(), tuple(ids.tolist()), ids.astype(np.uint16), ids[None]):
        assert trained.decode(form) == "the barrow"
    assert trained.decode([]) == ""
