"""Tokenizers inside GGUF: a trained one goes through the metadata and comes back with its ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer

from barrow.errors import WeightsError
from barrow.weights.gguf.tokenizer import (
    KEPT,
    SETTINGS,
    gguf_tokenizer,
    gguf_tokenizer_config,
    special_ids,
)

TEXTS = [
    "The barrow's 1234 stones, they'll carry 56 more.\n\n  Ünïcode 日本語 naïve e\u0301\t",
    "I'M",
]
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def cutter(pattern: str) -> Any:
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])


CUTTERS = {
    "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "smollm": pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    ),
    "llama-bpe": cutter(LLAMA3),
    "qwen2": cutter(LLAMA3.replace("{1,3}", "")),
}


def trained(cut: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=cut == "llama-bpe"))
    tokenizer.pre_tokenizer = CUTTERS[cut]
    tokenizer.decoder = decoders.ByteLevel()
    if cut == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    return tokenizer


def metadata_of(tokenizer: Tokenizer, cut: str) -> dict[str, Any]:
    table = json.loads(tokenizer.to_str())["model"]
    pieces = sorted(table["vocab"], key=table["vocab"].get)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": cut,
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.token_type": np.array([3] + [1] * (len(pieces) - 1), "<i4"),
        "tokenizer.ggml.merges": [" ".join(merge) for merge in table["merges"]],
    }


@pytest.mark.parametrize("cut", CUTTERS)
def test_ids_come_back(cut: str) -> None:
    original = trained(cut)
    table = gguf_tokenizer(metadata_of(original, cut), path="x")
    found = Tokenizer.from_str(json.dumps(table))
    for text in [*TEXTS, "unseen 99 wörds 🙂 <|end|>"]:
        ids = original.encode(text).ids
        assert found.encode(text).ids == ids
        assert found.decode(ids, skip_special_tokens=False) == original.decode(
            ids, skip_special_tokens=False
        )
    assert found.encode("<|end|>").ids == [0]
    assert len(original.encode(TEXTS[0]).ids) < len(TEXTS[0].encode())  # merges are at work


def test_a_byte_level_text_that_begins_with_a_token() -> None:
    metadata = metadata_of(trained("llama-bpe"), "llama-bpe")
    metadata |= {"tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.add_bos_token": True}
    found = Tokenizer.from_str(json.dumps(gguf_tokenizer(metadata, path="x")))
    assert found.encode("The").tokens[0] == "<|end|>"
    assert found.encode("The", "I").ids.count(0) == 2


@pytest.mark.parametrize(
    ("cut", "tokens"),
    [
        ("gpt-2", ["12", "34"]),
        ("smollm", ["1", "2", "3", "4"]),
        ("llama-bpe", ["12", "3", "4"]),
        ("qwen2", ["1", "2", "3", "4"]),
    ],
)
def test_how_numbers_are_cut(cut: str, tokens: list[str]) -> None:
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": cut,
        "tokenizer.ggml.tokens": ["1", "2", "3", "4", "12", "34"],
        "tokenizer.ggml.merges": ["1 2", "3 4"],
    }
    found = Tokenizer.from_str(json.dumps(gguf_tokenizer(metadata, path="x")))
    assert found.encode("1234").tokens == tokens


@pytest.mark.parametrize(("cut", "whole"), [("llama-bpe", True), ("gpt-2", False)])
def test_a_word_that_is_a_piece_but_no_merge_makes(cut: str, whole: bool) -> None:
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": cut,
        "tokenizer.ggml.tokens": ["a", "b", "c", "abc"],
    }
    found = Tokenizer.from_str(json.dumps(gguf_tokenizer(metadata, path="x")))
    assert found.encode("abc").tokens == (["abc"] if whole else ["a", "b", "c"])


def test_words_of_the_user_are_not_special() -> None:
    metadata = metadata_of(trained("gpt-2"), "gpt-2")
    metadata["tokenizer.ggml.token_type"] = np.array(
        [3, 4] + [1] * (len(metadata["tokenizer.ggml.tokens"]) - 2), "<i4"
    )
    table = gguf_tokenizer(metadata, path="x")
    assert table is not None
    assert [token["special"] for token in table["added_tokens"]] == [True, False]


def scored(**changes: Any) -> dict[str, Any]:
    pieces = ["<unk>", "<s>", *(f"<0x{i:02X}>" for i in range(256)), "▁a", "▁", "a"]
    values = {
        "model": "llama",
        "tokens": pieces,
        "scores": np.array([0.0] * 258 + [0, -1, -2], "<f4"),
        "token_type": np.array([2, 3] + [6] * 256 + [1] * 3, "<i4"),
        "unknown_token_id": 0,
        **changes,
    }
    return {f"tokenizer.ggml.{name}": value for name, value in values.items()}


def test_pieces_with_scores() -> None:
    found = Tokenizer.from_str(json.dumps(gguf_tokenizer(scored(), path="x")))
    assert found.encode("a a\n").tokens == ["▁a", "▁a", "<0x0A>"]
    assert found.decode(found.encode("a a\n").ids) == "a a\n"
    bare = gguf_tokenizer(scored(add_space_prefix=False), path="x")
    assert Tokenizer.from_str(json.dumps(bare)).encode("a").tokens == ["a"]


def test_no_tokenizer() -> None:
    assert gguf_tokenizer({}, path="x") is None


def test_special_tokens_by_their_role(tmp_path: Path) -> None:
    metadata = {
        **scored(bos_token_id=1, unknown_token_id=0),
        "tokenizer.chat_template": "{{ messages }}",
    }
    table = gguf_tokenizer_config(metadata, max_length=64, path="x")
    assert (table["bos_token"], table["unk_token"]) == ("<s>", "<unk>")
    assert table["add_bos_token"] is True
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(table))
    text = json.dumps(gguf_tokenizer(metadata, path="x"))
    (tmp_path / "tokenizer.json").write_text(text)
    found = AutoTokenizer.from_pretrained(tmp_path)
    assert (found.bos_token_id, found.unk_token_id, found.eos_token_id) == (1, 0, None)
    assert (found.model_max_length, found.chat_template) == (64, "{{ messages }}")
    assert found.convert_ids_to_tokens(found("a a").input_ids) == ["<s>", "▁a", "▁a"]
    plain = {**metadata, "tokenizer.ggml.add_bos_token": False}
    assert gguf_tokenizer_config(plain, max_length=64, path="x")["add_bos_token"] is False
    bare = gguf_tokenizer(plain, path="x")
    assert Tokenizer.from_str(json.dumps(bare)).encode("a").tokens == ["▁a"]
    for number in (261, -1, "x"):
        wrong = {**metadata, "tokenizer.ggml.eos_token_id": number}
        with pytest.raises(WeightsError, match="eos_token_id .* is past the pieces"):
            gguf_tokenizer_config(wrong, max_length=64, path="x")


GOOD = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": ["a", "b", "ab"],
    "tokenizer.ggml.merges": ["a b"],
}


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({**GOOD, "tokenizer.ggml.model": "bert"}, "tokenizer kind 'bert' is not supported"),
        ({**GOOD, "tokenizer.ggml.pre": "tekken"}, "tokenizer.ggml.pre is 'tekken'; gpt-2, smollm"),
        ({**GOOD, "tokenizer.ggml.pre": ["x"]}, r"tokenizer.ggml.pre is \['x'\]"),
        ({**GOOD, "tokenizer.ggml.tokens": 3}, "tokens is not a list of strings"),
        ({**GOOD, "tokenizer.ggml.tokens": ["a", "b", "a"]}, "has a duplicate piece"),
        (
            {**GOOD, "tokenizer.ggml.merges": ["ab"]},
            "merge 'ab' does not join two pieces into a piece",
        ),
        ({**GOOD, "tokenizer.ggml.merges": ["a c"]}, "merge 'a c' does not join two pieces"),
        ({**GOOD, "tokenizer.ggml.merges": ["b a"]}, "merge 'b a' does not join two pieces"),
        ({**GOOD, "tokenizer.ggml.merges": 7}, "merges is not a list"),
        ({**GOOD, "tokenizer.ggml.token_type": np.ones(2)}, "token_type is not 3 numbers"),
        ({**GOOD, "tokenizer.ggml.token_type": [1, 1, 1]}, "token_type is not 3 numbers"),
        (scored(scores=None), "scores is missing"),
        (scored(unknown_token_id=9999), "unknown_token_id 9999 is past the 261 pieces"),
        (scored(bos_token_id=261), "bos_token_id 261 is past the pieces"),
        (scored(unknown_token_id="x"), "unknown_token_id 'x' is past"),
        (scored(tokens=["a"] * 261), "the vocabulary has a duplicate: 'a'"),
    ],
)
def test_metadata_that_is_wrong(metadata: dict[str, Any], words: str) -> None:
    with pytest.raises(WeightsError, match=words):
        gguf_tokenizer(metadata, path="x.gguf")


def test_what_ends_a_text_and_templates_by_name() -> None:
    metadata = {
        **scored(bos_token_id=1, eos_token_id=0, eot_token_id=2, add_eos_token=True),
        "tokenizer.chat_template": "a",
        "tokenizer.chat_templates": ["tool_use"],
        "tokenizer.chat_template.tool_use": "b",
    }
    table = gguf_tokenizer_config(metadata, max_length=64, path="x")
    assert (table["add_bos_token"], table["add_eos_token"]) == (True, True)
    assert table["chat_template"] == [
        {"name": "default", "template": "a"},
        {"name": "tool_use", "template": "b"},
    ]
    found = Tokenizer.from_str(json.dumps(gguf_tokenizer(metadata, path="x")))
    assert found.encode("a").tokens == ["<s>", "▁a", "<unk>"]
    assert special_ids(metadata, "x") == {"bos_token": 1, "eos_token": 0, "unk_token": 0, "eot": 2}


def test_pieces_of_the_user_and_unused_ones() -> None:
    types = np.array([2, 3] + [6] * 256 + [1, 4, 5], "<i4")
    table = gguf_tokenizer(scored(token_type=types), path="x")
    assert table is not None
    assert [(one["id"], one["special"]) for one in table["added_tokens"]] == [
        (0, True),
        (1, True),
        (259, False),
    ]
    assert "a" not in table["model"]["vocab"]


@pytest.mark.parametrize(
    ("key", "value"), [(SETTINGS, "{"), (SETTINGS, "[]"), (KEPT, '{"normalizer": 3}')]
)
def test_what_was_kept_is_damaged(key: str, value: str) -> None:
    with pytest.raises(WeightsError, match=f"{key}.*(is damaged|not a JSON object|JSON)"):
        gguf_tokenizer({**GOOD, key: value}, path="x")


def test_keys_that_a_program_changed_come_before_what_was_kept() -> None:
    kept = {
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "decoder": None,
    }
    metadata = {**GOOD, KEPT: json.dumps(kept), "tokenizer.ggml.pre": "smollm"}
    table = gguf_tokenizer(metadata, path="x")
    assert table is not None
    assert table["pre_tokenizer"]["type"] == "Sequence"
    metadata = {**GOOD, SETTINGS: '{"bos_token": "a", "eos_token": null, "legacy": false}'}
    metadata |= {"tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 1}
    config = gguf_tokenizer_config(metadata, max_length=8, path="x")
    assert config == {"bos_token": "b", "eos_token": None, "legacy": False}
