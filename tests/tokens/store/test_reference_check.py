from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tokens.stores import some_documents, write_archive

import barrow
from barrow.archive import Block
from barrow.errors import StoreError
from barrow.tokens import JsonTokenizer, load
from barrow.tokens.encoders import Fast, make_encoder
from barrow.tokens.store import reference_check
from barrow.tokens.store.reference_check import ReferenceCheck, chosen


@pytest.fixture
def block(archive: Path) -> Block:
    return next(barrow.archive.open(archive).blocks())


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(0, 10**6), st.integers(0, 50))
def test_the_chosen_one_fits(sizes: list[int], number: int, budget: int) -> None:
    i = chosen(np.array(sizes, np.int64), number, budget)
    if i is None:
        assert all(size == 0 or size > budget for size in sizes)
    else:
        assert 0 < sizes[i] <= budget


def test_all_documents_of_a_block_are_chosen_sometime() -> None:
    sizes = np.array([5, 5, 5, 5], np.int64)
    assert {chosen(sizes, number, 9) for number in range(200)} == {0, 1, 2, 3}


def test_agreement_says_nothing(block: Block) -> None:
    tokenizer = load("bytes")
    ids, offsets = tokenizer.encode_texts(block.text, block.offsets)
    ReferenceCheck(tokenizer).look_at(block, ids, offsets)


def test_a_difference_names_the_document(block: Block) -> None:
    """A fast encoder that differs from the reference stops the run."""
    tokenizer = load("bytes")
    ids, offsets = tokenizer.encode_texts(block.text, block.offsets)
    i = chosen(np.diff(block.offsets), block.numbers[0], 1 << 14)
    assert i is not None
    wrong = ids.copy()
    wrong[offsets[i] + 1] += 1
    with pytest.raises(StoreError, match=f"document {i}: the reference gives") as caught:
        ReferenceCheck(tokenizer).look_at(block, wrong, offsets)
    assert "from token 1 on" in str(caught.value)
    assert str(int(wrong[offsets[i] + 1])) in str(caught.value)
    assert caught.value.reason == "differs-from-reference"
    fewer = offsets.copy()
    fewer[i + 1 :] -= 1
    with pytest.raises(StoreError, match="the fast encoder"):
        ReferenceCheck(tokenizer).look_at(block, ids, fewer)


def test_of_much_text_only_a_little_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference_check, "_AT_LEAST", 300)
    monkeypatch.setattr(reference_check, "_SHARE", 512)
    archive = write_archive(tmp_path / "a", some_documents(3000), frame_size=20_000)
    tokenizer = load("bytes")
    asked: list[int] = []

    class Counting(type(tokenizer)):  # type: ignore[misc]
        def encode(self, text: str) -> np.ndarray:
            asked.append(len(text.encode()))
            return super().encode(text)

    check = ReferenceCheck(Counting())
    total = 0
    for block in barrow.archive.open(archive).blocks():
        total += block.num_text_bytes
        check.look_at(block, *tokenizer.encode_texts(block.text, block.offsets))
    assert len(asked) > 3
    assert sum(asked) <= 300 + total // 512


def test_the_reference_is_another_library(
    trained: JsonTokenizer, block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fast library must not be compared with itself."""
    reference = make_encoder(trained._file, fast=False).reference

    class Wrong:
        def encode_batch_flat(self, texts: list[str]) -> tuple[bytes]:
            ids = reference.encode(texts)[0].copy()
            ids[-1:] += 1
            return (ids.tobytes(),)

    monkeypatch.setattr(Fast, "compare", lambda self, texts: None)  # its sample missed the place
    tokenizer = JsonTokenizer(trained._file)
    tokenizer.__dict__["_encoder"] = Fast(Wrong(), reference, "wrong", lambda _: False)
    ids, offsets = tokenizer.encode_texts(block.text, block.offsets)
    with pytest.raises(StoreError, match="The encoder is wrong for this text"):
        ReferenceCheck(tokenizer).look_at(block, ids, offsets)
    assert tokenizer.encode_by_reference("stone").tolist() == trained.encode("stone").tolist()
