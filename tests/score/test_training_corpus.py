from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barrow import Document, tokens
from barrow.score import ModelInfo, open_corpus
from barrow.score.training_corpus import TrainingCorpus, receipt_or_hint, training_corpus

SHARED = "one two three four five six seven eight nine ten eleven twelve thirteen"


def trained_on(store: object, kind: str = "barrow") -> ModelInfo:
    return ModelInfo("run", kind, "id", about={"run": {"store": str(store)}})


@pytest.fixture
def corpus(write: Callable[..., Path]) -> Path:
    train = [Document(f"before {SHARED} after"), Document("something else")]
    folder = write(train, "corpus", shard_size=60_000)
    write([Document(SHARED), Document("new words")], "corpus/test", shard_size=60_000)
    (folder / "manifest.json").write_text("{}")
    return folder


@pytest.fixture
def store(corpus: Path, tmp_path: Path) -> Path:
    tokens.tokenize(corpus, tokenizer=tokens.load("bytes"), out=tmp_path / "tokens")
    return tmp_path / "tokens"


def test_the_store_of_a_run_knows_its_corpus(corpus: Path, store: Path) -> None:
    assert training_corpus(trained_on(store)) == TrainingCorpus(str(corpus))
    receipt, hint = receipt_or_hint(open_corpus(corpus), trained_on(store), None)
    assert hint is None
    assert receipt is not None
    assert (receipt["documents"], receipt["share"]) == (1, 1.0)
    assert receipt["train"] == str(corpus)


def test_what_is_named_comes_first(corpus: Path, store: Path, write: Callable[..., Path]) -> None:
    other = write([Document("nothing of it")], "other", shard_size=60_000)
    receipt, _ = receipt_or_hint(open_corpus(corpus), trained_on(store), str(other))
    assert receipt is not None
    assert receipt["documents"] == 0


def test_a_corpus_that_changed_or_went_is_not_taken(
    corpus: Path, store: Path, write: Callable[..., Path], tmp_path: Path
) -> None:
    write([Document("all new")], "again", shard_size=60_000)
    kept = corpus.rename(tmp_path / "kept")
    found = training_corpus(trained_on(store))
    assert isinstance(found, str)
    assert "cannot be read" in found
    (tmp_path / "again").rename(corpus)
    found = training_corpus(trained_on(store))
    assert isinstance(found, str)
    assert found.endswith("changed after its token store was made")
    receipt, hint = receipt_or_hint(open_corpus(kept), trained_on(store), None)
    assert receipt is None
    assert hint is not None
    assert hint.startswith("training corpus: ")
    assert hint.endswith("; --train CORPUS counts the overlap with the scored corpus")


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (ModelInfo("x", "barrow", "id"), "it is not known"),
        (ModelInfo("x", "barrow", "id", about={"run": None}), "it is not known"),
        (trained_on(""), "it is not known"),
        (trained_on("gone"), "its token store gone no longer exists"),
    ],
)
def test_unknown(info: Any, words: str) -> None:
    assert training_corpus(info) == words


def test_a_folder_that_is_no_store(corpus: Path) -> None:
    found = training_corpus(trained_on(corpus))
    assert isinstance(found, str)
    assert "is not a token store" in found


def test_nothing_is_said_of_what_has_no_training(corpus: Path) -> None:
    info = ModelInfo("xz", "compressor", "id")
    assert receipt_or_hint(open_corpus(corpus), info, None) == (None, None)
