"""Against transformers' `apply_chat_template`: its text, its tokens, its mask."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.tokens.chat import templates

from barrow.errors import TokenizerError
from barrow.tokens import ByteTokenizer, Tokenizer, load, train
from barrow.tokens.chat import ChatTemplate, find_template

TALK = [
    {"role": "user", "content": "How many stones — 3 or <4>?\n  "},
    {"role": "assistant", "content": "Three & a “half”. 日本語 🙂"},
    {"role": "user", "content": "{{ 7 * 7 }} {% raw %}"},
    {"role": "assistant", "content": "<think>\nso it is\n</think>\n\nNo."},
]
SYSTEM = {"role": "system", "content": "Be brief.\n"}
TOOL = {
    "type": "function",
    "function": {"name": "stones", "description": "Counts <b>é</b>", "parameters": {"a": [1, 2]}},
}
CALL = [
    {"role": "user", "content": "Count."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"function": {"name": "stones", "arguments": {"where": "hill", "n": 2}}}],
    },
    {"role": "tool", "content": "3"},
]
DOUBLING = (
    "{% set n = namespace(x='a' * 99) %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}"
    "{% endfor %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer whose specials are those of all templates."""
    folder = tmp_path_factory.mktemp("tokenizer")
    texts = [message["content"] or "" for message in TALK] * 20
    train(texts, vocab_size=350, specials=templates.SPECIALS).save(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings |= {"bos_token": "<s>", "eos_token": {"__type": "AddedToken", "content": "</s>"}}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return load(folder)


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture
def made(folder: Path) -> Iterator[Any]:
    """Templates with the tokenizer's special tokens; their processes end with the test."""
    opened = []

    def make(source: str) -> ChatTemplate:
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        found = find_template({**settings, "chat_template": source})
        assert found is not None
        opened.append(found)
        return found

    yield make
    for each in opened:
        each.close()


@pytest.mark.parametrize("name", templates.ALL)
def test_text_and_tokens_are_those_of_transformers(
    name: str, made: Any, theirs: Any, tokenizer: Tokenizer
) -> None:
    source = templates.ALL[name]
    template = made(source)
    talks = [TALK, TALK[:1]]
    if name != "mistral":
        talks.append([SYSTEM, *TALK[:3]])
    cases: list[tuple[Any, dict[str, Any]]] = [(talk, {}) for talk in talks]
    if name in ("qwen", "llama3.1"):
        cases += [(CALL, {}), (CALL, {"tools": [TOOL]})]
    if name == "qwen3":
        cases.append((TALK[:1], {"enable_thinking": False}))
    for messages, more in cases:
        for asks in (False, True):
            more = {**more, "add_generation_prompt": asks}
            expected = theirs.apply_chat_template(
                messages, chat_template=source, tokenize=False, **more
            )
            assert template.render(messages, **more) == expected
            ids = theirs.apply_chat_template(
                messages, chat_template=source, return_dict=False, **more
            )
            assert template.encode(messages, tokenizer, **more).tolist() == ids
    named = {tokenizer.specials[name] for name in templates.SPECIALS if name in source}
    assert named <= set(template.encode(TALK, tokenizer).tolist())


def test_answers_are_those_that_the_template_marks(
    made: Any, theirs: Any, tokenizer: Tokenizer
) -> None:
    template = made(templates.SMOLLM_TRAINING)
    for messages in (TALK, [SYSTEM, *TALK], TALK[:1]):
        expected = theirs.apply_chat_template(
            messages,
            chat_template=templates.SMOLLM_TRAINING,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        found = template.encode_answers(messages, tokenizer)
        assert found.ids.tolist() == expected["input_ids"]
        assert found.is_answer.tolist() == [bool(x) for x in expected["assistant_masks"]]


def test_marks_are_found_where_transformers_loses_their_place(made: Any) -> None:
    """In a macro, what a template has written so far is not known to it."""
    source = (
        "{% macro turn(m) %}<{{ m.role }}>{% generation %}{{ m.content }}{% endgeneration %}|"
        "{% endmacro %}{% for m in messages %}{{ turn(m) }}{% endfor %}"
    )
    text, places = made(source).render_answers([{"role": "a", "content": "xy"}] * 2)
    assert text == "<a>xy|<a>xy|"
    assert [text[start:stop] for start, stop in places] == ["xy", "xy"]


@pytest.mark.parametrize("name", ["chatml", "llama3", "mistral", "zephyr", "olmo"])
def test_answers_without_marks_are_what_their_messages_add(name: str, made: Any) -> None:
    text, places = made(templates.ALL[name]).render_answers(TALK)
    end = {"chatml": "<|im_end|>", "llama3": "<|eot_id|>"}.get(name, "</s>")
    contents = [message["content"] for message in TALK if message["role"] == "assistant"]
    assert [text[start:stop] for start, stop in places] == [it + end for it in contents]


def test_a_message_that_changes_others_has_no_place(made: Any) -> None:
    talk = [*TALK[2:], *TALK]  # of earlier answers, Qwen 3 leaves out the thoughts
    with pytest.raises(ValueError, match="message 1 changes the text of others"):
        made(templates.QWEN3).render_answers(talk)


def test_bytes_have_places_too(made: Any) -> None:
    template = made("{% for m in messages %}é{{ m.content }}<|endoftext|>{% endfor %}")
    tokenizer = ByteTokenizer()
    found = template.encode_answers([{"role": "assistant", "content": "ü"}], tokenizer)
    assert found.ids.tolist() == [*"éü".encode(), 256]
    assert found.is_answer.tolist() == [True] * 5
    assert tokenizer.encode_marked("ü<|mask|>").tolist() == [256, *"ü".encode(), 258]


def test_where_templates_are(tmp_path: Path) -> None:
    assert find_template(folder=tmp_path) is None
    assert find_template({"bos_token": "<s>"}) is None
    config = tmp_path / "tokenizer_config.json"
    both = [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]
    config.write_text(json.dumps({"chat_template": both, "eos_token": {"content": "</s>"}}))
    (tmp_path / "special_tokens_map.json").write_text('{"bos_token": "<s>", "eos_token": "x"}')
    found = find_template(folder=tmp_path)
    assert found is not None
    assert (found.source, found.variables) == ("d", {"bos_token": "<s>", "eos_token": "</s>"})
    (tmp_path / "chat_template.jinja").write_text("é", encoding="utf-8")
    found = find_template(folder=tmp_path)
    assert found is not None
    assert found.source == "é"
    for wrong in ({"chat_template": 3}, {"chat_template": [{"name": "default", "template": 3}]}):
        with pytest.raises(TokenizerError, match="chat_template must be a string, got int"):
            find_template(wrong)
    config.write_text("[]")
    with pytest.raises(TokenizerError, match="is not a JSON object"):
        find_template(folder=tmp_path)


def test_a_conversation_may_be_refused(made: Any) -> None:
    with pytest.raises(ValueError, match="refuses the conversation: Only user and assistant"):
        made(templates.MISTRAL).render([TALK[0], {"role": "system", "content": ""}])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{% for %}", "TemplateSyntaxError"),
        ("{{ messages[0].content + 1 }}", "TypeError"),
        ("{{ ''.__class__.__mro__ }}", "SecurityError"),
        ("{% set _ = messages.append(1) %}", "SecurityError"),
        ("{{ range(1000000) | length }}", "OverflowError: Range too big"),
        ("{% include '/etc/passwd' %}", "TypeError: no loader"),
        ("{{ 'a' * 99999999999 }}", "MemoryError"),
        (DOUBLING, "MemoryError"),
        ("{% set n = namespace(a=1) %}{% set n.__class__ = 1 %}", "SecurityError"),
        ("{{ 'a' * 20000000 }}", "more than 16,777,216 characters"),
    ],
)
def test_templates_that_fail(source: str, message: str, made: Any) -> None:
    template = made(source)
    with pytest.raises(TokenizerError, match=f"the chat template failed: .*{message}"):
        template.render(TALK)


def test_a_template_that_loops_is_ended(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barrow.tokens.chat.template._SECONDS", 0.3)
    nines = "range(99999)"
    source = (
        f"{{% if messages|length > 1 %}}{{% for a in {nines} %}}{{% for b in {nines} %}}"
        "{% endfor %}{% endfor %}{% endif %}fine"
    )
    template = made(source)
    assert template.render(TALK[:1]) == "fine"
    for _ in range(2):
        with pytest.raises(TokenizerError, match="it took more than 0.3 s; does it loop"):
            template.render(TALK)
        assert template.render(TALK[:1]) == "fine"


def test_a_process_that_is_killed_is_started_again(made: Any) -> None:
    template = made("fine")
    assert template.render([]) == "fine"
    os.kill(template._process.pid, signal.SIGKILL)
    with pytest.raises(TokenizerError, match="its process ended with -9"):
        template.render([])
    assert template.render([]) == "fine"
    template.close()
    assert template.render([]) == "fine"
