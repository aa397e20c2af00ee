"""Requests to a server: retries, time-outs, and what went wrong in words."""

from __future__ import annotations

import json
import pickle

import pytest
from tests.score.completion_server import Behaviour, serving

from barrow.errors import ScoreError
from barrow.score.models.completions import Refused, ServerSettings, ask, key_from

BODY = {"model": "toy", "prompt": "abab", "max_tokens": 0}


def test_it_tries_again_with_longer_pauses() -> None:
    slept: list[float] = []
    behaviour = Behaviour(failures=[(503, "busy"), (429, "slower"), (500, "")])
    with serving(behaviour) as url:
        answer = ask(ServerSettings(url, pause=0.5), "completions", BODY, sleep=slept.append)
    assert answer["usage"]["prompt_tokens"] == 2
    assert slept == [0.5, 1.0, 2.0]


def test_it_gives_up() -> None:
    behaviour = Behaviour(failures=[(503, '{"error": "no  room"}')] * 9)
    with serving(behaviour) as url:
        words = r"/v1/completions: HTTP 503 .*: no room \(tried 3 times\)"
        with pytest.raises(ScoreError, match=words):
            ask(ServerSettings(url, attempts=3), "completions", BODY, sleep=lambda _: None)
    assert len(behaviour.requests) == 3


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"error": {"message": "context is 64 tokens", "code": 400}}),
        json.dumps({"message": "context is 64 tokens"}),
        json.dumps({"detail": "context is 64 tokens"}),
        "context is\n64 tokens",
    ],
)
def test_a_refusal_has_the_servers_words(body: str) -> None:
    behaviour = Behaviour(failures=[(400, body)])
    with serving(behaviour) as url, pytest.raises(Refused, match="context is 64 tokens") as caught:
        ask(ServerSettings(url), "completions", BODY)
    assert caught.value.status == 400
    assert len(behaviour.requests) == 1
    assert pickle.loads(pickle.dumps(caught.value)).status == 400


def test_no_answer_in_time() -> None:
    with serving(Behaviour(delay=0.5)) as url:
        settings = ServerSettings(url, timeout=0.1, attempts=2, pause=0)
        with pytest.raises(ScoreError, match=r"no answer for 0\.1 seconds \(tried 2 times\)"):
            ask(settings, "completions", BODY)


def test_nobody_there() -> None:
    with serving(Behaviour()) as url:
        pass
    with pytest.raises(ScoreError, match=r"cannot be reached \(.*refused\) \(tried once\)"):
        ask(ServerSettings(url, attempts=1), "models")


@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_that_is_too_deep(status: int) -> None:
    behaviour = Behaviour(failures=[(status, "[" * 50_000)])
    with serving(behaviour) as url, pytest.raises(ScoreError, match=r"\[\["):
        ask(ServerSettings(url, attempts=1), "completions", BODY)


def test_what_is_no_json() -> None:
    behaviour = Behaviour(failures=[(200, "<html>")])
    with (
        serving(behaviour) as url,
        pytest.raises(ScoreError, match="did not answer with JSON: '<html>'"),
    ):
        ask(ServerSettings(url), "completions", BODY)


def test_redirects_are_not_followed() -> None:
    behaviour = Behaviour(failures=[(302, "")])
    with serving(behaviour) as url, pytest.raises(Refused, match=r"redirects to .*elsewhere"):
        ask(ServerSettings(url), "completions", BODY)


def test_a_key_is_sent_and_never_told() -> None:
    key = key_from({"MY_KEY": " sk-secret \n"}, "MY_KEY")
    assert key == "sk-secret"
    behaviour = Behaviour(failures=[(401, '{"error": "wrong key sk-secret"}')])
    with serving(behaviour) as url:
        settings = ServerSettings(url, key=key)
        with pytest.raises(Refused, match="wrong key …") as caught:
            ask(settings, "completions", BODY)
    assert behaviour.keys == ["Bearer sk-secret"]
    assert "sk-secret" not in repr(settings) + repr(caught.value)


def test_without_a_key_none_is_sent() -> None:
    behaviour = Behaviour()
    with serving(behaviour) as url:
        ask(ServerSettings(url, key=key_from({}, None)), "completions", BODY)
    assert behaviour.keys == [None]


def test_keys_that_are_not_there() -> None:
    with pytest.raises(ValueError, match="MY_KEY, which should hold a key, is not set"):
        key_from({"OTHER": "x"}, "MY_KEY")
    with pytest.raises(ValueError, match="MY_KEY is not a valid key") as caught:
        key_from({"MY_KEY": "a\x01b"}, "MY_KEY")
    assert "a\x01b" not in str(caught.value)


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/completions"])
def test_addresses(end: str) -> None:
    assert ServerSettings(f"https://h:8{end}").base == "https://h:8/v1"


def test_wrong_settings() -> None:
    with pytest.raises(ValueError, match="http or https URL"):
        ServerSettings("ftp://h")
    with pytest.raises(ValueError, match="must be ≥ 1"):
        ServerSettings("http://h", attempts=0)
