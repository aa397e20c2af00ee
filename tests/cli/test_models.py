from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

DATA = b"weights" * 100


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A loopback server of one file, m.gguf; the cache is the test's own."""
    monkeypatch.setenv("BARROW_CACHE", str(tmp_path / "cache"))
    for name in ("HF_HUB_OFFLINE", "BARROW_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "m.gguf").write_bytes(DATA)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path / "site"))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/m.gguf"
    server.shutdown()
    server.server_close()
    thread.join()


def test_get_where_list(barrow: Callable, url: str, tmp_path: Path) -> None:
    code, out, err = barrow("models", "where", url)
    assert (code, out) == (1, "")
    assert "is not in the cache; it would be" in err
    code, out, err = barrow("models", "get", url)
    assert (code, err) == (0, "")
    assert Path(out.strip()).read_bytes() == DATA
    assert Path(out.strip()).is_relative_to(tmp_path / "cache")
    assert barrow("models", "where", url) == (0, out, "")
    code, listed, _ = barrow("models", "list")
    assert code == 0
    assert "gpt2 " in listed
    assert url in listed
    assert f"{len(DATA):,}" in listed


def test_json(barrow: Callable, url: str) -> None:
    digest = hashlib.sha256(DATA).hexdigest()
    code, out, _ = barrow("models", "get", url, "--sha256", digest, "--json")
    assert code == 0
    table = json.loads(out)
    assert table["files"] == [{"name": "m.gguf", "bytes": len(DATA), "sha256": digest}]
    code, out, _ = barrow("models", "list", "--json")
    listed = json.loads(out)
    assert listed["cached"] == [table]
    assert {"name": "gpt2", "source": "openai-community/gpt2"}.items() <= next(
        entry for entry in listed["known"] if entry["name"] == "gpt2"
    ).items()


def test_failures_are_one_line(barrow: Callable, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = barrow("models", "get", url, "--sha256", "0" * 64)
    assert (code, out) == (1, "")
    assert "expected sha256 0000" in err
    code, _, err = barrow("models", "get", "gtp2")
    assert code == 1
    assert "did you mean gpt2?" in err
    code, _, err = barrow("models", "get", url + "x")
    assert code == 1
    assert "does not exist (HTTP 404)" in err
    monkeypatch.setenv("BARROW_OFFLINE", "1")
    code, _, err = barrow("models", "get", "gpt2")
    assert code == 1
    assert "fetching is off" in err
    assert err.count("\n") == 1


def test_an_empty_cache(barrow: Callable, url: str) -> None:
    code, out, _ = barrow("models", "list")
    assert code == 0
    assert out.rstrip().endswith("nothing")
