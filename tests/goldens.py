"""Results that other libraries computed, kept in `tests/golden`.

A reference is a function that imports the other library in its body and is decorated::

    @golden("torch")
    def gelu_by_torch(x):
        import torch

        return torch.nn.functional.gelu(torch.tensor(x))

By default the stored result for the same inputs is returned and the reference is not called, so the
library need not be installed. With ``GOLDEN=check`` in the environment the reference is called and
its result compared with the stored one, with ``GOLDEN=write`` its result is stored together with
the library's version, and with ``GOLDEN=compute`` its result is used.

Inputs and results are nested tuples, lists and dictionaries of arrays, numbers and strings, and
paths of files and folders. An array of floating-point numbers among the inputs is recognised by its
shape and a few projections, because a compiler may change its last bits; a path by what lies there.
So a reference that opens a folder written by barrow fails as soon as barrow writes another.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

P = ParamSpec("P")
FOLDER = Path(__file__).with_name("golden")
_TESTS = Path(__file__).parent
_MODE = os.environ.get("GOLDEN", "read")
_scratch = functools.cache(lambda: tempfile.TemporaryDirectory(prefix="golden-"))


def golden(
    *libraries: str, rtol: float = 1e-5, atol: float = 1e-6
) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """Decorate a reference that these libraries compute.

    `rtol` and `atol` bound the difference between a stored result and a new one.
    """

    def decorate(compute: Callable[P, Any]) -> Callable[P, Any]:
        name = compute.__qualname__
        source = sys.modules[compute.__module__].__file__ or ""

        @functools.wraps(compute)
        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            path = _path_of(source)
            inputs = _described([args, kwargs])
            if _MODE == "read":
                return _find(path, name, inputs)
            for library in libraries:
                importlib.import_module(library)
            if "torch" in sys.modules:
                sys.modules["torch"].manual_seed(0)
            result = _plain(compute(*args, **kwargs))
            if _MODE == "compute":
                is_folder = isinstance(result, dict) and result.keys() == {"folder"}
                return _unpacked(result["folder"]) if is_folder else result
            if _MODE == "write":
                _store(path, name, inputs, result, {x: version(x) for x in libraries})
            else:
                _compare(_find(path, name, inputs), result, rtol, atol, name)
            return _find(path, name, inputs)

        return call

    return decorate


def settings_of(config: Any) -> dict[str, Any]:
    """The settings of a configuration of `transformers`, without its version and path."""
    beside = ("transformers_version", "_name_or_path")
    return {key: x for key, x in config.to_dict().items() if key not in beside}


def _path_of(source: str) -> Path:
    return FOLDER / Path(source).relative_to(_TESTS).with_suffix(".safetensors")


def _described(x: Any) -> Any:
    """Describe inputs as JSON: exactly, but floating-point arrays by a few projections."""
    if isinstance(x, dict):
        return {"dict": [[_described(key), _described(value)] for key, value in x.items()]}
    if isinstance(x, list | tuple):
        return [_described(item) for item in x]
    if x is None or isinstance(x, bool | int | float | str):
        return x
    if isinstance(x, Path):
        return _described_path(x)
    if isinstance(x, type) or callable(x):
        return x.__qualname__
    array = np.asarray(x)
    described = {"dtype": str(array.dtype), "shape": list(array.shape)}
    if array.dtype.kind in "biuSU":
        return {**described, "sha256": hashlib.sha256(array.tobytes()).hexdigest()[:16]}
    flat = np.asarray(array, np.float64).ravel()
    directions = np.random.default_rng(0).standard_normal((3, flat.size))
    norm = float(np.linalg.norm(flat[np.isfinite(flat)]))
    return {**described, "near": [norm, *np.dot(directions, np.nan_to_num(flat)).tolist()]}


def _described_path(path: Path) -> Any:
    if path.is_dir():
        return {x.name: _described_path(x) for x in sorted(path.iterdir())}
    if path.suffix == ".safetensors":
        return _described(load_file(path))
    if path.suffix == ".json":
        return _described(json.loads(path.read_text("utf-8")))
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _is_same(stored: Any, described: Any) -> bool:
    if isinstance(stored, dict) and isinstance(described, dict):
        if "near" in stored and "near" in described:
            bound = 1e-4 * max(stored["near"][0], 1e-3)
            close = np.allclose(stored["near"], described["near"], rtol=0, atol=bound)
            return close and all(stored[key] == described[key] for key in ("dtype", "shape"))
        return stored.keys() == described.keys() and all(
            _is_same(stored[key], described[key]) for key in stored
        )
    if isinstance(stored, list) and isinstance(described, list):
        return len(stored) == len(described) and all(map(_is_same, stored, described))
    return type(stored) is type(described) and bool(stored == described)


def _plain(x: Any) -> Any:
    """Turn tensors into NumPy arrays and the path of a folder into its files."""
    if isinstance(x, Path):
        files = sorted(path for path in x.rglob("*") if path.is_file())
        return {
            "folder": {
                str(path.relative_to(x)): np.frombuffer(path.read_bytes(), np.uint8)
                for path in files
            }
        }
    if isinstance(x, dict):
        return {str(key): _plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [_plain(item) for item in x]
    if x is None or isinstance(x, bool | int | float | str):
        return x
    return np.ascontiguousarray(x.detach().numpy() if hasattr(x, "detach") else np.asarray(x))


def _find(path: Path, name: str, inputs: Any) -> Any:
    for entry in _entries(path, path.stat().st_mtime_ns if path.exists() else 0):
        if entry["function"] == name and _is_same(entry["inputs"], inputs):
            with safe_open(path, "numpy") as file:
                return _loaded(entry["result"], file.get_tensor)
    raise AssertionError(f"{path}: no result of {name} for these inputs; run make golden")


@functools.cache
def _entries(path: Path, _time: int) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with safe_open(path, "numpy") as file:
        entries: list[dict[str, Any]] = json.loads(file.metadata()["entries"])
        return entries


def _loaded(result: Any, get: Callable[[str], Any]) -> Any:
    if isinstance(result, dict):
        if "array" in result:
            return get(result["array"])
        loaded = {key: _loaded(value, get) for key, value in result.items()}
        return _unpacked(loaded["folder"]) if loaded.keys() == {"folder"} else loaded
    return [_loaded(item, get) for item in result] if isinstance(result, list) else result


def _unpacked(files: dict[str, Any]) -> Path:
    folder = Path(tempfile.mkdtemp(dir=_scratch().name))
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.tobytes())
    return folder


def _store(path: Path, name: str, inputs: Any, result: Any, by: dict[str, str]) -> None:
    """Add or replace one result; processes that write the same file take turns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries, arrays = [], {}
        if path.exists():
            with safe_open(path, "numpy") as file:
                entries = json.loads(file.metadata()["entries"])
                arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        entries = [e for e in entries if e["function"] != name or not _is_same(e["inputs"], inputs)]
        names: dict[str, str] = {}

        def add(x: Any) -> Any:
            if isinstance(x, dict):
                return {key: add(value) for key, value in x.items()}
            if isinstance(x, list):
                return [add(item) for item in x]
            if not isinstance(x, np.ndarray):
                return x
            digest = hashlib.sha256(f"{x.dtype}{x.shape}".encode() + x.tobytes()).hexdigest()[:12]
            arrays[digest] = x
            names[digest] = digest
            return {"array": digest}

        entries.append({"function": name, "inputs": inputs, "result": add(result), "by": by})
        entries.sort(key=lambda entry: json.dumps(entry, sort_keys=True))
        used = _arrays_of([entry["result"] for entry in entries])
        kept = {key: array for key, array in arrays.items() if key in used} or {
            "none": np.zeros(1, np.uint8)
        }
        save_file(kept, path, metadata={"entries": json.dumps(entries)})
        _entries.cache_clear()
    finally:
        os.close(lock)


def _arrays_of(result: Any) -> set[str]:
    if isinstance(result, dict):
        if "array" in result:
            return {result["array"]}
        return set().union(*map(_arrays_of, result.values()))
    return set().union(*map(_arrays_of, result)) if isinstance(result, list) else set()


def _compare(stored: Any, new: Any, rtol: float, atol: float, what: str) -> None:
    if isinstance(stored, Path):
        stored = _plain(stored)
    if isinstance(new, dict):
        assert stored.keys() == new.keys(), what
        for key in new:
            _compare(stored[key], new[key], rtol, atol, f"{what}: {key}")
    elif isinstance(new, list):
        assert len(stored) == len(new), what
        for number, (one, other) in enumerate(zip(stored, new, strict=True)):
            _compare(one, other, rtol, atol, f"{what}: {number}")
    elif isinstance(new, np.ndarray | float):
        message = f"{what}: a stored result is not what the library computes now"
        np.testing.assert_allclose(stored, new, rtol=rtol, atol=atol, err_msg=message)
    else:
        assert stored == new, what
