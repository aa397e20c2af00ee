from __future__ import annotations

import pytest

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
            "deeply",
        ),
        (b'{"text":"a","meta":{"x":1e400}}', "not-json", "out of range"),
        (b'{"meta":{}}', "no-text", "no key 'text' (keys: 'meta')"),
        (b"{}", "no-text", "keys: none"),
        (b'{"text":3}', "text-not-string", "found a number"),
        (b'{"text":null}', "text-not-string", "found null"),
        (b'{"text":["a"]}', "text-not-string", "found an array"),
        (b'{"text":true}', "text-not-string", "found a boolean"),
        (b'["text"]', "not-an-object", "found an array"),
        (b'"text"', "not-an-object", "found a string"),
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
    with pytest.raises(ValueError, match="'text' and 'meta'"):
        RecordForm(fields=("txt",))
    with pytest.raises(ValueError, match="'text' and 'meta'"):
        RecordForm(fields=())


def test_a_record_over_two_lines_is_two_bad_records() -> None:
    parsed = parse(b'{"text":\n"a"}\n')
    assert [error.reason for error in parsed.bad] == ["not-json", "not-json"]
    assert not parsed.documents


def test_the_last_of_two_equal_keys_counts() -> None:
    assert parse(b'{"text":"a","text":"b"}\n').documents == [Document("b")]
