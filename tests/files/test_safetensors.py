from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import WeightsError
from barrow.files.safetensors import MAX_HEADER, header_length, parse_header

PATH = Path("m.safetensors")
GOOD = {
    "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "b": {"dtype": "U8", "shape": [], "data_offsets": [24, 25]},
    "none": {"dtype": "I64", "shape": [0, 7], "data_offsets": [25, 25]},
}


def parse(table: Any, *, num_data: int = 25) -> Any:
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    return parse_header(text, path=PATH, file_size=8 + len(text) + num_data)


def changed(name: str, **values: Any) -> dict[str, Any]:
    return {**GOOD, name: {**GOOD[name], **values}}


def test_a_good_header() -> None:
    header = parse({"__metadata__": {"k": "v"}, **GOOD})
    assert header.metadata == {"k": "v"}
    assert header.spans["a"].shape == (2, 3)
    assert header.spans["b"].start - header.spans["a"].start == 24
    assert header.spans["none"].num_bytes == 0


def test_an_empty_file_of_tensors() -> None:
    assert parse({}, num_data=0).spans == {}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (b"[]", "not a JSON object: it does not begin with '{'"),
        (b"{", "not a JSON object"),
        (b' {"a":1}', "does not begin"),
        (b'{"a":"\xff"}', "not a JSON object"),
        (b'{"a":' + b"[" * 100_000, "not a JSON object"),
        (b'{"a":' + b"9" * 5000 + b"}", "not a JSON object"),
        (b'{"a":{},"a":{}}', "'a' occurs twice"),
        ({"__metadata__": {"k": 1}}, "__metadata__ is not a table of strings"),
        ({"a": [1]}, "tensor 'a': expected dtype, shape and data_offsets"),
        (changed("a", extra=1), "tensor 'a': expected dtype, shape and data_offsets"),
        (changed("a", dtype="F31"), "tensor 'a': unknown dtype 'F31'"),
        (changed("a", dtype=["F32"]), "unknown dtype"),
        (changed("a", dtype="F4"), "unknown dtype 'F4'"),
        (changed("a", shape=[2, -3]), "shape is not a list of counts"),
        (changed("a", shape=[2.0, 3]), "shape is not a list of counts"),
        (changed("a", shape=[True, 6]), "shape is not a list of counts"),
        (changed("a", shape="6"), "shape is not a list of counts"),
        (changed("a", shape=[2, 4]), "F32 of shape [2, 4] needs 32 bytes, got 24"),
        (changed("a", shape=[2**62, 2**62]), "shape is not a list of counts"),
        (changed("none", shape=[2**62, 0]), "shape is not a list of counts"),
        (changed("b", shape=[1] * 33), "shape is not a list of counts"),
        (changed("a", shape=[2**50]), "bytes, got 24"),
        (changed("a", data_offsets=[24, 0]), "data_offsets are not [begin, end]"),
        (changed("a", data_offsets=[0]), "data_offsets are not"),
        (changed("b", data_offsets=[23, 24]), "tensor 'b': overlaps 'a'"),
        ({k: GOOD[k] for k in ("b", "none")}, "a 24-byte gap"),
        ({"a": GOOD["a"]}, "unused bytes"),
    ],
)
def test_lies_are_named(table: Any, words: str) -> None:
    with pytest.raises(WeightsError) as caught:
        parse(table)
    assert words in str(caught.value)
    assert str(caught.value).startswith("m.safetensors")


def test_data_cut_short() -> None:
    with pytest.raises(WeightsError, match=r"tensor 'b': ends at byte [\d,]+, the file at"):
        parse({k: GOOD[k] for k in ("a", "b")}, num_data=24)


def test_the_length_is_checked_before_anything_is_read() -> None:
    with pytest.raises(WeightsError, match="expected at least 8 bytes, got 3"):
        header_length(b"abc", path=PATH, file_size=3)
    with pytest.raises(WeightsError, match="the header ends at byte 108, the file at 50"):
        header_length((100).to_bytes(8, "little"), path=PATH, file_size=50)
    with pytest.raises(WeightsError, match="must be ≤ 100,000,000"):
        header_length((MAX_HEADER + 1).to_bytes(8, "little"), path=PATH, file_size=1 << 40)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_header_or_an_error(text: bytes) -> None:
    for data in (text, b"{" + text, json.dumps(GOOD).encode() + text):
        with contextlib.suppress(WeightsError):
            parse(data)
