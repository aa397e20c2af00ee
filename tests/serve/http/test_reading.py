"""Embeddings of encoders and CLIP, and bits per byte."""

from __future__ import annotations

import json

import jax.numpy as jnp
import numpy as np
import pytest
from tests.serve.http.conftest import Running, client_to, drawn

from barrow import Document
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.score import open_model, score
from barrow.serve.http.app import app
from barrow.serve.http.embedders import roberta_embedder
from barrow.serve.http.served import Served
from barrow.tokens.train import train_roberta

TEXTS = ["The barrow carries stones. é日", "x", "one by one " * 60]


def test_bits_per_byte_are_those_of_score(server: Running) -> None:
    client = client_to(app(server.served))
    found = client.post("/score", json={"text": TEXTS}).json()
    documents = [Document(text) for text in TEXTS]
    result = score(open_model(str(server.folder)), documents)
    assert result is not None
    expected = result.overall.bpb
    assert found["bits_per_byte"] == pytest.approx(expected, abs=1e-5)
    (alone,) = client.post("/score", json={"text": TEXTS[0]}).json()["data"]
    assert alone["bits_per_byte"] == pytest.approx(found["data"][0]["bits_per_byte"], abs=1e-5)
    assert alone["bytes"] == len(TEXTS[0].encode())
    for wrong in ({}, {"text": ""}, {"text": [3]}, {"text": "\ud800"}, {"text": []}):
        answer = client.post("/score", content=json.dumps(wrong))
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == "text"


def test_roberta_has_embeddings_alone() -> None:
    from barrow.models.roberta.encode import embed
    from barrow.models.rows import text_rows

    tokenizer = train_roberta(TEXTS * 4, vocab_size=280)
    config = RobertaConfig(
        vocab_size=tokenizer.vocab_size, width=16, layers=1, heads=2, hidden=16, positions=66
    )
    model = Roberta(config)
    params = drawn(model, jnp.zeros((1, 4), jnp.int32))
    client = client_to(app(Served("r", embedder=roberta_embedder(model, params, tokenizer))))
    answer = client.post("/v1/embeddings", json={"input": TEXTS[:2]}).json()
    rows = [row.tokens for row in text_rows(tokenizer, TEXTS[:2], config=config)]
    expected = np.concatenate(list(embed(model, params, rows)))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    vectors = [one["embedding"] for one in answer["data"]]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert answer["usage"]["prompt_tokens"] == sum(map(len, rows))
    for body, words in (
        ({"input": "y" * 99}, "64"),
        ({"input": ""}, None),
        ({"input": []}, "input must be a string, tokens"),
        ({"input": [[]]}, "and not empty"),
        ({"input": [[999]]}, "tokens must be from 0 to"),
        ({"input": [["a"]]}, "must be a string or tokens"),
        ({"input": "a", "dimensions": 3}, "dimensions must be 16"),
        ({"input": "a", "encoding_format": "hex"}, "must be float or base64"),
        ({"input": "a", "truncate": True}, "unknown field 'truncate'"),
    ):
        answer = client.post("/v1/embeddings", json=body)
        assert answer.status_code == (200 if words is None else 400), body
        assert words is None or words in answer.json()["error"]["message"]
    for path in ("completions", "chat/completions"):
        refused = client.post(f"/v1/{path}", json={"prompt": "a"})
        assert refused.status_code == 400
        assert "r does not write" in refused.json()["error"]["message"]
    assert client.post("/score", json={"text": "a"}).status_code == 400
    assert client.get("/health").text == "ok"
    assert client.get("/metrics").text == ""
