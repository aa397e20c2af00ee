from __future__ import annotations

import importlib
import json
import random
import re
import sys
import types
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library

from barrow.errors import MissingExtra, TokenizerError
from barrow.tokens import ByteTokenizer, JsonTokenizer
from barrow.tokens.encoders import Fast, make_encoder, supported_pattern
from barrow.tokens.patterns import PATTERNS, pre_tokenizer
from barrow.tokens.tokenizer_json import TokenizerJson, check


@pytest.fixture(scope="module")
def files(trained: JsonTokenizer) -> dict[str, TokenizerJson]:
    """The trained vocabulary with every pattern, and with whole words looked up first."""
    data = json.loads(trained._file.text())
    made = {name: check({**data, "pre_tokenizer": pre_tokenizer(name)}, "x") for name in PATTERNS}
    data["model"]["ignore_merges"] = True
    return made | {"whole words": check(data, "x")}


def reference(file: TokenizerJson, texts: list[str]) -> list[list[int]]:
    library = Library.from_str(file.text())
    library.encode_special_tokens = True
    return [library.encode(text, add_special_tokens=False).ids for text in texts]


def split(ids: np.ndarray, starts: np.ndarray) -> list[list[int]]:
    return [part.tolist() for part in np.split(ids, starts[1:-1])]


def fuzzed(num: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    by_kind: dict[str, list[str]] = {}
    for point in [*range(0x3000), *range(0x3000, 0x33480, 7), *range(0xE0000, 0x110000, 999)]:
        if not 0xD800 <= point < 0xE000:
            by_kind.setdefault(unicodedata.category(chr(point)), []).append(chr(point))
    atoms = ["'s", "'S", "'ll", "'ſ", " ", "  ", "\n", "\r\n", "\t", "1", "1234", "the", "<s>"]
    texts = []
    for _ in range(num):
        kinds = rng.sample(sorted(by_kind), rng.randint(1, 4))
        pool = [lambda: rng.choice(atoms), lambda k=kinds: rng.choice(by_kind[rng.choice(k)])]
        texts.append("".join(rng.choice(pool)() for _ in range(rng.randint(0, 60))))
    return texts


@pytest.mark.parametrize("kind", [*PATTERNS, "whole words"])
def test_ids_are_the_references(
    files: dict[str, TokenizerJson], kind: str, encoder: bool, strange: list[str]
) -> None:
    texts = [*strange, *fuzzed(1500, 7), "x" * 100_000, "日" * 20_000]
    made = make_encoder(files[kind], fast=encoder)
    assert made.name.startswith("fastokens" if encoder else "tokenizers")
    assert split(*made.encode(texts)) == reference(files[kind], texts)


@given(texts=st.lists(st.text(), max_size=8))
def test_ids_are_the_references_for_any_text(
    files: dict[str, TokenizerJson], encoder: bool, texts: list[str]
) -> None:
    for kind in ("gpt2", "o200k"):
        made = _made(files[kind], encoder)
        ids, starts = made.encode(texts)
        assert (ids.dtype, starts.dtype) == (np.uint32, np.int64)
        assert len(starts) == len(texts) + 1
        if texts:
            assert split(ids, starts) == reference(files[kind], texts)


_MADE: dict[tuple[str, bool], Any] = {}


def _made(file: TokenizerJson, fast: bool) -> Any:
    if (file.hash, fast) not in _MADE:
        _MADE[file.hash, fast] = make_encoder(file, fast=fast)
    return _MADE[file.hash, fast]


def test_which_kinds_are_known(files: dict[str, TokenizerJson]) -> None:
    for name, file in files.items():
        assert supported_pattern(file) == ("gpt2" if name == "whole words" else name)
    data = json.loads(files["gpt2"].text())
    ordinary = {**data["added_tokens"][0], "special": False}
    cut = data["pre_tokenizer"]
    for change in (
        {"normalizer": {"type": "NFC"}},
        {"added_tokens": [ordinary]},
        {"pre_tokenizer": {**cut, "add_prefix_space": True}},
        {"pre_tokenizer": {**cut, "use_regex": False}},
        {"pre_tokenizer": None},
        {"model": {**data["model"], "byte_fallback": True}},
        {"model": {**data["model"], "unk_token": "a"}},
    ):
        assert supported_pattern(check({**data, **change}, "x")) is None
    del cut["use_regex"], cut["trim_offsets"]
    assert supported_pattern(check(data, "x")) == "gpt2"


class Wrong:
    """A library that is like the reference, but for texts with a certain word in them."""

    def __init__(self, text: str, word: str) -> None:
        self._library = Library.from_str(text)
        self._word = word

    def encode_batch_flat(self, texts: list[str]) -> tuple[bytes, bytes]:
        (text,) = texts
        ids = self._library.encode(text, add_special_tokens=False).ids
        if self._word in text:
            ids = ids[:-1]
        return np.array(ids, np.uint32).tobytes(), b""


def pretend(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    """Install a fastokens that gets a word wrong."""
    module = types.ModuleType("fastokens")

    class Tokenizer:
        @staticmethod
        def from_json_str(text: str) -> Wrong:
            if word == "unsupported":
                raise ValueError("no such pre-tokenizer")
            return Wrong(text, word)

    module.Tokenizer = Tokenizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastokens", module)
    monkeypatch.setattr("importlib.metadata.version", lambda _: "9.9")


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("\U00032ffa", "fastokens 9.9 is not used: fastokens 9.9 and tokenizers .* different ids"),
        ("'ll", "give different ids for"),
        ("unsupported", "fastokens 9.9 is not used: no such pre-tokenizer"),
    ],
)
def test_a_library_that_differs_is_not_used(
    files: dict[str, TokenizerJson], monkeypatch: pytest.MonkeyPatch, word: str, words: str
) -> None:
    """A newer Unicode, a contraction, a kind it does not know."""
    pretend(monkeypatch, word)
    made = make_encoder(files["gpt2"], fast=True)
    assert made.name.startswith("tokenizers ")
    assert re.search(words, made.name)
    assert split(*made.encode(["it'll do", "x"])) == reference(files["gpt2"], ["it'll do", "x"])


