from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from barrow import Document, archive
from barrow.engine import Engine
from barrow.errors import ConfigError, StoreError
from barrow.stream import Stream
from barrow.tokens import tokenize, train
from barrow.train import Run
from barrow.train.tasks.token_data import TokenData, token_data, validation_data, vocab_size_of


@pytest.fixture
def stream(run: Run) -> Stream:
    return Stream(run.data.open(run.store))


def test_a_run_needs_a_store(run: Run) -> None:
    assert vocab_size_of(run) == 259
    with pytest.raises(ConfigError, match="--store FOLDER"):
        token_data(replace(run, store=""), vocab_size=259)


def test_identity_is_of_contents(run: Run, validation: Path, tmp_path: Path) -> None:
    def identity(store: str | Path) -> str:
        return token_data(replace(run, store=str(store)), vocab_size=259).identity

    shutil.copytree(run.store, tmp_path / "moved")
    assert identity(tmp_path / "moved") == identity(run.store)
    assert identity(validation) != identity(run.store)


def test_a_model_learns_to_end_a_document_with_what_begins_the_next(stream: Stream) -> None:
    """And so `generate` and exported models stop there."""
    store, batch = stream.data.store, stream.batch(0)
    assert (store.begin, store.end) == (256, None)
    assert (batch.targets[batch.mask != 0] == 256).any()
    assert TokenData(stream, 259).about()["end"] == 256


def test_a_step_in_words(stream: Stream) -> None:
    seen = stream.explain(2)
    lines = TokenData(stream, 259).describe(2)
    assert len(lines) == len(seen) >= 8
    assert lines[0] == str(seen[0])


def test_ids_over_the_vocabulary_are_named(stream: Stream) -> None:
    """The place is that in the global batch, whichever part of it was read."""
    whole = stream.batch(1)
    row, column = (int(n) for n in np.argwhere(whole.tokens == 256)[-1])
    with pytest.raises(ValueError, match="vocabulary has 256 ids") as error:
        TokenData(stream, 256).batch(1, rows=slice(row, row + 1), columns=slice(column, 16))
    words = str(error.value)
    inside = [s for s in stream.explain(1, row=row) if s.column == column]
    name = str(inside[0]).removeprefix(f"row {row}: ")
    assert words.startswith(f"step 1, row {row}, column {column} ({name}) has id 256")
    assert "set model.vocab_size=259" in words
    assert inside[0].identity in words


def test_targets_are_looked_at_where_they_count(stream: Stream) -> None:
    """A document's last token is followed by the begin of the next, 256, in no row's tokens."""
    for step in range(50):
        batch = stream.batch(step)
        for row in range(8):
            if 256 not in batch.tokens[row] and 256 in batch.targets[row][batch.mask[row]]:
                with pytest.raises(ValueError, match=f"row {row}, .* is followed by id 256"):
                    TokenData(stream, 256).batch(step, rows=slice(row, row + 1))
                return
    raise AssertionError("no such row")


def test_good_ids_pass(stream: Stream) -> None:
    checked = TokenData(stream, 257)
    assert checked.shape(0) == (8, 16)
    np.testing.assert_array_equal(checked.batch(0).tokens, stream.batch(0).tokens)


def test_no_store_no_stream(run: Run) -> None:
    assert validation_data(run, token_data(run, vocab_size=259)) is None


def test_the_batches_are_always_the_same(run: Run, validation: Path) -> None:
    run = replace(run, validation=str(validation))
    one, other = (validation_data(run, token_data(run, vocab_size=259)) for _ in range(2))
    assert one is not None
    assert other is not None
    np.testing.assert_array_equal(one.batch(1).tokens, other.batch(1).tokens)
    assert one.stream.data.store.folder == validation


def test_another_tokenizer_is_refused(run: Run, tmp_path: Path) -> None:
    with archive.Writer(tmp_path / "archive") as writer:
        writer.add(Document("stones and carts", {"pile_set_name": "A"}))
    other = train(["stones and carts, stones and carts"], vocab_size=260)
    tokenize(
        tmp_path / "archive", tokenizer=other, out=tmp_path / "store", engine=Engine("local", 0)
    )
    with pytest.raises(StoreError, match="tokenize both with the same"):
        validation_data(
            replace(run, validation=str(tmp_path / "store")), token_data(run, vocab_size=259)
        )
