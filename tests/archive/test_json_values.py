from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.archive.json_values import split_values
from barrow.errors import DamagedShard

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\[]{},: \n'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('a"]}'), inner),
    max_leaves=10,
)
records = st.lists(st.dictionaries(st.text("abc"), values), max_size=6)


def split(data: bytes, step: int = 7, max_value: int = 10**6) -> tuple[bytes, list[DamagedShard]]:
    def content() -> Iterator[memoryview | DamagedShard]:
        for at in range(0, len(data), step):
            yield memoryview(data[at : at + step])

    out, problems = b"", []
    for item in split_values(content(), "x.json", max_value=max_value):
        if isinstance(item, DamagedShard):
            problems.append(item)
        else:
            out += bytes(item)
    return out, problems


@given(records, st.sampled_from([None, 1, "\t"]), st.integers(1, 50))
def test_an_array_becomes_lines(rows: list, indent: int | str | None, step: int) -> None:
    out, problems = split(json.dumps(rows, indent=indent).encode(), step)
    assert [json.loads(line) for line in out.splitlines()] == rows
    assert not problems


@given(records, st.sampled_from([None, 2]), st.integers(1, 50), st.sampled_from(["\n", " ", ""]))
def test_values_one_after_another(rows: list, indent: int | None, step: int, between: str) -> None:
    data = between.join(json.dumps(row, indent=indent) for row in rows).encode()
    out, problems = split(data, step)
    assert [json.loads(line) for line in out.splitlines()] == rows
    assert not problems


@given(records.filter(bool), st.data())
def test_a_cut_array_is_noticed(rows: list, data: st.DataObject) -> None:
    whole = json.dumps(rows, indent=1).encode()
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    out, problems = split(cut)
    assert [problem.reason for problem in problems] == ["truncated"]
    assert [json.loads(line) for line in out.splitlines()] == rows[: out.count(b"\n")]


def test_a_line_break_inside_a_string_is_not_mended() -> None:
    out, _ = split(b'[{"text":"a\nb"},{"text":"c"}]')
    first, second = out.split(b"\n")[:2]
    with pytest.raises(ValueError, match="control character"):
        json.loads(first)
    assert json.loads(second) == {"text": "c"}


def test_what_is_no_object_is_still_a_value() -> None:
    out, problems = split(b'["a", 1, {"text": "b"}, 2]')
    assert out.splitlines()[-1] == b"2"
    assert b'{"text": "b"}' in out
    assert not problems


def test_a_value_over_the_limit_goes_by_without_being_held() -> None:
    big = json.dumps({"text": 'x\\"' * 1000}).encode()
    out, problems = split(b"[" + big + b',{"text":"after"}]', step=100, max_value=500)
    lines = out.splitlines()
    assert len(lines[0]) > 500
    assert json.loads(lines[-1]) == {"text": "after"}
    assert len(lines) == 2
    assert not problems


def test_a_byte_order_mark_is_passed_over() -> None:
    assert split(b'\xef\xbb\xbf[{"text":"a"}]')[0] == b'{"text":"a"}\n'
