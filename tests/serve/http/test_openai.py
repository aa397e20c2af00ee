"""The real `openai` package against the server (DEEPSPEED-2)."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from tests.serve.http.conftest import Running

from barrow.tokens import load

TALK: Any = [{"role": "user", "content": "stones"}]
SCHEMA = {
    "type": "object",
    "properties": {"stone": {"enum": ["flint", "chalk"]}, "heavy": {"type": "boolean"}},
    "required": ["stone", "heavy"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_completions(client: openai.OpenAI) -> None:
    asked: Any = {"model": "small", "prompt": "The barrow", "max_tokens": 12, "temperature": 0}
    whole = client.completions.create(**asked, logprobs=2, n=2)
    first, second = whole.choices
    assert first.text == second.text
    assert first.finish_reason == "length"
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 24
    assert first.logprobs is not None
    assert first.logprobs.top_logprobs is not None
    assert first.logprobs.token_logprobs == [max(t.values()) for t in first.logprobs.top_logprobs]
    assert first.logprobs.text_offset is not None
    assert first.logprobs.text_offset[0] == 0
    options: Any = {"include_usage": True}
    events = list(client.completions.create(**asked, stream=True, stream_options=options))
    assert "".join(event.choices[0].text for event in events[:-1]) == first.text
    assert len(events) > 4
    assert events[-1].usage is not None
    assert events[-1].usage.completion_tokens == 12
    stop = first.text[3:5]
    cut = client.completions.create(**asked, stop=stop).choices[0]
    assert (cut.text, cut.finish_reason) == (first.text[: first.text.index(stop)], "stop")


def test_seeds_and_biases(client: openai.OpenAI, server: Running) -> None:
    asked: Any = {"model": "small", "prompt": "The", "max_tokens": 8}
    texts = [client.completions.create(**asked, seed=seed).choices[0].text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    several = client.completions.create(**asked, seed=1, n=2).choices
    assert [choice.text for choice in several] == [texts[0], texts[2]]
    (token,) = load(server.folder).encode("t").tolist()
    biased = client.completions.create(**asked, logit_bias={str(token): 100})
    assert biased.choices[0].text == "tttttttt"


def test_echo_and_logprobs_of_the_prompt(client: openai.OpenAI, server: Running) -> None:
    tokenizer = load(server.folder)
    ids = [int(token) for token in tokenizer.encode("The barrow carries é")]
    asked: Any = {"model": "small", "temperature": 0, "echo": True}
    (one,) = client.completions.create(**asked, prompt=ids, max_tokens=3, logprobs=1).choices
    assert one.text.startswith("The barrow carries é")
    assert one.logprobs is not None
    assert one.logprobs.token_logprobs is not None
    assert one.logprobs.tokens is not None
    assert one.logprobs.text_offset is not None
    assert len(one.logprobs.tokens) == len(ids) + 3
    assert one.logprobs.token_logprobs[0] is None
    assert all(number < 0 for number in one.logprobs.token_logprobs[1:])
    assert one.logprobs.tokens[-4].endswith(("é", "\\xa9", "\\xc3"))
    for word, place in zip(one.logprobs.tokens[:3], one.logprobs.text_offset, strict=False):
        assert one.text[place:].startswith(word)
    (none,) = client.completions.create(**asked, prompt="The", max_tokens=0, logprobs=0).choices
    assert (none.text, none.finish_reason) == ("The", "length")
    assert none.logprobs is not None
    assert none.logprobs.tokens is not None
    assert none.logprobs.tokens[0] == "<|endoftext|>"  # a prompt of text begins a document
    assert none.logprobs.text_offset is not None
    assert none.logprobs.text_offset[:2] == [0, 0]
    (plain,) = client.completions.create(**asked, prompt="The", max_tokens=2).choices
    assert plain.text.startswith("The")
    assert plain.logprobs is None


def test_chat(client: openai.OpenAI, server: Running) -> None:
    asked: Any = {"model": "small", "messages": TALK, "temperature": 0}
    whole = client.chat.completions.create(**asked, max_completion_tokens=10, logprobs=True)
    (choice,) = whole.choices
    assert choice.message.role == "assistant"
    assert choice.message.content
    template, tokenizer = server.served.writer.template, load(server.folder)  # type: ignore[union-attr]
    assert template is not None
    ids = template.encode(TALK, tokenizer, add_generation_prompt=True)
    assert whole.usage is not None
    assert whole.usage.prompt_tokens == len(ids)
    assert choice.logprobs is not None
    assert choice.logprobs.content is not None
    assert len(choice.logprobs.content) == 10
    plain = client.completions.create(
        model="small", prompt=ids.tolist(), max_tokens=10, temperature=0
    )
    assert plain.choices[0].text == choice.message.content
    events = list(
        client.chat.completions.create(
            **asked, max_tokens=10, stream=True, logprobs=True, top_logprobs=3
        )
    )
    deltas = [event.choices[0].delta for event in events]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == choice.message.content
    assert events[-1].choices[0].finish_reason == "length"
    first = events[0].choices[0].logprobs
    assert first is not None
    assert first.content is not None
    (token,) = first.content
    assert token.logprob == max(each.logprob for each in token.top_logprobs)
    assert len(token.top_logprobs) == 3
    assert bytes(token.bytes or []).decode() == token.token
    parts: Any = [{"role": "user", "content": [{"type": "text", "text": "stones"}]}]
    same = client.chat.completions.create(model="small", messages=parts, temperature=0, n=2)
    for one in same.choices:  # until the model's positions end, or it stops
        assert (one.message.content or "").startswith(choice.message.content)
    assert same.usage is not None
    num = same.usage.completion_tokens / 2
    assert (same.choices[0].finish_reason == "stop") == (num < 256 - len(ids))
    assert num > 10


@pytest.mark.parametrize("temperature", [0, 1.5])
def test_json_of_a_schema(client: openai.OpenAI, temperature: float) -> None:
    form: Any = {"type": "json_schema", "json_schema": {"name": "stone", "schema": SCHEMA}}
    asked: Any = {"model": "small", "messages": TALK, "temperature": temperature, "seed": 4}
    for choice in client.chat.completions.create(
        **asked, max_tokens=60, n=3, response_format=form
    ).choices:
        found = json.loads(choice.message.content or "")
        assert found["stone"] in ("flint", "chalk")
        assert isinstance(found["heavy"], bool)
        assert choice.finish_reason == "stop"
    begun = client.chat.completions.create(
        **asked, max_tokens=20, response_format={"type": "json_object"}
    )
    assert (begun.choices[0].message.content or "").startswith("{")


def test_embeddings_as_transformers(client: openai.OpenAI, server: Running) -> None:
    import torch
    import transformers

    texts = ["The barrow", "carries stones to the mound " * 4, "é"]
    found = client.embeddings.create(model="small", input=texts)  # in base64, as the client asks
    listed = client.embeddings.create(model="small", input=texts, encoding_format="float")
    theirs = transformers.AutoModel.from_pretrained(server.folder).eval()
    tokenizer = load(server.folder)
    num = 0
    for text, one, same in zip(texts, found.data, listed.data, strict=True):
        ids = torch.tensor([[tokenizer.begin, *tokenizer.encode(text).tolist()]])
        with torch.no_grad():
            mean = theirs(ids).last_hidden_state[0].mean(0).numpy()
        np.testing.assert_allclose(one.embedding, mean / np.linalg.norm(mean), atol=1e-5)
        np.testing.assert_allclose(one.embedding, same.embedding, atol=1e-7)
        assert math.isclose(np.linalg.norm(one.embedding), 1, rel_tol=1e-5)
        num += ids.shape[1]
    assert found.usage.prompt_tokens == num
    (tokens,) = client.embeddings.create(
        model="small", input=[[0, *tokenizer.encode(texts[0]).tolist()]]
    ).data
    assert tokens.embedding != found.data[0].embedding


def test_models_and_errors(client: openai.OpenAI) -> None:
    (model,) = client.models.list().data
    assert model.id == "small"
    with pytest.raises(openai.NotFoundError, match="there is no model 'other'"):
        client.completions.create(model="other", prompt="x")
    with pytest.raises(openai.BadRequestError, match="max_tokens can be at most 2") as caught:
        client.completions.create(model="small", prompt="x" * 253, max_tokens=400)
    assert caught.value.type == "invalid_request_error"
    with pytest.raises(openai.NotFoundError, match="Not Found"):
        client.files.list()


def test_the_examples_of_the_page_work(server: Running, capfd: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[3] / "docs" / "serve.md").read_text()
    example = text[text.index("from openai import") :].partition("```")[0]
    found: dict[str, Any] = {}
    exec(example.replace("http://localhost:8000", server.url), found)
    assert found["answer"].model == "small"
    found["client"].close()
    example = text[text.index("curl") :].partition("```")[0].replace("localhost:8000", server.url)
    if shutil.which("curl") is not None:
        subprocess.run(["sh", "-c", example], check=True)
        assert json.loads(capfd.readouterr().out)["object"] == "text_completion"
