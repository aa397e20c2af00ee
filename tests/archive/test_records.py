from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import barrow
from barrow import Document
from barrow.archive.piece import Piece, count_lines
from barrow.archive.records import RecordForm


def parse(data: bytes, form: RecordForm = RecordForm()):  # noqa: B008 - frozen
    return form.parse(data, Piece("s", 4, 100, count_lines(data), len(data), lambda _: None))


@pytest.mark.parametrize(
    ("line", "reason", "cause"),
    [
        (b"{", "not-json", "not JSON"),
        (b"hello", "not-json", "begins 'hello'"),
        (b'{"text":"a"} x', "not-json", "Extra data"),
        (b'{"text":"a"}{"text":"b"}', "not-json", "Extra data"),
        (b'{"text":"a\x00b"}', "not-json", "control character"),
        (
            b'{"text":"a","meta":{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
            "not-json",
            "nested more than 200 deep",
        ),
        (b'{"text":"a","meta":{"x":1e400}}', "not-json", "out of range"),
        (b'{"meta":{}}', "no-text", "no key 'text' (keys: 'meta')"),
        (b"{}", "no-text", "keys: none"),
        (b'{"text":3}', "text-not-string", "got a number"),
        (b'{"text":null}', "text-not-string", "got null"),
        (b'{"text":["a"]}', "text-not-string", "got an array"),
        (b'{"text":true}', "text-not-string", "got a boolean"),
        (b'["text"]', "not-an-object", "got an array"),
        (b'"text"', "not-an-object", "got a string"),
        (b'{"text":"a\xff"}', "invalid-utf8", "byte 10 (ff)"),
        (b'{"text":"a\xed\xa0\x80"}', "invalid-utf8", "byte 10"),
        (b'{"text":"a\\ud800b"}', "unpaired-surrogate", "without its other half"),
        (b'{"text":"a\\udc00"}', "unpaired-surrogate", "without its other half"),
        (b'{"text":"a","meta":{"\\ud800":1}}', "unpaired-surrogate", "without its other half"),
    ],
)
def test_each_bad_record_has_its_reason_and_place(line: bytes, reason: str, cause: str) -> None:
    parsed = parse(b'{"text":"before"}\n' + line + b'\n\n{"text":"after"}\n')
    assert [d.text for d in parsed.documents] == ["before", "after"], "the neighbours are kept"
    assert list(parsed.numbers) == [100, 102]
    (error,) = parsed.bad
    assert len(list(parsed.bad)) == 1, "and again"
    assert error.reason == reason
    assert cause in error.cause
    assert (error.shard, error.frame, error.document) == ("s", 4, 101)
    assert error.raw == line[: 1 << 20]


def test_foreign_keys_join_the_meta() -> None:
    parsed = parse(b'{"id":7,"text":"a","source":"web","meta":{"id":1}}\n')
    assert parsed.documents == [Document("a", {"id": 1, "record.id": 7, "source": "web"})]


@pytest.mark.parametrize(
    ("meta", "expected"), [("null", {}), ('"x"', {"meta": "x"}), ("[1]", {"meta": [1]})]
)
def test_metas_that_are_no_objects_are_kept(meta: str, expected: dict) -> None:
    assert parse(f'{{"text":"a","meta":{meta}}}\n'.encode()).documents == [Document("a", expected)]


def test_text_key() -> None:
    form = RecordForm(text_key="content")
    assert parse(b'{"content":"a","text":"b"}\n', form).documents == [Document("a", {"text": "b"})]


def test_fields() -> None:
    line = b'{"text":"a","meta":{"x":1}}\n'
    assert parse(line, RecordForm(fields=("text",))).documents == [Document("a")]
    assert parse(line, RecordForm(fields=("meta",))).documents == [Document("", {"x": 1})]
    with pytest.raises(ValueError, match="'text' or 'meta'"):
        RecordForm(fields=("txt",))
    with pytest.raises(ValueError, match="'text' or 'meta'"):
        RecordForm(fields=())


