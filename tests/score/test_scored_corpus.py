from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow import Document
from barrow.errors import ArchiveError, NotFound, ScoreError
from barrow.score import ScoredCorpus, open_corpus


@pytest.fixture
def corpus(write: Callable[..., Path], tmp_path: Path, few: list[Document]) -> Path:
    """As `barrow build` leaves it: train on top, splits in folders."""
    folder = write(few, "corpus", shard_size=60_000)
    write(few[:3], "corpus/test", shard_size=60_000)
    (folder / "manifest.json").write_text("{}")
    return folder


def test_an_archive_and_plain_documents_give_the_same(
    write: Callable[..., Path], few: list[Document]
) -> None:
    shard = write(few)
    found = list(open_corpus(shard))
    assert found == list(ScoredCorpus("x", None, few))
    assert [text.text.decode() for text in found] == [document.text for document in few]
    assert [text.number for text in found] == list(range(len(few)))
    assert found[4].domain == "B"
    assert str(found[4]) == "document 4 (B, id id-4)"
    assert len(list(open_corpus(shard, limit=2))) == 2


def test_splits(corpus: Path, few: list[Document]) -> None:
    test = open_corpus(corpus)
    assert (test.name, test.split, len(list(test))) == ("corpus", "test", 3)
    assert len(list(open_corpus(corpus, split="train"))) == len(few)
    assert open_corpus(corpus / "test").split is None
    with pytest.raises(NotFound, match="no split 'validation'; it has train, test"):
        open_corpus(corpus, split="validation")


def test_what_has_no_splits(write: Callable[..., Path], few: list[Document]) -> None:
    folder = write(few, "plain", shard_size=60_000)
    assert open_corpus(folder).split is None
    with pytest.raises(NotFound, match="it has no splits: leave out --split"):
        open_corpus(folder, split="test")


def test_a_built_corpus_without_a_test_split_is_not_scored_on_what_it_trains_on(
    corpus: Path,
) -> None:
    (corpus / "test").rename(corpus / "validation")
    with pytest.raises(NotFound, match="no split 'test'; it has train, validation"):
        open_corpus(corpus)


def test_lone_surrogates_are_an_error_that_names_the_document(tmp_path: Path) -> None:
    bad = [Document("good"), Document("b\ud800d", {"pile_set_name": "A", "id": "x-1"})]
    with pytest.raises(ScoreError, match=r"document 1 \(A, id x-1\): character 1 is half"):
        list(ScoredCorpus("x", None, bad))
    file = tmp_path / "bad.jsonl"
    file.write_text(json.dumps({"text": "a"}) + "\n" + '{"text": "b\\ud800d"}\n')
    with pytest.raises(ArchiveError, match="document 1"):
        list(open_corpus(file))


def test_domains_that_are_missing_or_no_strings() -> None:
    texts = list(ScoredCorpus("x", None, [Document("a"), Document("b", {"pile_set_name": 3})]))
    assert [text.domain for text in texts] == ["(none)", "(none)"]
    assert str(texts[0]) == "document 0 ((none))"


def test_a_limit_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="limit must be ≥ 1 document, got 0"):
        ScoredCorpus("x", None, [], 0)
