from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from barrow.models.clip.zero_shot import Floats, classified, ensemble, unit


def test_prompts_are_normalised_averaged_and_normalised_again() -> None:
    """CLIP-10: each embedding, then the mean, against float64 by hand."""
    table = {
        "a cat": [3.0, 0.0],
        "the cat": [0.0, 0.1],
        "a dog": [5.0, 5.0],
        "the dog": [-1.0, 0.0],
    }

    def encode(texts: Sequence[str]) -> Floats:
        return np.array([table[text] for text in texts], np.float32)

    found = ensemble(encode, ["cat", "dog"], ["a {}", "the {}"])
    half = np.sqrt(0.5)
    dog = np.array([(half - 1) / 2, half / 2])
    np.testing.assert_allclose(found, [[half, half], dog / np.linalg.norm(dog)], atol=1e-6)


def test_probabilities_and_order() -> None:
    """CLIP-1."""
    found = classified(np.array([[1.0, 3.0, 2.0], [200.0, 0.0, 0.0]], np.float32), "abc")
    weights = np.exp([1.0, 3.0, 2.0])
    np.testing.assert_allclose(found.probabilities[0], weights / weights.sum(), rtol=1e-6)
    assert [name for name, _, _ in found.top(0, 2)] == ["b", "c"]
    assert found.top(1, 1) == [("a", 1.0, 200.0)]


def test_unit() -> None:
    np.testing.assert_allclose(
        unit(np.array([[3e20, 4e20], [0, 0]], np.float32)), [[0.6, 0.8], [0, 0]]
    )


@pytest.mark.parametrize(
    ("classes", "templates", "words"),
    [
        ([], ["{}"], "list of class names"),
        ("cat", ["{}"], "list of class names, got 'cat'"),
        (["cat", ""], ["{}"], "list of class names"),
        (["cat", "dog", "cat"], ["{}"], "duplicate class 'cat'"),
        (["cat"], [], "list of templates"),
        (["cat"], "{}", "list of templates, got '{}'"),
        (["cat"], ["a photo"], "a template needs {} for the name, got 'a photo'"),
    ],
)
def test_bad_names(classes: Sequence[str], templates: Sequence[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ensemble(lambda texts: np.zeros((len(texts), 2), np.float32), classes, templates)