def test_a_difference_that_shows_later_stops_everything(
    files: dict[str, TokenizerJson], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, "mound")
    made = make_encoder(files["gpt2"], fast=True)
    assert made.name == "fastokens 9.9"
    made.encode(["the barrow"])
    with pytest.raises(TokenizerError, match="fast=False and encode the whole corpus again"):
        made.encode(["the mound"])
    # In a long run of texts, some of each stretch are looked at.
    monkeypatch.setattr("barrow.tokens.encoders._COMPARED_EVERY", 10_000)
    many = ["the barrow " * 100] * 30
    made.encode(many)
    with pytest.raises(TokenizerError, match="different ids"):
        made.encode([*many, *["the mound " * 100] * 30])


def test_what_it_does_otherwise_is_left_to_the_reference(
    files: dict[str, TokenizerJson], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, "ſ")
    made = make_encoder(files["o200k"], fast=True)
    assert isinstance(made, Fast)
    texts = ["x'ſ the", "the", "ſ"]
    assert split(*made.encode(texts)) == reference(files["o200k"], texts)
    assert make_encoder(files["gpt2"], fast=True).name.startswith("tokenizers")


@pytest.mark.parametrize("blank", ["\n ", "\r ", "\r\n  ", " \n\n\t"])
def test_blanks_at_the_end_of_cl100k(trained: JsonTokenizer, encoder: bool, blank: str) -> None:
    """There they are one piece with the line break before them, and can be one token."""
    data = json.loads(trained._file.text()) | {"added_tokens": []}
    for line, space in (("Ċ", "Ġ"), ("č", "Ġ"), ("Ċ", "ĉ")):
        data["model"]["vocab"][line + space] = len(data["model"]["vocab"])
        data["model"]["merges"].append([line, space])
    file = check(data | {"pre_tokenizer": pre_tokenizer("cl100k")}, "x")
    made = make_encoder(file, fast=encoder)
    texts = [f"the{blank}", f"{blank}the{blank}", blank, f"the{blank}x"]
    assert split(*made.encode(texts)) == reference(file, texts)
    if encoder:
        assert isinstance(made, Fast)
        cut = check(data | {"pre_tokenizer": pre_tokenizer("llama3")}, "x")
        assert reference(cut, texts) != reference(file, texts), "it would not be seen here"


def test_without_libraries(
    files: dict[str, TokenizerJson], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*names: str) -> Any:
        found = importlib.import_module

        def load(name: str) -> Any:
            if name in names:
                raise ImportError(name)
            return found(name)

        return load

    with monkeypatch.context() as patch:
        patch.setattr("barrow.tokens.encoders.importlib.import_module", gone("fastokens"))
        name = make_encoder(files["gpt2"], fast=True).name
        assert "fastokens is not installed: pip install '.[fast]' in a checkout" in name
    with monkeypatch.context() as patch:
        patch.setattr("barrow.tokens.encoders.importlib.import_module", gone("tokenizers"))
        with pytest.raises(MissingExtra, match=r"tokenizers: pip install '.\[tokens\]'"):
            make_encoder(files["gpt2"], fast=True)
        assert ByteTokenizer().encode("a").tolist() == [97]
    told = make_encoder(
        check({**files["gpt2"].data, "normalizer": {"type": "NFC"}}, "x"), fast=True
    )
    assert "no faster encoder is known" in told.name
