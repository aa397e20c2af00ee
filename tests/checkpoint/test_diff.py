from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from barrow.checkpoint import diff as module
from barrow.checkpoint.diff import LeafDifference, differences
from barrow.weights.tensors import lazy


def diff(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> list[LeafDifference]:
    return list(differences(lazy(a), lazy(b)))


def test_what_differs_and_by_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", 7)
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 6)).astype(np.float32)
    b = a + rng.normal(size=(5, 6)).astype(np.float32)
    first = {"same": a, "other": a, "only": a, "shape": a, "none": np.zeros(0)}
    second = {"new": a, "same": a.copy(), "other": b, "shape": a.T, "none": np.zeros(0)}
    found = {entry.path: entry for entry in diff(first, second)}
    assert list(found) == ["other", "only", "shape", "new"]
    apart = a.astype(np.float64) - b
    assert found["other"].max_abs == np.abs(apart).max()
    relative = np.linalg.norm(apart) / np.linalg.norm(a.astype(np.float64))
    assert found["other"].relative == pytest.approx(relative, rel=1e-12)
    assert found["only"] == LeafDifference("only", "float32[5, 6]", None)
    assert found["new"] == LeafDifference("new", None, "float32[5, 6]")
    assert found["shape"] == LeafDifference("shape", "float32[5, 6]", "float32[6, 5]")


def test_types_and_odd_numbers() -> None:
    half = np.array([1.0, 2.0], ml_dtypes.bfloat16)
    (entry,) = diff({"x": half}, {"x": half.astype(np.float32)})
    assert (entry.first, entry.second, entry.max_abs) == ("bfloat16[2]", "float32[2]", 0.0)
    nan = np.array([np.nan, 1.0], np.float32)
    assert diff({"x": nan}, {"x": nan.copy()}) == []
    (entry,) = diff({"x": nan}, {"x": np.array([0.0, 1.0], np.float32)})
    assert math.isnan(entry.max_abs or 0)
    (entry,) = diff({"x": np.array([np.inf, 1])}, {"x": np.array([np.inf, 3])})
    assert entry.max_abs == 2
    (entry,) = diff({"x": np.zeros(2)}, {"x": np.array([0.0, 4.0])})
    assert (entry.max_abs, entry.relative) == (4.0, math.inf)
    (entry,) = diff({"x": np.array([3], np.uint8)}, {"x": np.array([5], np.uint8)})
    assert entry.max_abs == 2
    (entry,) = diff({"x": np.array([3j])}, {"x": np.array([3j + 4])})
    assert (entry.max_abs, entry.relative) == (4.0, pytest.approx(4 / 3))
    (entry,) = diff({"x": np.array([0.0])}, {"x": np.array([-0.0])})
    assert (entry.max_abs, entry.relative) == (0.0, 0.0)
