from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.cli.test_generate import saved
from tests.serve.http.conftest import client_to

from barrow.models.clip import load as load_clip
from barrow.serve.http.run import Server


def test_a_model_is_served(
    barrow: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = saved(tmp_path / "tiny")
    found: dict[str, Any] = {}

    def run(server: Server) -> None:
        found.update(vars(server.config))
        app: Any = server.config.app
        with client_to(app, authorization="Bearer secret") as client:
            found["models"] = client.get("/v1/models").json()
            body = {"prompt": "ab", "max_tokens": 12, "temperature": 0}
            found["answer"] = client.post("/v1/completions", json=body).json()
            named = [{"host": "m.org"}, {"host": "evil.example"}]
            named += [{"origin": "https://a.org"}, {"origin": "https://evil.example"}]
            found["statuses"] = [client.get("/", headers=one).status_code for one in named]
            found["open"] = client.get("/v1/models", headers={"authorization": ""}).status_code

    monkeypatch.setattr(Server, "run", run)
    key = tmp_path / "key"
    key.write_text("secret\n")
    allowed = ["--allow-host", "m.org", "--allow-origin", "https://a.org", "--port", 8123]
    code, _, err = barrow("serve", model, "--slots", 1, "--api-key-file", key, *allowed)
    assert code == 0
    assert "tiny at http://127.0.0.1:8123/v1" in err
    assert (found["host"], found["port"], found["access_log"]) == ("127.0.0.1", 8123, False)
    assert found["statuses"] == [200, 403, 200, 403]
    assert found["log_config"] is None  # handlers of the process stay open
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
    code, _, err = barrow("serve", tmp_path, "--allow-origin", "https://a.org/")
    assert code == 1
    assert "an allowed origin must be in lower case and without path" in err


def picture(colour: tuple[int, int, int]) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(out, "PNG")
    return out.getvalue()


def test_clip_has_texts_and_images(
    clip_folder: Path, barrow: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip, preprocess = load_clip(weights=clip_folder / "model")
    clients: list[TestClient] = []
    monkeypatch.setattr(Server, "run", lambda self: clients.append(client_to(self.config.app)))
    assert barrow("serve", clip_folder / "model").code == 0
    (client,) = clients
    coded = base64.b64encode(picture((200, 10, 10))).decode()
    inputs: list[Any] = [
        "a stone",
        {"image": f"data:image/png;base64,{coded}"},
        {"text": "a mound"},
        f"data:image/png;base64,{coded}",
    ]
    answer = client.post("/v1/embeddings", json={"input": inputs})
    assert answer.status_code == 200, answer.text
    found = np.array([one["embedding"] for one in answer.json()["data"]])
    texts = clip.encode_text(["a stone", "a mound"])
    image = clip.encode_image(preprocess([picture((200, 10, 10))]))
    expected = np.stack([texts[0], image[0], texts[1], image[0]])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    for wrong, words in (
        ({"image": "data:image/png;base64,!!"}, "an image must be base64"),
        ({"image": base64.b64encode(b"no image").decode()}, "image"),
        ({"image": coded[:40]}, "image"),
        ({"image": 3}, "an input must be a string"),
        ({"sound": "x"}, "an input must be a string"),
        ([1, 2], "an input must be a string"),
    ):
        refused = client.post("/v1/embeddings", json={"input": [wrong]})
        assert refused.status_code == 400, wrong
        assert words in refused.json()["error"]["message"]
        assert client.post("/v1/embeddings", json={"input": "a"}).status_code == 200
