from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barrow.errors import TokenizerError
from barrow.tokens import JsonTokenizer, load
from barrow.tokens.roles import Roles, roles
from barrow.tokens.tokenizer_json import check, special_tokens


def found(names: list[str], settings: Any = None, processor: Any = None) -> Roles:
    specials = {name: number + 1 for number, name in enumerate(names)}
    data = {
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
        "added_tokens": special_tokens(specials),
        "post_processor": processor,
    }
    return roles(check(data, "x"), settings or {})


def template(*items: str) -> Any:
    def item(name: str) -> Any:
        if name.startswith("$"):
            return {"Sequence": {"id": name[1:], "type_id": 0}}
        return {"SpecialToken": {"id": name, "type_id": 0}}

    return {"type": "TemplateProcessing", "single": [item(name) for name in items]}


ROBERTA = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}
LLAMA3 = {"type": "Sequence", "processors": [{"type": "ByteLevel"}, template("<|begin|>", "$A")]}


@pytest.mark.parametrize(
    ("names", "settings", "processor", "expected"),
    [
        (["<|endoftext|>"], None, None, Roles(begin=1)),
        (["<|endoftext|>"], None, {"type": "ByteLevel"}, Roles(begin=1)),
        (["<unk>", "<s>", "</s>"], None, template("<s>", "$A"), Roles(begin=2)),
        (["<|x|>", "<|begin|>"], None, LLAMA3, Roles(begin=2)),
        (
            ["<s>", "</s>", "<pad>", "<mask>"],
            None,
            ROBERTA,
            Roles(begin=1, end=2, pad=3, mask=4),
        ),
        (
            ["[PAD]", "[CLS]", "[SEP]", "[MASK]"],
            None,
            template("[CLS]", "$A", "[SEP]"),
            Roles(begin=2, end=3, pad=1, mask=4),
        ),
        (["</s>", "<pad>"], None, template("$A", "</s>"), Roles(end=1, pad=2)),
        (["<s>", "</s>"], None, template("$A", "</s>"), Roles(end=2)),
        (["<doc>", "<fill>"], {"bos_token": "<doc>"}, None, Roles(begin=1)),
        (
            ["<s>", "<doc>", "<fill>"],
            {"bos_token": {"content": "<doc>"}, "pad_token": "<fill>"},
            None,
            Roles(begin=2, pad=3),
        ),
        (["<s>"], {"bos_token": "<gone>", "pad_token": None}, None, Roles(begin=1)),
        (["<strange>"], None, None, Roles()),
    ],
)
def test_roles(names: list[str], settings: Any, processor: Any, expected: Roles) -> None:
    assert found(names, settings, processor) == expected


@pytest.mark.parametrize(
    ("processor", "words"),
    [
        ({"type": "TemplateProcessing"}, "the post-processor must have"),
        ({"type": "RobertaProcessing", "cls": "<s>", "sep": []}, "must have cls and sep"),
        ({"type": "BertProcessing", "cls": ["a", 9000], "sep": ["b", 0]}, "id 9000 before every"),
        ({"type": "BertProcessing", "cls": ["a", 0], "sep": ["b", 9000]}, "id 9000 after every"),
    ],
)
def test_a_post_processor_that_does_not_belong(
    trained: JsonTokenizer, processor: dict[str, Any], words: str
) -> None:
    """Ids over the vocabulary would otherwise get into the store."""
    data = {**trained._file.data, "post_processor": processor}
    with pytest.raises(TokenizerError, match=words):
        JsonTokenizer(check(data, "here"))


def test_what_is_put_around_need_not_be_special(trained: JsonTokenizer, tmp_path: Path) -> None:
    around = {"type": "BertProcessing", "cls": ["a", 97], "sep": ["b", 98]}
    tokenizer = JsonTokenizer(check({**trained._file.data, "post_processor": around}, "here"))
    tokenizer.save(tmp_path)
    again = load(tmp_path)
    assert (again.begin, again.end) == (tokenizer.begin, tokenizer.end) == (97, 98)
