from __future__ import annotations

from pathlib import Path

import pytest

from barrow import Document, archive
from barrow.engine import Engine
from barrow.stream.store import padding_of, store_tokenizer
from barrow.tokens import Tokenizer, load, open_store, tokenize, train


def made(folder: Path, tokenizer: Tokenizer) -> Path:
    with archive.Writer(folder / "archive") as writer:
        writer.add(Document("stones and carts", {"pile_set_name": "A"}))
    tokenize(
        folder / "archive", tokenizer=tokenizer, out=folder / "store", engine=Engine("local", 0)
    )
    return folder / "store"


def test_the_one_it_was_made_with(tmp_path: Path) -> None:
    store = open_store(made(tmp_path, load("bytes")))
    assert store_tokenizer(store).hash == store.tokenizer_hash
    assert padding_of(store) == 257


def test_one_without_padding_is_refused(tmp_path: Path) -> None:
    store = open_store(made(tmp_path, train(["stones and carts"], vocab_size=258)))
    with pytest.raises(ValueError, match="train … --roberta"):
        padding_of(store)
