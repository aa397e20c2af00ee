"""TensorFlow is installed by the `tf` extra where it has a wheel (Linux on x86-64)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import barrow
from barrow import Document


def test_the_same_documents_in_the_same_order(folder: Path, documents: list[Document]) -> None:
    """PILE-3: TensorFlow, identical first 1,000 documents."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow has no wheel for this platform")
    dataset = barrow.archive.open(folder).tf()
    assert isinstance(dataset, tf.data.Dataset)
    assert dataset.element_spec == {
        "text": tf.TensorSpec((), tf.string),
        "meta": tf.TensorSpec((), tf.string),
    }
    rows = list(dataset.as_numpy_iterator())
    assert [row["text"].decode() for row in rows] == [d.text for d in documents]
    assert [json.loads(row["meta"]) for row in rows] == [d.meta for d in documents]
    assert len(list(dataset.batch(300).as_numpy_iterator())) == 4


def test_without_tensorflow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(barrow.errors.MissingExtra, match=r"'.\[tf\]"):
        barrow.archive.open(folder).tf()
