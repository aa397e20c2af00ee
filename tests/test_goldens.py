"""Stored results of other libraries: small, found by their inputs, and compared with new ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests import goldens

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)


def test_they_are_small() -> None:
    sizes = {path: path.stat().st_size for path in goldens.FOLDER.rglob("*") if path.is_file()}
    assert sizes
    assert {path.name: size for path, size in sizes.items() if size > 200_000} == {}
    assert sum(sizes.values()) < 10_000_000


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A reference and the inputs it was called with; `mode` chooses what the decorator does."""
    monkeypatch.setattr(goldens, "FOLDER", tmp_path / "golden")
    called: list[Any] = []

    @goldens.golden("numpy", rtol=1e-3)
    def doubled(x: Any, **options: Any) -> Any:
        called.append(options)
        return {"twice": 2 * np.asarray(x), "name": "x", "of": [1.5, None, options.get("add")]}

    def call(mode: str, *args: Any, **options: Any) -> Any:
        monkeypatch.setattr(goldens, "_MODE", mode)
        return doubled(*args, **options)

    call.made = called  # type: ignore[attr-defined]
    return call


def test_a_stored_result_is_read_without_computing(calls: Any) -> None:
    calls("write", X, add=1)
    calls("write", X, add=2)
    assert len(calls.made) == 2
    found = calls("read", X, add=2)
    assert len(calls.made) == 2
    np.testing.assert_array_equal(found["twice"], 2 * X)
    assert (found["name"], found["of"]) == ("x", [1.5, None, 2])
    calls("check", X, add=1)
    assert len(calls.made) == 3


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((X + 0.01,), {}),
        ((X[:2],), {}),
        ((X.astype(np.float64),), {}),
        ((X,), {"add": True}),
        ((X.astype(int),), {}),
        ((X, 1), {}),
    ],
)
def test_other_inputs_have_no_result(calls: Any, args: Any, options: Any) -> None:
    calls("write", X)
    with pytest.raises((AssertionError, TypeError), match="run make golden|positional"):
        calls("read", *args, **options)


def test_the_last_bits_of_an_input_do_not_matter(calls: Any) -> None:
    calls("write", X)
    np.testing.assert_array_equal(calls("read", np.nextafter(X, 9))["twice"], 2 * X)


def test_folders_are_stored_and_recognised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(goldens, "FOLDER", tmp_path / "golden")
    monkeypatch.setattr(goldens, "_MODE", "write")
    (tmp_path / "in/inner").mkdir(parents=True)
    (tmp_path / "in/inner/a.json").write_text('{"a": 1}')
    save_file({"x": X}, tmp_path / "in/model.safetensors")

    @goldens.golden("numpy")
    def copied(folder: Path) -> Path:
        return folder

    copied(tmp_path / "in")
    monkeypatch.setattr(goldens, "_MODE", "read")
    again = copied(tmp_path / "in")
    monkeypatch.setattr(goldens, "_MODE", "compute")
    assert (copied(tmp_path / "in") / "inner/a.json").read_text() == '{"a": 1}'
    monkeypatch.setattr(goldens, "_MODE", "read")
    assert again != tmp_path / "in"
    assert (again / "inner/a.json").read_text() == '{"a": 1}'
    np.testing.assert_array_equal(load_file(again / "model.safetensors")["x"], X)
    (tmp_path / "in/inner/a.json").write_text('{"a": 2}')
    with pytest.raises(AssertionError, match="run make golden"):
        copied(tmp_path / "in")


def test_a_result_that_was_edited_or_is_out_of_date_fails_the_comparison(
    calls: Any, tmp_path: Path
) -> None:
    calls("write", X)
    (file,) = (tmp_path / "golden").rglob("*.safetensors")
    entries = goldens._entries(file, file.stat().st_mtime_ns)
    (name,) = goldens._arrays_of([entry["result"] for entry in entries])
    metadata = {"entries": goldens.json.dumps(entries)}
    save_file({name: 2 * X + 1e-5}, file, metadata=metadata)
    calls("check", X)
    save_file({name: 2 * X + 1}, file, metadata=metadata)
    with pytest.raises(AssertionError, match="not what the library computes now"):
        calls("check", X)
    np.testing.assert_array_equal(calls("read", X)["twice"], 2 * X + 1)
