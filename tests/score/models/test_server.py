"""Models behind a server, as text and as ids, on loopback."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.score.completion_server import Behaviour, nats_of, pieces_of, serving

from barrow import tokens
from barrow.errors import ScoreError
from barrow.score.models.completions import Refused, ServerSettings
from barrow.score.models.model import TokenModel
from barrow.score.models.server import Server, ServerModel, ServerTokens, open_server

BYTE = 8 * math.log(2)
TEXT = "abab cd🙂é abab"


def opened(url: str, **options: object) -> Server:
    return open_server(ServerSettings(url, pause=0, **options))  # type: ignore[arg-type]


def expected(text: str) -> float:
    known = -sum(log for log in nats_of(pieces_of(text)) if log is not None)
    return known + len(text[:2].encode()) * BYTE


@pytest.mark.parametrize("least_drawn", [0, 1])
@pytest.mark.parametrize("usage", [True, False])
def test_documents_as_text(least_drawn: int, usage: bool) -> None:
    behaviour = Behaviour(least_drawn=least_drawn, usage=usage)
    texts = [TEXT, "", "x", "zz" * 20]
    with serving(behaviour) as url:
        server = opened(url)
        scores = ServerModel(server).score([text.encode() for text in texts])
    assert server.num_drawn == least_drawn
    for text, score in zip(texts, scores, strict=True):
        assert score.nats == pytest.approx(expected(text))
        assert score.tokens == len(pieces_of(text))
        assert score.byte_nats is not None
        assert len(score.byte_nats) == len(text.encode())
        assert score.byte_nats.sum() == pytest.approx(score.nats)
    asked = behaviour.requests[-1]
    assert (asked["echo"], asked["logprobs"], asked["max_tokens"]) == (True, 1, least_drawn)


def test_bytes_of_a_token_share_its_nats() -> None:
    with serving(Behaviour()) as url:
        score = ServerModel(opened(url)).score(["abé🙂".encode()])[0]
    assert score.byte_nats is not None
    assert score.byte_nats.tolist() == pytest.approx([BYTE] * 2 + [0.5] * 6)


def test_the_first_token_among_a_vocabulary() -> None:
    with serving(Behaviour()) as url:
        model = ServerModel(opened(url), vocab_size=1000)
        score = model.score([b"abcd"])[0]
    assert score.nats == pytest.approx(math.log(1000) + 3)
    assert model.info.about["first_token"] == "log2 1000"


@pytest.mark.parametrize("begin", ["<s>", ""])
def test_a_token_before_the_text_costs_nothing(begin: str) -> None:
    with serving(Behaviour(begin=begin)) as url:
        score = ServerModel(opened(url)).score([b"abcdab"])[0]
    assert (score.nats, score.tokens) == (pytest.approx(3 + 3 + 1), 3)


def test_a_first_token_that_cuts_a_character_is_charged() -> None:
    with serving(Behaviour(told={"🙂a": "\ufffda"})) as url:
        score = ServerModel(opened(url)).score(["🙂abc".encode()])[0]
    assert score.tokens == 2
    assert score.nats == pytest.approx(5 * BYTE + 3)


def test_rows_of_ids() -> None:
    rows = [np.array([5, 6, 5, 9], np.int32), np.array([1, 1], np.int32), np.array([3], np.int32)]
    for least_drawn in (0, 1):
        behaviour = Behaviour(least_drawn=least_drawn)
        with serving(behaviour) as url:
            model = ServerTokens(opened(url), tokens.load("bytes"))
            found = model.log_probs(rows)
        assert isinstance(model, TokenModel)
        assert [row.tolist() for row in found] == [[-3.0, -1.0, -3.0], [-1.0], []]
        # The server sees 64; a row has one more than is seen, and what is drawn needs room.
        assert model.max_length == 63 - least_drawn
        prompts = [asked["prompt"] for asked in behaviour.requests if asked["prompt"] != "a b"]
        assert sorted(prompts) == [[1, 1], [5, 6, 5, 9]]


def test_lengths() -> None:
    with serving(Behaviour(max_model_len=None)) as url:
        server = opened(url)
    bytes_of = tokens.load("bytes")
    assert ServerTokens(server, bytes_of).max_length is None
    assert ServerTokens(server, bytes_of, max_length=7).max_length == 7


def test_no_more_at_once_than_allowed() -> None:
    behaviour = Behaviour(delay=0.02)
    with serving(behaviour) as url:
        ServerModel(opened(url, concurrency=2)).score([b"abab"] * 9)
    assert 1 <= behaviour.most_running <= 2
    assert len(behaviour.requests) == 10


def test_a_failure_on_the_way_is_tried_again() -> None:
    behaviour = Behaviour()
    with serving(behaviour) as url:
        server = opened(url)
        behaviour.failures += [(500, "oh"), (503, "oh")]
        assert ServerModel(server).score([b"abab"])[0].tokens == 2


def test_fewer_log_probabilities_than_tokens() -> None:
    behaviour = Behaviour()
    with serving(behaviour) as url:
        server = opened(url)
        behaviour.drop = 1
        with pytest.raises(ScoreError, match="returned 3 log-probabilities for 4 tokens"):
            ServerTokens(server, tokens.load("bytes")).log_probs([np.arange(4, dtype=np.int32)])
        with pytest.raises(ScoreError, match="returned 1 log-probabilities for 2 tokens"):
            ServerModel(server).score([b"abab"])


def test_a_server_that_cuts_the_text() -> None:
    behaviour = Behaviour()
    with serving(behaviour) as url:
        server = opened(url)
        behaviour.cut = 6
        with pytest.raises(ScoreError, match="cover 6 of the text's 10 characters"):
            ServerModel(server).score([b"abcdefghij"])


def test_a_server_without_log_probabilities() -> None:
    with (
        serving(Behaviour(no_logprobs=True)) as url,
        pytest.raises(
            ScoreError, match="returned no log-probabilities of the prompt: it must support"
        ),
    ):
        opened(url)


@pytest.mark.parametrize("value", ["null", '"x"', "NaN", "-Infinity", "2.5", "true"])
def test_log_probabilities_that_are_none(value: str) -> None:
    behaviour = Behaviour()
    logs = f'{{"tokens": ["ab", "cd"], "token_logprobs": [null, {value}]}}'
    with serving(behaviour) as url:
        server = opened(url)
        behaviour.failures.append((200, f'{{"choices": [{{"logprobs": {logs}}}]}}'))
        with pytest.raises(ScoreError, match="must be finite and ≤ 0"):
            ServerModel(server).score([b"abcd"])


def test_models_of_a_server() -> None:
    with serving(Behaviour(models=("one", "two"))) as url:
        with pytest.raises(ValueError, match="has 2 models: choose one of 'one', 'two'"):
            opened(url)
        with pytest.raises(ValueError, match="no model 'three'; it has 'one', 'two'"):
            opened(url, model="three")
        assert opened(url, model="two").model == "two"


def test_a_refusal_that_is_not_about_tokens() -> None:
    behaviour = Behaviour(failures=[(403, "go away")])
    with serving(behaviour) as url, pytest.raises(Refused, match="HTTP 403 .*: go away"):
        opened(url)


def test_what_is_known_of_it() -> None:
    with serving(Behaviour()) as url:
        info = ServerModel(opened(url)).info
    assert (info.name, info.kind) == ("toy", "server")
    assert info.about["url"] == f"{url}/v1"
    assert info.about["first_token"] == "8 bits a byte"


def test_a_vocabulary_of_one() -> None:
    with serving(Behaviour()) as url:
        server = opened(url)
    with pytest.raises(ValueError, match="vocab_size must be ≥ 2, got 1"):
        ServerModel(server, vocab_size=1)
