from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.weights.hub_server import running_hub

DATA = b"weights" * 100
SUM = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A hub on the loopback with a file, m.gguf, and empty caches."""
    monkeypatch.setenv("BARROW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with running_hub() as hub:
        hub.files["m.gguf"] = DATA
        yield hub


@pytest.fixture
def url(hub: Any) -> str:
    return f"{hub.url}/OWNER/MODEL/resolve/{hub.COMMIT}/m.gguf"


def test_get_where_list(barrow: Callable, url: str, tmp_path: Path) -> None:
    code, out, err = barrow("model", "where", url)
    assert (code, out) == (1, "")
    assert "is not in the cache" in err
    code, out, err = barrow("model", "get", url, "--sha256", SUM)
    assert (code, err) == (0, "")
    assert Path(out.strip()).read_bytes() == DATA
    assert Path(out.strip()).is_relative_to(tmp_path / "cache")
    assert barrow("model", "where", url) == (0, out, "")
    code, listed, _ = barrow("model", "list")
    assert code == 0
    assert "gpt2 " in listed
    assert out.strip() in listed
    assert f"{len(DATA):,}" in listed


def test_json(barrow: Callable, url: str) -> None:
    code, out, _ = barrow("model", "get", url, "--sha256", SUM, "--json")
    assert code == 0
    table = json.loads(out)
    assert table["files"] == [{"name": "m.gguf", "bytes": len(DATA)}]
    code, out, _ = barrow("model", "list", "--json")
    listed = json.loads(out)
    assert listed["cached"] == [{**table, "what": "m.gguf"}]
    assert {"name": "gpt2", "source": "openai-community/gpt2"}.items() <= next(
        entry for entry in listed["known"] if entry["name"] == "gpt2"
    ).items()


def test_a_repository_of_the_hub_that_the_environment_names(hub: Any, tmp_path: Path) -> None:
    hub.files = {"config.json": b"{}", "model.safetensors": DATA}
    hub.large = {"model.safetensors"}
    names = {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "0"}

    program = "from barrow.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "model", "get", "OWNER/MODEL", "--verify", "--json"],
        env={**os.environ, **names},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"name": "model.safetensors", "bytes": len(DATA), "sha256": SUM} in found["files"]
    assert Path(found["path"]).is_relative_to(tmp_path / "hub")


def test_failures_are_one_line(barrow: Callable, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = barrow("model", "get", url, "--sha256", "0" * 64)
    assert (code, out) == (1, "")
    assert "expected SHA-256 0000" in err
    code, _, err = barrow("model", "get", "gtp2")
    assert code == 1
    assert "did you mean 'gpt2'?" in err
    code, _, err = barrow("model", "get", url + "x", "--sha256", SUM)
    assert code == 1
    assert "HTTP 404" in err
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    code, _, err = barrow("model", "get", "gpt2")
    assert code == 1
    assert "HF_HUB_OFFLINE" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["model", "show"],
        ["generate", "--prompt", "a"],
        ["score", ..., "corpus.jsonl"],
        ["serve"],
        ["export", "--to", "gguf", "--out", "x.gguf"],
        ["compress", "--to", "int8", "--out", "x", "--calibrate", "corpus.jsonl"],
        ["model", "embed", "corpus.jsonl", "--out", "x", "--model"],
        ["train", "llama.tiny", "--store", "x", "--out", "y", "--init"],
        ["checkpoint", "show"],
    ],
)
def test_a_path_that_is_not_there_names_the_nearest(
    arguments: list[Any], barrow: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"text": "a"}\n')
    there = arguments if ... in arguments else [*arguments, ...]
    code, _, err = barrow(*("runn" if one is ... else one for one in there))
    assert code == 1
    assert err.endswith("did you mean run?\n")
    assert "runn" in err
    assert "known name" not in err


def test_paths_and_names(barrow: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "one").mkdir(parents=True)
    (tmp_path / "gpt2x").mkdir()
    for given, said in {
        "model/one": "there is no file or folder model/one; did you mean models/one?",
        "./models/on": "there is no file or folder ./models/on; did you mean models/one?",
        "gtp2-medium": "no file, folder or known model gtp2-medium; did you mean 'gpt2-medium'?",
        "gpt2": "to download it: barrow model get openai-community/gpt2",
        "some/model": "to download it: barrow model get some/model",
        "unlike-all": "no file, folder or known model unlike-all; there are distilroberta, gpt2",
    }.items():
        code, _, err = barrow("model", "show", given)
        assert code == 1
        assert said in err


@pytest.mark.usefixtures("hub")
def test_an_empty_cache(barrow: Callable) -> None:
    code, out, _ = barrow("model", "list")
    assert code == 0
    assert out.rstrip().endswith("nothing")
