from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Reference
from tokenizers import normalizers

from barrow.errors import TokenizerError
from barrow.score.models import transformers
from barrow.tokens import JsonTokenizer, bounds
from barrow.tokens.bounds import UnsafeTokenizer
from barrow.tokens.encoders import panics_named
from barrow.tokens.tokenizer_json import check


def file(**parts: Any) -> dict[str, Any]:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}
    return {"added_tokens": [], **parts, "model": {**model, **parts.get("model", {})}}


def sequence(*parts: Any, kind: str = "normalizers") -> dict[str, Any]:
    return {"type": "Sequence", kind: list(parts)}


def replace(old: str, new: str, *, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: old}, "content": new}


def template(*single: str) -> dict[str, Any]:
    texts = [{"Sequence": {"id": name, "type_id": 0}} for name in single]
    return {"type": "TemplateProcessing", "single": texts, "pair": [], "special_tokens": {}}


def charsmap(texts: dict[bytes, bytes]) -> dict[str, Any]:
    """A table of characters as SentencePiece writes it; block k of 256 units is node k's."""
    nodes = sorted({key[:size] for key in texts for size in range(len(key) + 1)}, key=len)
    place, units, joined = {b"": 0}, [0] * 256 * (len(nodes) + 1), b""
    for number, node in enumerate(nodes, 1):
        base = 256 * number
        for child in (one for one in nodes if len(one) == len(node) + 1 and one[:-1] == node):
            place[child] = base ^ child[-1]
            units[place[child]] |= child[-1]
        units[place[node]] |= (base ^ place[node]) << 10
        if node in texts:
            units[place[node]] |= 1 << 8
            units[base] = 1 << 31 | len(joined)
            joined += texts[node] + b"\0"
    data = struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + joined
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


def damaged(data: bytes) -> dict[str, Any]:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
LIGATURE = {"ﷺ".encode(): "صلى الله عليه وسلم".encode()}  # the longest of NFKC: 11 times
THOUSAND = replace("a", 1000 * "a")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"normalizer": sequence(*[THOUSAND] * 3)}, "normalizer can make 1,000,000,000 bytes of"),
        ({"normalizer": {**sequence(THOUSAND), "aside": []}}, "can make 1,000 bytes of one"),
        ({"normalizer": {"aside": [], **sequence(THOUSAND)}}, "can make 1,000 bytes of one"),
        ({"normalizer": sequence(sequence(replace("", 64 * "a")))}, "can make 65 bytes of one"),
        ({"normalizer": replace("x*", 64 * "a", kind="Regex")}, "can make 65 bytes of one"),
        ({"normalizer": replace("x|", 64 * "a", kind="Regex")}, "can make 65 bytes of one"),
        ({"normalizer": replace("x?", 64 * "a", kind="Regex")}, "can make 65 bytes of one"),
        ({"normalizer": replace("x{2}?", 64 * "a", kind="Regex")}, "can make 65 bytes of one"),
        ({"normalizer": {"type": "Prepend", "prepend": 10**7 * "a"}}, "make 10,000,001 bytes"),
        ({"normalizer": sequence(*[{"type": "NFKD"}] * 3)}, "can make 121 bytes of one"),
        ({"normalizer": sequence(*[BYTES] * 30)}, "can make 1,073,741,824 bytes of one"),
        ({"normalizer": charsmap({b"a": 65 * b"b"})}, "can make 65 bytes of one"),
        ({"normalizer": sequence(*[charsmap(LIGATURE)] * 2)}, "can make 121 bytes of one"),
        ({"normalizer": {"pattern": {"String": "a"}, "content": "b"}}, "part without a type: {'pa"),
        ({"normalizer": ["NFC"]}, "the normalizer has a part without a type"),
        ({"normalizer": damaged(b"\xff\xff\xff\xffabc")}, "precompiled_charsmap .* is damaged"),
        ({"normalizer": damaged(b"abc")}, "is damaged"),
        ({"normalizer": damaged(struct.pack("<2I", 4, 0) + b"\xff\0")}, "is damaged .*utf-8"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "$"}}, "is damaged"),
        (
            {"pre_tokenizer": sequence(*[BYTES] * 30, kind="pretokenizers")},
            "the pre_tokenizer can make 1,073,741,824 bytes of one, at most 16",
        ),
        ({"decoder": sequence(*[THOUSAND] * 3, kind="decoders")}, "decoder can make 1,000,000,000"),
        (
            {"decoder": sequence(*[{"type": "BPEDecoder", "suffix": ""}] * 40, kind="decoders")},
            "the decoder can make",
        ),
        ({"post_processor": template(*"AAAAA")}, "must have the text A once, got"),
        ({"post_processor": template("B")}, "must have the text A once, got"),
        ({"post_processor": template()}, r"must have the text A once, got \[\]"),
        ({"model": {"continuing_subword_prefix": "x"}}, "merge 0 must begin with the prefix 'x'"),
        (
            {"model": {"continuing_subword_prefix": "x", "merges": ["a b"]}},
            "merge 0 must begin with the prefix 'x', got 'b'",
        ),
    ],
)
def test_files_that_could_end_the_process(parts: Any, words: str) -> None:
    with pytest.raises(UnsafeTokenizer, match=words) as caught:
        check(file(**parts), "x.json")
    assert str(caught.value).startswith("x.json: ")
    assert "\n" not in str(caught.value)


