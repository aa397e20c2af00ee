"""The learned quality filter (PILE-8)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from barrow import config
from barrow.corpus.classifier.model import ClassifierSettings, save_classifier
from barrow.corpus.filters.classifier import Quality, pareto_draws
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

SETTINGS = ClassifierSettings(table_bits=10, min_characters=3)
WORDS = [
    "barrow",
    "mound",
    "stone",
    "river",
    "hill",
    "ridge",
    "valley",
    "meadow",
    "lane",
    "wood",
    "path",
    "field",
]
TEXTS = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    weights = np.random.default_rng(3).normal(size=1024).astype(np.float32)
    save_classifier(path, SETTINGS, weights, 0.0)
    return path


def texts_of(texts: list[str], *, ids: bool = True) -> Texts:
    metas = [{"id": f"doc-{i}"} if ids else {} for i in range(len(texts))]
    return Texts.of_strings(texts, metas, Scratch())


def test_threshold(model: Path) -> None:
    quality = Quality(model, sampling="threshold", threshold=0.6)
    texts = texts_of(TEXTS)
    scores = quality.scores(texts)
    decisions = quality.decide(texts)
    assert 0 < decisions.code.sum() < len(TEXTS)
    assert (decisions.code == (scores < 0.6)).all()
    assert (decisions.value[decisions.code == 1] == scores[decisions.code == 1]).all()
    assert quality.reasons == ("low-quality",)
    assert quality.cause("low-quality", 0.25) == "score 0.250, less than 0.6"


def test_pareto_keeps_more_of_what_scores_high(model: Path) -> None:
    quality = Quality(model)
    texts = texts_of(TEXTS)
    scores = quality.scores(texts).astype(float)
    kept = quality.decide(texts).code == 0
    # Expected shares are those of the distribution: (2 − score) ** −3.
    for low, high in ((0.0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.0)):
        part = (scores >= low) & (scores < high)
        expected = ((2 - scores[part]) ** -3).mean()
        assert kept[part].mean() == pytest.approx(expected, abs=0.08)
    assert "its draw was no more than 0.750" in quality.cause("low-quality", 0.25)


def test_draws_are_paretos() -> None:
    texts = texts_of([""] * 20_000)
    for alpha in (3.0, 9.0):
        draws = np.sort(pareto_draws(texts, alpha=alpha, seed=1))
        expected = np.sort(np.random.default_rng(0).pareto(alpha, len(draws)))
        for quantile in (0.1, 0.5, 0.9):
            at = int(quantile * len(draws))
            assert draws[at] == pytest.approx(expected[at], rel=0.08)
        assert draws[0] >= 0


def test_draws_depend_on_seed_and_id_alone() -> None:
    one = pareto_draws(texts_of(["a", "b"]), alpha=3.0, seed=1)
    assert (pareto_draws(texts_of(["x", "y"]), alpha=3.0, seed=1) == one).all()
    assert (pareto_draws(texts_of(["a", "b"]), alpha=3.0, seed=2) != one).all()
    assert one[0] != one[1]
    plain = pareto_draws(texts_of(["a", "b", "a"], ids=False), alpha=3.0, seed=-1)
    assert plain[0] == plain[2] != plain[1]
    uniform = ((xxhash.xxh64(b"doc-0", seed=42).intdigest() >> 11) + 0.5) / 2**53
    (draw,) = pareto_draws(texts_of(["a"]), alpha=3.0, seed=42)
    assert draw == pytest.approx(uniform ** (-1 / 3) - 1) == pytest.approx(0.30157632)


@given(st.lists(st.sampled_from(["", "a b c", *TEXTS[:40]]), min_size=1, max_size=8))
def test_neighbours_make_no_difference(model: Path, texts: list[str]) -> None:
    quality = Quality(model)
    together = quality.decide(texts_of(texts, ids=False))
    for i, text in enumerate(texts):
        alone = quality.decide(texts_of([text], ids=False))
        assert (alone.code[0], alone.value[0]) == (together.code[i], together.value[i])


def test_too_short_a_text_scores_nothing(model: Path) -> None:
    assert Quality(model).scores(texts_of(["", "a b", "..."])).tolist() == [0, 0, 0]


def test_the_model_is_part_of_the_key(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.safetensors"
    path.write_bytes(model.read_bytes())
    quality = Quality(path).resolved()
    assert quality.sha256 is not None
    assert quality.resolved() == quality
    assert config.from_json(Quality, config.to_json(quality)) == quality
    before = quality.decide(texts_of(TEXTS))
    assert (before.code == Quality(path).decide(texts_of(TEXTS)).code).all()
    save_classifier(path, SETTINGS, np.ones(1024, np.float32), 0.0)
    with pytest.raises(ConfigError, match=r"copy\.safetensors has changed"):
        quality.decide(texts_of(TEXTS))
    with pytest.raises(ConfigError, match="has changed"):
        quality.resolved()
    assert replace(quality, sha256=None).resolved().sha256 != quality.sha256


def test_settings_are_checked(model: Path) -> None:
    for wrong in ({"sampling": "half"}, {"alpha": 0.0}, {"threshold": 1.5}):
        with pytest.raises(ConfigError):
            Quality(model, **wrong)
    with pytest.raises(FileNotFoundError):
        Quality(Path("nowhere.safetensors")).decide(texts_of(["a"]))
