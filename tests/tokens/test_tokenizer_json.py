from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import Tokenizer as Reference

from barrow.errors import TokenizerError
from barrow.tokens import JsonTokenizer
from barrow.tokens.tokenizer_json import check, parse


@pytest.fixture
def data(trained: JsonTokenizer) -> Any:
    return json.loads(trained._file.text())


def test_the_reference_writes_the_file_otherwise_and_the_hash_stays(data: Any) -> None:
    told = check(data, "x").hash
    again = Reference.from_str(json.dumps(data)).to_str(pretty=True)
    assert parse(again, "x").hash == told
    # As versions before 0.20 wrote it.
    old = copy.deepcopy(data)
    old["model"]["merges"] = [" ".join(merge) for merge in old["model"]["merges"]]
    del old["model"]["ignore_merges"], old["model"]["byte_fallback"], old["model"]["type"]
    del old["pre_tokenizer"]["use_regex"]
    old["pre_tokenizer"]["trim_offsets"] = False
    old["model"]["continuing_subword_prefix"] = ""
    old["truncation"] = {"max_length": 8, "strategy": "LongestFirst", "stride": 0}
    old["model"]["vocab"] = dict(reversed(old["model"]["vocab"].items()))
    old["added_tokens"][0]["normalized"] = True
    assert check(old, "x").hash == told


def _other_merge(data: Any) -> None:
    merges = data["model"]["merges"]
    merges[-1], merges[-2] = merges[-2], merges[-1]


def _other_cut(data: Any) -> None:
    data["pre_tokenizer"]["use_regex"] = False


def _other_ids(data: Any) -> None:
    vocab = data["model"]["vocab"]
    vocab["a"], vocab["b"] = vocab["b"], vocab["a"]


def _other_name(data: Any) -> None:
    data["added_tokens"][0]["content"] = "<doc>"


def _normalized(data: Any) -> None:
    data["normalizer"] = {"type": "NFC"}


def _ordinary(data: Any) -> None:
    data["added_tokens"][0]["special"] = False


def _prefixed(data: Any) -> None:
    data["pre_tokenizer"]["add_prefix_space"] = True


def _whole_words(data: Any) -> None:
    data["model"]["ignore_merges"] = True


@pytest.mark.parametrize(
    "change",
    [
        _other_merge,
        _other_cut,
        _other_ids,
        _other_name,
        _normalized,
        _ordinary,
        _prefixed,
        _whole_words,
    ],
)
def test_what_changes_ids_changes_the_hash(data: Any, change: Callable[[Any], None]) -> None:
    told = check(copy.deepcopy(data), "x").hash
    change(data)
    assert check(data, "x").hash != told


def test_scores_count_too() -> None:
    def unigram(score: float) -> Any:
        return {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", score]]}}

    assert check(unigram(-1.0), "x").hash != check(unigram(-2.0), "x").hash
    assert check(unigram(-1.0), "x").vocab == {0: "<unk>", 1: "a"}


def test_what_cuts_or_varies_ids_is_left_out(data: Any) -> None:
    data["truncation"] = {"max_length": 2, "strategy": "LongestFirst", "stride": 0}
    data["truncation"]["direction"] = "Right"
    data["model"]["dropout"] = 0.5
    text = "the barrow carries stones to a mound"
    tokenizer = JsonTokenizer(check(data, "x"))
    first = tokenizer.encode(text).tolist()
    assert len(first) > 2
    assert all(tokenizer.encode(text).tolist() == first for _ in range(5))


def vocabulary(**tokens: Any) -> Any:
    return {"model": {"type": "WordLevel", "unk_token": "a", "vocab": tokens}}


def merges(*pairs: Any) -> Any:
    return {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": list(pairs)}}


def added(*tokens: Any) -> Any:
    return {**vocabulary(a=0, b=1), "added_tokens": list(tokens)}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "is no tokenizer: a tokenizer.json has a model"),
        ({"a": 1}, "is it another of the model's files"),
        ({"model": {"vocab": {}, "type": "Magic"}}, "one of BPE, Unigram, .* not 'Magic'"),
        (vocabulary(a=0, b=2), "has a hole: its ids go up to 2, and 1 is no token's"),
        (vocabulary(a=0, b=0), "id 0 is given twice, to 'a' and to 'b'"),
        (vocabulary(a=0, b="1"), "gives each token an id, a number from 0 on"),
        (vocabulary(a=0, b=-1), "a number from 0 on"),
        (vocabulary(), "the vocabulary is empty"),
        (added({"id": 1, "content": "c"}), "id 1 is given twice, to 'b' and to 'c'"),
        (added({"id": 5, "content": "b"}), "'b' was added as id 5, and is id 1 of the vocab"),
        (added({"content": "c"}), "an added token has an id and content"),
        (merges(["a", "c"]), "merge 0 .* names 'c', which the vocabulary does not have"),
        (merges(["a", "b"], ["b", "a"]), "merge 1 .* names 'ba'"),
        (merges(["a", "b", "c"]), "merge 0 is two tokens"),
        (merges("ab"), "merge 0 is two tokens, unlike 'ab'"),
        (merges(7), "merge 0 is two tokens"),
        (merges([1, 2]), "merge 0 is two tokens"),
        ({"model": {"type": "Unigram", "vocab": [["a"]]}}, "a list of \\[token, score\\]"),
    ],
)
def test_unsound_files_are_refused(data: Any, words: str) -> None:
    with pytest.raises(TokenizerError, match=words) as caught:
        check(data, "some.json")
    assert "some.json" in str(caught.value)


def test_no_json() -> None:
    with pytest.raises(TokenizerError, match="some.json is not JSON: Expecting value"):
        parse("what", "some.json")


def test_ids_may_lie_apart_from_the_vocabulary() -> None:
    file = check(added({"id": 9, "content": "<x>", "special": True}), "x")
    assert file.vocab_size == 10


def test_a_hole_may_hold_what_was_added() -> None:
    data = {**vocabulary(a=0, b=2), "added_tokens": [{"id": 1, "content": "c"}]}
    assert check(data, "x").vocab_size == 3