SPACE = "\N{LOWER ONE EIGHTH BLOCK}"


@pytest.mark.parametrize(
    "parts",
    [
        # As transformers writes them: Llama, XLM-RoBERTa and T5, ALBERT, SeamlessM4T, CLIP, GPT-2.
        {"normalizer": sequence({"type": "Prepend", "prepend": SPACE}, replace(" ", SPACE))},
        {
            "normalizer": sequence(
                charsmap(LIGATURE),
                {"type": "Strip", "strip_left": False, "strip_right": True},
                replace(" {2,}", SPACE, kind="Regex"),
            ),
            "pre_tokenizer": {
                "type": "Metaspace",
                "replacement": SPACE,
                "prepend_scheme": "always",
            },
        },
        {
            "normalizer": sequence(
                *(replace("``", '"'), replace("''", '"'), {"type": "NFKD"}),
                *({"type": "StripAccents"}, {"type": "Lowercase"}, charsmap(LIGATURE)),
                replace(" {2,}", " ", kind="Regex"),
            )
        },
        {
            "normalizer": sequence(
                replace("[\\n\\r\\t]", " ", kind="Regex"),
                {"type": "NFKC"},
                replace(f" +{SPACE}", SPACE, kind="Regex"),
                replace(f"^{SPACE}+$", "", kind="Regex"),
                replace(" {2,}", SPACE, kind="Regex"),
            )
        },
        {"normalizer": sequence({"type": "NFC"}, replace("\\s+", " ", kind="Regex"))},
        {
            "pre_tokenizer": {**BYTES, "add_prefix_space": True},
            "decoder": {**BYTES, "add_prefix_space": True},
            "post_processor": sequence({**BYTES}, template("A"), kind="processors"),
        },
    ],
)
def test_what_tokenizers_have_is_within_bounds(parts: Any) -> None:
    Reference.from_str(check(file(**parts), "x").text())


@given(st.data())
def test_a_charsmap_makes_no_more_than_its_bound(data: st.DataObject) -> None:
    keys = st.text("abcé→", min_size=1, max_size=3).map(str.encode)
    table = data.draw(st.dictionaries(keys, st.text("xyzö", max_size=9).map(str.encode)))
    part = charsmap(table)
    bound = bounds._charsmap_growth(part["precompiled_charsmap"], "x")
    library = normalizers.Precompiled(base64.b64decode(part["precompiled_charsmap"]))
    shortest = [key for key in table if not any(key != o and key.startswith(o) for o in table)]
    assert bound == max([1, *(len(table[key]) / len(key) for key in shortest)])
    for character in "abcé→":
        made = library.normalize_str(character).encode()
        assert len(made) <= bound * len(character.encode())


_parts = st.one_of(
    st.builds(replace, st.text("abé", max_size=2), st.text("abéx", max_size=4)),
    st.builds(
        replace,
        st.sampled_from(["a", "a+", "b*", "a|", "(?=b)", "[ab]", " {2,}", "\\s", "é?", "a{2,}"]),
        st.text("abé", max_size=3),
        kind=st.just("Regex"),
    ),
    st.builds(lambda text: {"type": "Prepend", "prepend": text}, st.text("aé", min_size=1)),
    st.sampled_from([{"type": "ByteLevel"}, {"type": "Lowercase"}, {"type": "NFKD"}]),
)


@given(st.lists(_parts, max_size=4), st.text("abé ﷺİ", min_size=1, max_size=20))
def test_normalizers_make_no_more_than_their_bound(parts: list[Any], text: str) -> None:
    made = 11.0 * 2  # Unicode's forms are not counted once, and what follows the last letter
    for part in parts:
        made *= bounds._FORMS.get(part["type"]) or bounds._growth(part, "x")
    library = Reference.from_str(json.dumps(file(normalizer=sequence(*parts))))
    try:
        with panics_named("x"):
            found = library.normalizer.normalize_str(text)
    except TokenizerError:
        return  # the library fails on some parts after another, which takes no memory
    assert len(found.encode()) <= made * len(text.encode())


def test_transformers_is_not_given_what_is_out_of_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where barrow cannot open a tokenizer it asks transformers, which opens the same file."""
    data = file(normalizer=damaged(b"\xff\xff\xff\xffabc"), model={"vocab": {"a": 0, "b": 9}})
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    monkeypatch.setattr(transformers, "import_torch", lambda: pytest.fail("asked"))
    with pytest.raises(TokenizerError, match="precompiled_charsmap"):
        transformers.tokenizer_of(tmp_path)


def test_a_decoder_that_fails_in_the_library() -> None:
    """Its panic is no `Exception`."""
    words = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
    strip = {"type": "Strip", "content": "a", "start": 1 << 40, "stop": 1 << 40}
    with pytest.raises(TokenizerError, match="x: the tokenizers library failed: index out of"):
        JsonTokenizer(check({**file(decoder=strip), "model": words}, "x")).decode([0])