def test_a_record_over_two_lines_is_two_bad_records() -> None:
    parsed = parse(b'{"text":\n"a"}\n')
    assert [error.reason for error in parsed.bad] == ["not-json", "not-json"]
    assert not parsed.documents


def test_the_last_of_two_equal_keys_counts() -> None:
    assert parse(b'{"text":"a","text":"b"}\n').documents == [Document("b")]


def nested(depth: int) -> bytes:
    return b'{"text":"a","meta":{"x":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}}\n"


def test_the_depth_limit_is_the_same_everywhere(tmp_path: Path, either_path: str) -> None:
    for depth, ok in ((200, True), (201, False)):
        path = tmp_path / f"{depth}.jsonl"
        path.write_bytes(nested(depth) + b'{"text":"[[[[{{{{" ,"meta":{}}\n')
        archive = barrow.archive.open(path, on_bad="count")
        assert len(list(archive)) == 1 + ok
        assert sum(len(block) for block in archive.blocks()) == 1 + ok


def test_names_that_are_taken_get_another(either_path: str) -> None:
    parsed = parse(b'{"text":"a","meta":{"a":1,"record.a":2},"a":3}\n')
    assert parsed.documents == [Document("a", {"a": 1, "record.a": 2, "record.record.a": 3})]


ODD = [
    b'{"text":"a"}\n\x0c\n{"text":"b"}\n',
    b'{"text":"a"}{"text":"b"}\n{"text":\n"c"}\n',
    b'{"text":"a","meta":{"x":1e999}}\n{"text":"b"}\n',
    b'{"text":"a","meta":{]}}\n{"text":"b"}\n',
    b'{"text":5,"meta":{}}\n{"text":"b"}\n',
    b'{"meta":"abc","meta":{"a":1}}\n{"text":"b"}\n',
    b'\xef\xbb\xbf{"text":"a"}\n{"text":"b"}',
]


@pytest.mark.parametrize("data", ODD)
@pytest.mark.parametrize("fields", [("text", "meta"), ("text",), ("meta",)])
@pytest.mark.parametrize("text_key", ["text", "meta"])
def test_all_ways_of_reading_agree(
    data: bytes, fields: tuple[str, ...], text_key: str, tmp_path: Path, either_path: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    archive = barrow.archive.open(path, on_bad="count", fields=fields, text_key=text_key)
    by_iteration = list(archive)
    counts = dict(archive.bad.counts)
    assert len(by_iteration) + sum(counts.values()) == len(archive)
    numbers = [n for block in archive.blocks() for n in block.numbers]
    assert dict(archive.bad.counts) == counts
    assert len(numbers) == len(by_iteration)
    by_number = []
    for number in range(len(archive)):
        try:
            by_number.append(archive[number])
            assert number in numbers
        except barrow.errors.BadRecord:
            assert number not in numbers
    assert by_number == by_iteration
    assert [d for rank in range(2) for d in archive.shard(rank, 2)] == by_iteration
    assert [d for frame in archive.frames() for d in frame] == by_iteration


def test_many_bad_lines_take_little_memory(tmp_path: Path) -> None:
    """The text of a line that is not a record is not kept, nor its error."""
    code = """
import sys, barrow
for path in sys.argv[1:]:
    archive = barrow.archive.open(path, on_bad="count")
    assert next(iter(archive[:10]), None) is None
    try:
        next(iter(barrow.archive.open(path)))
    except barrow.errors.BadRecord as error:
        assert error.document == 0
    print([l.split()[1] for l in open("/proc/self/status") if l.startswith("VmHWM")][0])
"""
    paths = [tmp_path / "few.jsonl", tmp_path / "many.jsonl"]
    for path, number in zip(paths, (10_000, 60_000), strict=True):
        path.write_bytes(b"x\n" * number)
    run = subprocess.run(
        [sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True
    )
    few, many = map(int, run.stdout.split())
    assert many - few < 10_000, "kilobytes: 200 bytes a line"
