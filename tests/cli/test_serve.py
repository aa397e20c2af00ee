from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient
from tests.cli.test_generate import saved


def test_a_model_is_served(
    barrow: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = saved(tmp_path / "tiny")
    found: dict[str, Any] = {}

    def run(app: Any, **options: Any) -> None:
        found.update(options)
        with TestClient(app, headers={"authorization": "Bearer secret"}) as client:
            found["models"] = client.get("/v1/models").json()
            body = {"prompt": "ab", "max_tokens": 12, "temperature": 0}
            found["answer"] = client.post("/v1/completions", json=body).json()
            found["open"] = client.get("/v1/models", headers={"authorization": ""}).status_code

    monkeypatch.setattr(uvicorn, "run", run)
    key = tmp_path / "key"
    key.write_text("secret\n")
    code, _, err = barrow("serve", model, "--slots", 1, "--api-key-file", key, "--port", 8123)
    assert code == 0
    assert "tiny at http://127.0.0.1:8123/v1" in err
    assert (found["host"], found["port"], found["access_log"]) == ("127.0.0.1", 8123, False)
    assert found["models"]["data"][0]["id"] == "tiny"
    assert found["open"] == 401
    said = barrow("generate", model, "--prompt", "ab", "--max-tokens", 12, "--json").out
    expected = json.loads(said)
    (choice,) = found["answer"]["choices"]
    assert (choice["text"], choice["finish_reason"]) == (expected["text"], expected["reason"])


def test_others_need_a_key(barrow: Callable, tmp_path: Path) -> None:
    code, _, err = barrow("serve", tmp_path, "--host", "0.0.0.0")
    assert code == 1
    assert "--host 0.0.0.0 can be reached by others; pass --api-key-file" in err
    (tmp_path / "key").write_text("\n")
    code, _, err = barrow("serve", tmp_path, "--api-key-file", tmp_path / "key")
    assert code == 1
    assert "key is empty" in err
