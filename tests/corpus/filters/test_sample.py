"""A share of the documents, the same on every run (PILE-8)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from barrow.config import from_json, to_json
from barrow.corpus.filters.sample import Sample
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

IDS = [f"{random.Random(k).getrandbits(64):016x}-{k:08x}" for k in range(4_000)]


def kept(rules: Sample, ids: list[str] = IDS) -> set[str]:
    texts = Texts.of_strings(["same"] * len(ids), [{"id": i} for i in ids], Scratch())
    return {ids[i] for i in np.flatnonzero(rules.decide(texts).code == 0).tolist()}


def test_the_share_is_kept_and_a_larger_one_contains_it() -> None:
    small, large = kept(Sample(0.1)), kept(Sample(0.5))
    # Four standard deviations of a binomial count.
    assert abs(len(small) - 400) < 4 * 19
    assert abs(len(large) - 2_000) < 4 * 32
    assert small < large
    assert kept(Sample(1.0)) == set(IDS)


def test_the_choice_depends_on_the_id_and_the_seed_alone() -> None:
    chosen = kept(Sample(0.3))
    shuffled = random.Random(0).sample(IDS, len(IDS))
    assert kept(Sample(0.3), shuffled[:1_000]) | kept(Sample(0.3), shuffled[1_000:]) == chosen
    other = kept(Sample(0.3, seed=43))
    assert abs(len(chosen & other) - 360) < 4 * 18, "independent of another seed's"


def test_copies_of_a_text_are_kept_together() -> None:
    ids = [f"{name.partition('-')[0]}-{k:08x}" for name in IDS[:100] for k in range(3)]
    halves = [name.partition("-")[0] for name in kept(Sample(0.5), ids)]
    assert {halves.count(half) for half in halves} == {3}


def test_texts_without_an_id_are_drawn_by_their_content() -> None:
    names = [f"text {k}" for k in range(500)]
    texts = Texts.of_strings(names + names, [{}, {"id": "mine"}] * 500, Scratch())
    code = Sample(0.5).decide(texts).code
    assert code[:500].tolist() == code[500:].tolist()
    assert 150 < code[:500].sum() < 350


def test_in_words() -> None:
    rules = Sample(0.25)
    texts = Texts.of_strings(["same"] * 50, [{"id": i} for i in IDS[:50]], Scratch())
    code, value = rules.decide(texts)
    assert (value[code == 1] >= 0.25).all()
    assert rules.cause("not-sampled", 0.5) == "drew 0.5000, not less than 0.25"
    assert from_json(Sample, to_json(rules)) == rules


@pytest.mark.parametrize("share", [0.0, -0.1, 1.5, float("nan")])
def test_bad_shares(share: float) -> None:
    with pytest.raises(ConfigError, match="share must be > 0 and ≤ 1, got"):
        Sample(share)
