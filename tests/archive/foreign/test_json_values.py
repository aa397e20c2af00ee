from __future__ import annotations

import json
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from barrow.archive.foreign.json_values import split_values
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


@few
@given(records, st.sampled_from([None, 1, "\t"]), st.integers(1, 50))
def test_an_array_becomes_lines(rows: list, indent: int | str | None, step: int) -> None:
    out, problems = split(json.dumps(rows, indent=indent).encode(), step)
    assert [json.loads(line) for line in out.splitlines()] == rows
    assert not problems


@few
@given(records, st.sampled_from([None, 2]), st.integers(1, 50), st.sampled_from(["\n", " ", ""]))
def test_values_one_after_another(rows: list, indent: int | None, step: int, between: str) -> None:
    data = between.join(json.dumps(row, indent=indent) for row in rows).encode()
    out, problems = split(data, step)
    assert [json.loads(line) for line in out.splitlines()] == rows
    assert not problems


@few
@given(records.filter(bool), st.data())
def test_a_cut_array_is_noticed(rows: list, data: st.DataObject) -> None:
    whole = json.dumps(rows, indent=1).encode()
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    out, problems = split(cut)
    assert [problem.reason for problem in problems] == ["truncated"]
    lines = out.splitlines()
    whole_rows = [json.loads(line) for line in lines[: len(rows)] if _is_json(line)]
    num_whole = max(0, len(lines) - 1)
    assert whole_rows[:num_whole] == rows[:num_whole]


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def kept(data: bytes) -> list[object]:
    """What of the lines is JSON, at every size of piece the same."""
    results = [split(data, step)[0] for step in (1, 3, 1000)]
    assert len(set(results)) == 1
    return [json.loads(line) for line in results[0].splitlines() if _is_json(line)]


def test_a_line_break_inside_a_string_is_not_mended() -> None:
    assert kept(b'[{"text":"a\nb"},\n{"text":"c"}]')[-1] == {"text": "c"}
    assert {"text": "a b"} not in kept(b'[{"text":"a\nb"},\n{"text":"c"}]')
    assert kept(b'{"text":"a\n{"text":"b"}\n{"text":"c"}\n') == [{"text": "b"}, {"text": "c"}]
    assert kept(b'{"text":"a\\\n{"text":"b"}\n') == [{"text": "b"}]


def test_neighbours_of_what_is_no_record_are_kept() -> None:
    assert kept(b'[{"text":"a"}, null, "x", 3, {"text":"b"}, 2]') == [
        {"text": "a"},
        None,
        "x",
        3,
        {"text": "b"},
        2,
    ]
    rows = [{"text": "a"}, {"text": "b"}]
    assert kept(b'{"text":"a"}\nbad line\n{"text":"b"}\n') == rows
    assert kept(b'{"text":"a"} bad {"text":"b"}') == rows


def test_stray_brackets_are_not_swallowed() -> None:
    assert split(b'{"text":"a"}}\n{"text":"b"}]\n')[0].splitlines() == [
        b'{"text":"a"}',
        b"}",
        b'{"text":"b"}',
        b"]",
    ]
    assert split(b'[{"text":"a"}]\n]')[0].splitlines() == [b'{"text":"a"}', b"]"]


def test_damage_costs_the_value_it_is_in() -> None:
    damage = DamagedShard("hit", reason="corrupt", shard="x.json")

    def content() -> Iterator[memoryview | DamagedShard]:
        yield memoryview(b'[{"text":"a"},{"te')
        yield damage
        yield memoryview(b'xt":"b"},\n{"text":"c"}]')

    items = list(split_values(content(), "x.json", max_value=100))
    assert damage in items
    lines = b"".join(bytes(i) for i in items if not isinstance(i, DamagedShard)).splitlines()
    assert [json.loads(x) for x in lines if _is_json(x)] == [{"text": "a"}, {"text": "c"}]


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
