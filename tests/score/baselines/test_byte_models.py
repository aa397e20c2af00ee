"""Uniform, unigram and n-gram models as scorers (PILE-2)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.score.baselines.test_ngram_counts import block

from barrow.score.baselines.byte_models import Ngram, Uniform, Unigram
from barrow.score.baselines.ngram_counts import count_ngrams
from barrow.score.models.model import Model

TEXTS = [b"", b"abc", "naïve \x00 日本".encode(), b"a" * 1000]


def unigram() -> Unigram:
    return Unigram(np.bincount(np.frombuffer(b"aab", np.uint8), minlength=256))


def ngram() -> Ngram:
    return Ngram(count_ngrams([block(b"abcabc", b"aab")], 3), about={"train": "x"})


@pytest.mark.parametrize("make", [Uniform, unigram, ngram])
def test_bytes_sum_to_the_total(make: type[Model]) -> None:
    for text, score in zip(TEXTS, make().score(TEXTS), strict=True):
        assert score.byte_nats is not None
        assert len(score.byte_nats) == score.tokens == len(text)
        assert score.byte_nats.dtype == np.float64
        assert score.nats == pytest.approx(score.byte_nats.sum(), rel=1e-12, abs=0)


def test_uniform_is_eight_bits() -> None:
    scores = Uniform().score(TEXTS)
    nats, size = sum(score.nats for score in scores), sum(map(len, TEXTS))
    assert nats / (size * math.log(2)) == pytest.approx(8, abs=1e-14)


def test_unigram_adds_half() -> None:
    score = unigram().score([b"abz"])[0]
    expected = [-math.log(n / 131) for n in (2.5, 1.5, 0.5)]
    assert score.byte_nats.tolist() == pytest.approx(expected)
    total = math.fsum(math.exp(-unigram().score([bytes([b])])[0].nats) for b in range(256))
    assert total == pytest.approx(1, abs=1e-13)


def test_what_is_known_of_them() -> None:
    info = ngram().info
    assert (info.name, info.kind, info.train_tokens) == ("ngram:3", "baseline", 9)
    assert info.about == {"train": "x", "ngrams": 7, "dropped": 0}
    assert info.size_bytes == 16 * info.num_params
    assert Uniform().info.num_params == 0
    assert unigram().info.train_tokens == 3


def test_identities_name_what_decides_the_numbers() -> None:
    other = Ngram(count_ngrams([block(b"abcabc", b"aac")], 3))
    again = Ngram(count_ngrams([block(b"aab"), block(b"abcabc")], 3))
    assert ngram().info.identity == again.info.identity != other.info.identity
    assert Unigram(np.zeros(256, np.int64)).info.identity != unigram().info.identity


def test_they_see_the_document_so_far_and_no_other() -> None:
    model = ngram()
    assert (model.likelihood, model.window, model.scope) == ("causal", None, "document")
    alone = [model.score([text])[0].nats for text in TEXTS]
    assert [score.nats for score in model.score(TEXTS)] == alone


def test_wrong_counts() -> None:
    with pytest.raises(ValueError, match=r"expected 256 counts ≥ 0, got shape \(3,\)"):
        Unigram(np.zeros(3, np.int64))
