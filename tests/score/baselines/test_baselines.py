"""Baselines by name: trained on a train split, kept under its hash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from barrow import Document
from barrow.score.baselines import baselines
from barrow.score.baselines.baselines import is_baseline, open_baseline
from barrow.score.baselines.byte_models import Ngram, Uniform, Unigram

TEXTS = [Document("abc abd"), Document(""), Document("naïve ab")]


@pytest.fixture
def train(write: Callable[..., Path]) -> Path:
    return write(TEXTS, "corpus")


@pytest.mark.parametrize("name", ["uniform", "unigram", "ngram", "ngram:5", "ngram:x"])
def test_names(name: str) -> None:
    assert is_baseline(name)


@pytest.mark.parametrize("name", ["", "xz", "ngram5", "uniforms", "./ngram"])
def test_other_names(name: str) -> None:
    assert not is_baseline(name)


def test_kinds(train: Path) -> None:
    assert isinstance(open_baseline("uniform"), Uniform)
    unigram = open_baseline("unigram", train=train)
    assert isinstance(unigram, Unigram)
    size = sum(len(document.text.encode()) for document in TEXTS)
    assert unigram.info.train_tokens == size
    frequency = np.exp(-unigram.score([b"a"])[0].nats)
    assert frequency == pytest.approx((4 + 0.5) / (size + 128))
    ngram = open_baseline("ngram", train=train)
    assert isinstance(ngram, Ngram)
    assert ngram.info.name == "ngram:5"
    assert ngram.info.about["train"] == str(train)
    assert open_baseline("ngram:5", train=train).info == ngram.info


def test_counts_are_kept_by_the_hash_of_the_text(
    train: Path, tmp_path: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    first = open_baseline("ngram:3", train=train, cache=cache)
    kept = list(cache.iterdir())
    assert len(kept) == 1

    def refuse(*_: object) -> None:
        raise AssertionError("counted again")

    with monkeypatch.context() as patch:
        patch.setattr(baselines, "count_ngrams", refuse)
        again = open_baseline("ngram:3", train=train, cache=cache)
        assert again.info == first.info
        assert again.score([b"abc"])[0].nats == first.score([b"abc"])[0].nats
        for name in ("ngram:2", "unigram"):
            with pytest.raises(AssertionError, match="counted again"):
                open_baseline(name, train=train, cache=cache)
    other = open_baseline("ngram:3", train=write([Document("zzz")], "other"), cache=cache)
    assert other.info.identity != first.info.identity
    assert len(list(cache.iterdir())) == 2


def test_kept_counts_of_another_text_are_not_taken(train: Path, tmp_path: Path) -> None:
    """The file's name has part of the hash; what is in it has all."""
    cache = tmp_path / "cache"
    first = open_baseline("ngram:3", train=train, cache=cache)
    file = next(cache.iterdir())
    data = file.read_bytes()
    digest = first.info.about["train_digest"].encode()
    assert digest in data
    file.write_bytes(data.replace(digest, b"0" * len(digest)))
    assert open_baseline("ngram:3", train=train, cache=cache).info == first.info
    assert file.read_bytes() == data


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ngram:0", "N of ngram:N must be from 1 to 8, as ngram:5, got 'ngram:0'"),
        ("ngram:9", "from 1 to 8"),
        ("ngram:", "from 1 to 8"),
        ("ngram:12", "from 1 to 8"),
        ("unigram:2", "unigram takes no number"),
        ("xz", "uniform, unigram or ngram:N, got 'xz'"),
    ],
)
def test_wrong_names(name: str, words: str, train: Path) -> None:
    with pytest.raises(ValueError, match=words):
        open_baseline(name, train=train)


@pytest.mark.parametrize("name", ["unigram", "ngram:5"])
def test_nothing_to_train_on(name: str, write: Callable[..., Path]) -> None:
    with pytest.raises(ValueError, match=f"{name} needs a train split"):
        open_baseline(name)
    with pytest.raises(ValueError, match=f"has no text to train {name} on"):
        open_baseline(name, train=write([Document("")], "empty"))
