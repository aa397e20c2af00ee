from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from barrow.models.load import load
from barrow.models.roberta.embedding_file import Embedded, embed_to_file, read_ids
from barrow.models.roberta.encode import embed
from barrow.models.text import open_tokenizer

TEXTS = [("a", "Paris is"), ("β", ""), ("2", "the capital of France. " * 30), ("3", "naïve 🙂")]


@pytest.fixture(scope="module")
def parts(roberta_folder: Callable[[str], Path]) -> dict[str, Any]:
    loaded = load(roberta_folder("mlm"), unstack=True)
    tokenizer = open_tokenizer(loaded.tokenizer)
    return {"model": loaded.model, "params": loaded.params, "tokenizer": tokenizer}


def test_what_is_in_the_file(parts: dict[str, Any], tmp_path: Path) -> None:
    """Rows in the order of the input, with what says whose they are."""
    path = tmp_path / "e.safetensors"
    moved: list[int] = []
    done = embed_to_file(
        path, iter(TEXTS), **parts, truncate=True, pool="cls", ahead=2, on_bytes=moved.append
    )
    found = load_file(path)
    assert read_ids(found) == [name for name, _ in TEXTS]
    hashes = [hashlib.sha256(text.encode()).digest() for _, text in TEXTS]
    assert [row.tobytes() for row in found["sha256"]] == hashes
    lengths = [min(64, len(parts["tokenizer"].encode(text)) + 2) for _, text in TEXTS]
    assert found["num_tokens"].tolist() == lengths
    assert done == Embedded(4, sum(lengths), 1)
    assert (found["num_cut"] > 0).tolist() == [False, False, True, False]
    assert len(moved) == 2
    assert sum(moved) == sum(len(text.encode()) for _, text in TEXTS)
    rows = [parts["tokenizer"].encode_marked(TEXTS[i][1]) for i in (0, 1, 3)]
    expected = next(embed(parts["model"], parts["params"], rows, pool="cls"))
    np.testing.assert_allclose(found["embeddings"][[0, 1, 3]], expected, atol=1e-5)
    with safe_open(path, "numpy") as file:
        assert file.metadata()["pool"] == "cls"
    assert [p.name for p in tmp_path.iterdir()] == ["e.safetensors"]


def test_no_texts(parts: dict[str, Any], tmp_path: Path) -> None:
    assert embed_to_file(tmp_path / "new" / "e.safetensors", [], **parts) == Embedded(0, 0, 0)
    found = load_file(tmp_path / "new" / "e.safetensors")
    assert found["embeddings"].shape == (0, 32)
    assert read_ids(found) == []


def test_bad_input(parts: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must end in .safetensors, got e.npy"):
        embed_to_file(tmp_path / "e.npy", TEXTS, **parts)
    with pytest.raises(ValueError, match=r"text 2: \d+ tokens, but"):
        embed_to_file(tmp_path / "e.safetensors", TEXTS, **parts)
    assert not list(tmp_path.iterdir())
