"""PILE-3: one archive, the same documents in every framework."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import barrow
from barrow import Document
from barrow.errors import MissingExtra

NUMBER = 1000


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> barrow.archive.Archive:
    folder: Path = tmp_path_factory.mktemp("views") / "archive"
    with barrow.archive.Writer(folder, shard_size=20_000, frame_size=3000) as writer:
        for n in range(NUMBER + 100):
            text = "na\u00efve \U0001f642 stone " * (n % 7) + f"number {n}"
            writer.add(Document(text, {"id": n, "pile_set_name": "AB"[n % 2]}))
    return barrow.archive.open(folder)


def test_the_same_first_documents_everywhere(archive: barrow.archive.Archive) -> None:
    first = list(itertools.islice(archive, NUMBER))
    wanted = [(one.text, one.meta) for one in first]
    views = {
        "numpy": [(bytes(text).decode(), meta) for text, meta in _first(archive.numpy())],
        "jax": [(bytes(np.asarray(text)).decode(), meta) for text, meta in _first(archive.jax())],
        "torch": [(one["text"], one["meta"]) for one in _first(archive.torch())],
        "tf": [
            (one["text"].decode(), json.loads(one["meta"]))
            for one in _first(archive.tf().as_numpy_iterator())
        ],
        "datasets": [(one["text"], one["meta"]) for one in _first(archive.huggingface())],
    }
    for name, found in views.items():
        assert len(found) == NUMBER
        assert found == wanted, name


def test_arrays_are_of_jax(archive: barrow.archive.Archive) -> None:
    text, _ = next(archive.jax())
    assert isinstance(text, jax.Array)
    assert text.dtype == np.uint8


def test_without_jax(archive: barrow.archive.Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax.numpy", None)
    with pytest.raises(MissingExtra, match=r"'.\[train\]"):
        archive.jax()


def _first(view: object) -> list:
    return list(itertools.islice(iter(view), NUMBER))  # type: ignore[call-overload]
