from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Reference

from barrow.errors import TokenizerError
from barrow.tokens import JsonTokenizer
from barrow.tokens.byte_alphabet import LETTERS
from barrow.tokens.tokenizer_json import byte_level, byte_level_bpe, check, parse


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
        ([], "is not a tokenizer: it has no model"),
        ({"a": 1}, "is it another of the model's files"),
        ({"model": {"vocab": {}, "type": "Magic"}}, "one of BPE, Unigram, .* got 'Magic'"),
        (vocabulary(a=0, b=2), "has a gap: its ids go up to 2, and 1 has no token"),
        (vocabulary(a=0, b=0), "id 0 is given twice, to 'a' and to 'b'"),
        (vocabulary(a=0, b="1"), "must have an id ≥ 0"),
        (vocabulary(a=0, b=-1), "must have an id ≥ 0"),
        (vocabulary(), "the vocabulary is empty"),
        (added({"id": 1, "content": "c"}), "id 1 is given twice, to 'b' and to 'c'"),
        (added({"id": 5, "content": "b"}), "'b' was added as id 5, but is already id 1 of"),
        (added({"content": "c"}), "an added token must have an id and content"),
        (merges(["a", "c"]), "merge 0 .* names 'c', which the vocabulary does not have"),
        (merges(["a", "b"], ["b", "a"]), "merge 1 .* names 'ba'"),
        (merges(["a", "b", "c"]), "merge 0 must be two tokens"),
        (merges("ab"), "merge 0 must be two tokens, got 'ab'"),
        (merges(7), "merge 0 must be two tokens"),
        (merges([1, 2]), "merge 0 must be two tokens"),
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


@given(
    in_vocab=st.permutations(range(6)),
    size=st.integers(2, 5),
    ids=st.lists(st.integers(0, 8), max_size=3, unique=True),
    special=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_added_tokens_are_where_the_reference_puts_them(
    in_vocab: list[int], size: int, ids: list[int], special: bool
) -> None:
    """Whatever is accepted has the ids that the library gives; what it keeps is accepted."""
    vocab = {f"w{number}": number for number in in_vocab[:size]}
    tokens = [{"id": i, "content": f"w{i}", "special": special} for i in ids]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    data = {
        "version": "1.0",
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "truncation": None,
        "padding": None,
        "decoder": None,
        "model": {"type": "WordLevel", "unk_token": "w0", "vocab": vocab},
        "added_tokens": [token | flags for token in tokens],
    }
    reference = Reference.from_str(json.dumps(data))
    kept = all(reference.token_to_id(f"w{i}") == i for i in ids)
    rest = set(vocab.values()) - set(ids)
    whole = set(range(max(rest, default=-1))) <= {*rest, *ids}
    if kept and whole:
        check(data, "x")
    else:
        with pytest.raises(TokenizerError, match="library makes it id|has a gap"):
            check(data, "x")


def test_an_added_token_that_the_reference_would_move() -> None:
    """Added at 256 and 257 with a merge at 258: the library makes them 257 and 258."""
    vocab = {letter: number for number, letter in enumerate(LETTERS)} | {"ab": 258}
    data = byte_level_bpe(
        vocab,
        [("a", "b")],
        pre_tokenizer=byte_level(use_regex=True),
        specials={"<begin>": 256, "<end>": 257},
    )
    assert Reference.from_str(json.dumps(data)).token_to_id("<begin>") == 257
    with pytest.raises(TokenizerError, match="'<begin>' was added as id 256, but .* makes it id"):
        check(data, "x")
    with pytest.raises(TokenizerError, match="'c' was added as id 9, but .* makes it id 2: added"):
        check(added({"id": 9, "content": "c", "special": True}), "x")


def test_ids_may_lie_apart_from_the_vocabulary() -> None:
    data = {**vocabulary(a=0, b=1, c=9), "added_tokens": [{"id": 9, "content": "c"}]}
    assert check(data, "x").vocab_size == 10


def test_a_hole_may_hold_what_was_added() -> None:
    data = {**vocabulary(a=0, b=2, c=1), "added_tokens": [{"id": 1, "content": "c"}]}
    assert check(data, "x").vocab_size == 3
