"""JSON that others wrote: too deep, or none at all, it is an error of ours that names the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from barrow.archive.catalog import read_catalog
from barrow.config import from_json, parse_json
from barrow.corpus.build.decontaminate import load_index
from barrow.corpus.build.facts import _ARRAYS, load_facts, load_names
from barrow.corpus.diff import compare_builds
from barrow.corpus.report.write import read_build
from barrow.corpus.takedown.rules import load_list
from barrow.errors import BarrowError, ConfigError, ScoreError, TokenizerError
from barrow.models.sources import open_source
from barrow.score.result import read_result
from barrow.stream.saved import Saved
from barrow.tokens import load
from barrow.tokens.store.store_file import read_store_file
from barrow.train.run_folder import read_run
from barrow.weights import open_safetensors


def tokenizer_of_two_files(folder: Path) -> Any:
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return load(folder)


def tokenizer_with_settings(folder: Path) -> Any:
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    (folder / "tokenizer.json").write_text(json.dumps({"model": model}))
    return load(folder)


def built(folder: Path) -> Any:
    (folder / "recipe.json").write_text("{}")
    return read_build(folder)


OPENERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "tokenizer": ("tokenizer.json", load),
    "two files": ("vocab.json", tokenizer_of_two_files),
    "settings of a tokenizer": ("tokenizer_config.json", tokenizer_with_settings),
    "model": ("config.json", open_source),
    "index of weights": ("model.safetensors.index.json", open_safetensors),
    "catalog": ("archive.json", lambda folder: read_catalog(str(folder))),
    "token store": ("store.json", read_store_file),
    "score": ("result.json", lambda folder: read_result(folder / "result.json")),
    "manifest": ("manifest.json", built),
    "compared": ("recipe.json", lambda folder: compare_builds(folder, folder)),
    "takedowns": ("takedown.json", load_list),
    "stream": ("stream.json", Saved.read),
    "stream of a checkpoint": ("index.json", Saved.read),
    "run": ("run.json", lambda folder: read_run(folder / "run.json")),
}


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "{"], ids=["[", "{", "cut"])
@pytest.mark.parametrize("what", OPENERS)
def test_an_error_that_names_the_file(tmp_path: Path, what: str, text: str) -> None:
    name, opener = OPENERS[what]
    (tmp_path / name).write_text(text)
    with pytest.raises(BarrowError) as caught:
        opener(tmp_path)
    expected = "the vocabulary" if name == "vocab.json" else name
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("opener", "key"), [(load_facts, "names"), (load_names, "names"), (load_index, "index")]
)
def test_metadata_of_arrays(tmp_path: Path, opener: Callable[[Path], Any], key: str) -> None:
    arrays = {name: np.zeros((1, 1), np.uint8) for name in _ARRAYS}
    save_file(arrays, tmp_path / "x.safetensors", {key: "[" * 100_000})
    with pytest.raises(ConfigError, match=r"x\.safetensors is not JSON"):
        opener(tmp_path / "x.safetensors")


def test_deep_inside_a_tokenizer(tmp_path: Path) -> None:
    """Not too deep to parse, but too deep to walk."""
    part: Any = {"type": "NFC"}
    for _ in range(300):
        part = {"type": "Sequence", "normalizers": [part]}
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model, "normalizer": part}))
    with pytest.raises(TokenizerError, match=r"tokenizer\.json: parts must be at most 100 levels"):
        load(tmp_path)


def test_parse_json() -> None:
    assert parse_json(b'{"a": [1]}', "x") == {"a": [1]}
    with pytest.raises(ScoreError, match="^x.json is not JSON: nested too deeply"):
        parse_json("[" * 100_000, "x.json", error=ScoreError)
    with pytest.raises(ConfigError, match="^x.json is not JSON"):
        from_json(ConfigError, "{", where="x.json")
