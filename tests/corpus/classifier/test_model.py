"""The classifier: what it looks at, how it scores, and its file (PILE-8)."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from barrow.corpus.classifier.model import (
    Classifier,
    ClassifierSettings,
    classifier_sha256,
    load_classifier,
    looked_at,
    save_classifier,
)
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import word_hashes
from barrow.errors import ConfigError

SMALL = ClassifierSettings(table_bits=10, first_characters=40, last_characters=15, min_characters=5)
MASK = (1 << 64) - 1


def texts_of(*texts: str) -> Texts:
    return Texts.of_strings(texts, [{}] * len(texts), Scratch())


def random_classifier(settings: ClassifierSettings = SMALL) -> Classifier:
    weights = np.random.default_rng(0).normal(size=1 << settings.table_bits).astype(np.float32)
    return Classifier(settings, weights, 0.25, "")


def finish(value: int) -> int:
    """The finaliser of MurmurHash3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor & MASK
    return value ^ value >> 33


def slow_score(classifier: Classifier, text: str) -> float:
    settings = classifier.settings
    seen = text.replace("\n", " ")[: settings.first_characters]
    if len(seen) <= settings.min_characters:
        return 0.0
    hashes = texts_of(seen[-settings.last_characters :]).words.hashes.tolist()
    if not hashes:
        return 0.0
    features = hashes + [
        finish((a * 0x9E3779B97F4A7C15 + b) & MASK) for a, b in itertools.pairwise(hashes)
    ]
    total = sum(float(classifier.weights[h >> 64 - settings.table_bits]) for h in features)
    return 1 / (1 + math.exp(-(classifier.bias + total / math.sqrt(len(features)))))


@given(st.lists(st.text("abc \né日🙂.-", max_size=70), min_size=1, max_size=5))
def test_scores_are_those_of_the_definition(texts: list[str]) -> None:
    classifier = random_classifier()
    scores = classifier.scores(texts_of(*texts))
    assert scores.tolist() == pytest.approx([slow_score(classifier, t) for t in texts], abs=1e-6)


@given(st.lists(st.text("ab \n日🙂", max_size=90), min_size=1, max_size=4), st.integers(1, 30))
def test_what_is_looked_at(texts: list[str], last: int) -> None:
    settings = ClassifierSettings(first_characters=33, last_characters=last, min_characters=7)
    found = looked_at(texts_of(*texts), settings)
    for i, text in enumerate(texts):
        expected = texts_of(text[:33][-last:])
        words = word_hashes(expected.text, expected.offsets, Scratch())
        assert found.hashes[found.offsets[i] : found.offsets[i + 1]].tolist() == (
            words.hashes.tolist()
        )
        assert found.enough[i] == (len(text) > 7)


def test_the_defaults_are_those_of_the_pile() -> None:
    text = "a " * 1250 + "b " * 750 + "c " * 1000
    settings = ClassifierSettings()
    (b,) = set(texts_of("b").words.hashes.tolist())
    found = looked_at(texts_of(text), settings)
    assert found.hashes.tolist() == [b] * 750
    assert looked_at(texts_of("x" * 100, "x" * 101), settings).enough.tolist() == [False, True]


def test_the_shared_words_stay_valid() -> None:
    texts = texts_of("one two three four " * 20, "five six " * 30)
    before = texts.words.hashes.tolist()
    random_classifier().scores(texts)
    assert texts.words.hashes.tolist() == before


def test_files(tmp_path: Path) -> None:
    made = random_classifier()
    path = tmp_path / "model.safetensors"
    saved = save_classifier(path, made.settings, made.weights, made.bias)
    loaded = load_classifier(path)
    assert loaded.settings == saved.settings == SMALL
    assert loaded.bias == 0.25
    assert (loaded.weights == made.weights).all()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert saved.sha256 == loaded.sha256 == classifier_sha256(path) == digest
    again = tmp_path / "again.safetensors"
    save_classifier(again, made.settings, made.weights, made.bias)
    assert again.read_bytes() == path.read_bytes()
    assert list(tmp_path.iterdir()) == [path, again] or len(list(tmp_path.iterdir())) == 2
    assert set(load_file(path)) == {"weights", "bias"}
    save_classifier(path, made.settings, made.weights + 1, made.bias)
    assert load_classifier(path).weights[0] == made.weights[0] + 1


SETTINGS = {"barrow.classifier": json.dumps({"table_bits": 10})}


@pytest.mark.parametrize(
    ("tensors", "metadata"),
    [
        ({"weights": np.zeros(1024, np.float32)}, SETTINGS),
        ({"weights": np.zeros(99, np.float32), "bias": np.zeros(1, np.float32)}, SETTINGS),
        ({"weights": np.zeros(1024, np.float64), "bias": np.zeros(1, np.float32)}, SETTINGS),
        ({"weights": np.full(1024, np.nan, np.float32), "bias": np.zeros(1, np.float32)}, SETTINGS),
        ({"weights": np.zeros(1024, np.float32), "bias": np.zeros(1, np.float32)}, {}),
        (
            {"weights": np.zeros(1024, np.float32), "bias": np.zeros(1, np.float32)},
            {"barrow.classifier": '{"bits": 10}'},
        ),
    ],
)
def test_other_files_are_refused(
    tmp_path: Path, tensors: dict[str, np.ndarray], metadata: dict[str, str]
) -> None:
    path = tmp_path / "model.safetensors"
    save_file(tensors, path, metadata)
    with pytest.raises(
        ConfigError, match=r"model\.safetensors is not a classifier .*train one with"
    ):
        load_classifier(path)


def test_what_is_not_safetensors_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    for data in (b"", b"hello", b"\xff" * 100):
        path.write_bytes(data)
        with pytest.raises(ConfigError, match="is not a classifier"):
            load_classifier(path)


def test_settings_are_checked() -> None:
    for wrong in ({"table_bits": 40}, {"last_characters": 0}, {"min_characters": -1}):
        with pytest.raises(ConfigError):
            ClassifierSettings(**wrong)


@pytest.mark.parametrize("text", ["a" * 300_000, "日" * 99_999, "a b " * 99_999, "." * 99_999])
def test_strange_texts(text: str) -> None:
    (score,) = random_classifier(ClassifierSettings(table_bits=10)).scores(texts_of(text))
    assert 0 <= score <= 1
