from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

from barrow.models.roberta.labelled_rows import Limit
from barrow.stream.labelled.examples import Example
from barrow.train.finetune.predict import Tally, open_finetuned, predictions

TEXTS = ("Paris is the capital", "stone by stone", "fox")


def examples(**more: Any) -> list[Example]:
    return [Example(f"x, line {i + 1}", text, **more) for i, text in enumerate(TEXTS)]


def test_classes(roberta: Any, roberta_folder: Callable[[str], Path]) -> None:
    """ROBERTA-3: the probabilities that transformers gives."""
    opened = open_finetuned(roberta_folder("classify"))
    tally = Tally(opened.kind, opened.labels)
    found = list(predictions(opened, examples(label="bad"), tally=tally))
    assert [one.text for one, _ in found] == list(TEXTS)
    for one, said in found:
        logits = roberta.outputs("classify", one.text)["logits"]
        shares = scipy.special.softmax(logits).tolist()
        assert list(said["scores"]) == ["good", "bad", "neither"]
        assert list(said["scores"].values()) == pytest.approx(shares, abs=1e-4)
        assert said["scores"][said["label"]] == said["score"] == max(said["scores"].values())
    right = np.mean([said["label"] == "bad" for _, said in found])
    assert tally.metrics()["accuracy"] == right
    with pytest.raises(ValueError, match="x, line 1: the label 'odd' is not among the model's"):
        list(predictions(opened, examples(label="odd"), tally=tally))


def test_tags_and_words_that_are_cut(roberta_folder: Callable[[str], Path]) -> None:
    opened = open_finetuned(roberta_folder("tag"))
    words = ("Paris", "is", "the", "capital", "of", "France")
    tally = Tally(opened.kind, opened.labels)
    label = tuple(opened.labels[0] for _ in words)
    ((_, said),) = predictions(
        opened, [Example("x", words=words, label=label)], limit=Limit(7, True), tally=tally
    )
    assert len(said["tags"]) == len(said["scores"]) == 6
    kept = [tag for tag in said["tags"] if tag is not None]
    assert 0 < len(kept) < 6
    assert said["tags"][: len(kept)] == kept
    assert set(kept) <= set(opened.labels)
    assert (tally.num_rows, tally.num_cut, tally.num_judged) == (1, 1, 1)
    assert tally.metrics()["accuracy"] == np.mean([tag == label[0] for tag in kept])


def test_numbers(roberta: Any, roberta_folder: Callable[[str], Path]) -> None:
    opened = open_finetuned(roberta_folder("regress"))
    for one, said in predictions(opened, examples()):
        value = float(roberta.outputs("regress", one.text)["logits"][0])
        assert said == {"value": pytest.approx(value, abs=1e-4)}


def test_a_model_without_a_head(roberta_folder: Callable[[str], Path]) -> None:
    with pytest.raises(ValueError, match="has no classification head: train one"):
        open_finetuned(roberta_folder("mlm"))
