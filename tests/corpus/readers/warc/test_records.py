"""Records of WARC and ARC files, whole and broken (PILE-8)."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.readers.warc import records as module
from barrow.corpus.readers.warc.records import (
    Record,
    arc_fields,
    header_fields,
    record_spans,
    warc_records,
)


def warc(content: bytes, *, length: object = None, number: int = 0, end: bytes = b"\r\n") -> bytes:
    length = len(content) if length is None else length
    head = ["WARC/1.0", "WARC-Type: response", f"WARC-Record-ID: <{number}>"]
    head += [f"Content-Length: {length}", "", ""]
    return end.join(line.encode() for line in head) + content + end * 2


def arc(content: bytes, *, url: str = "http://a.org/", length: object = None) -> bytes:
    length = len(content) if length is None else length
    return f"{url} 10.0.0.1 20140216050221 text/html {length}\n".encode() + content + b"\n"


WHOLE = [b"content %d " % n * 200 for n in range(5)]
FILE_HEAD = arc(b"1 0 Some Crawl\nURL IP-address ...\n", url="filedesc://a.arc")


@pytest.fixture
def parse(tmp_path: Path) -> Callable[..., list[Record]]:
    def parse(data: bytes, **options: int) -> list[Record]:
        path = tmp_path / "file"
        path.write_bytes(data)
        with path.open("rb") as file:
            return list(warc_records(file, **options))

    return parse


def outline(records: list[Record]) -> list[bytes | str]:
    return [record.problem or record.content for record in records]


def packed(records: list[bytes], form: str) -> bytes:
    if form == "members":
        return b"".join(map(gzip.compress, records))
    data = b"".join(records)
    if form == "blocks":  # members that do not keep to records
        return b"".join(gzip.compress(data[at : at + 777]) for at in range(0, len(data), 777))
    return gzip.compress(data) if form == "whole" else data


every_form = pytest.mark.parametrize("form", ["plain", "whole", "members", "blocks"])


@every_form
@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_warc(parse: Callable[..., list[Record]], form: str, end: bytes) -> None:
    raws = [warc(content, number=n, end=end) for n, content in enumerate(WHOLE)]
    found = parse(packed(raws, form))
    assert outline(found) == WHOLE
    assert [record.text(b"warc-record-id") for record in found] == [f"<{n}>" for n in range(5)]
    assert [record.offset for record in found] == [sum(map(len, raws[:n])) for n in range(5)]


def shape(record: Record) -> tuple[object, ...]:
    return record.header, record.problem, record.cause, record.offset, record.content


BROKEN = warc(b"too long" * 90, length=5_000)
BEYOND = warc(b"much too long" * 90, length=500_000)
NO_LENGTH = warc(b"what?", length="many")


@pytest.mark.parametrize("form", ["plain", "whole", "members", "blocks", "zstandard", "lz4"])
@pytest.mark.parametrize(
    "raws",
    [
        [warc(content, number=n) for n, content in enumerate(WHOLE)],
        [FILE_HEAD, *map(arc, WHOLE)],
        [warc(WHOLE[0]), BROKEN, *(warc(content) for content in WHOLE), BEYOND, warc(WHOLE[1])],
        [NO_LENGTH, *(warc(content) for content in WHOLE), b"stray", warc(b"")],
        [*(warc(content) for content in WHOLE), warc(b"cut off", length=100)],
    ],
)
def test_a_file_in_parts_gives_the_same_records(
    tmp_path: Path, parse: Callable[..., list[Record]], form: str, raws: list[bytes]
) -> None:
    if form == "zstandard":
        data = b"".join(map(zstandard.compress, raws))
    elif form == "lz4":
        data = b"".join(map(lz4.frame.compress, raws))
    else:
        data = packed(raws, form)
    whole = [shape(record) for record in parse(data)]
    most = 0
    with (tmp_path / "file").open("rb") as file:
        for target in (1, 100, 1000, 3000, 10_000, 1 << 30):
            file.seek(0)
            spans = record_spans(file, target)
            assert (spans[0].start, spans[-1].stop) == (0, len(data))
            assert all(a.stop == b.start for a, b in pairwise(spans))
            parts = [record for span in spans for record in warc_records(file, span=span)]
            assert [shape(record) for record in parts] == whole
            most = max(most, len(spans))
    assert len(spans) == 1
    regular = form == "plain" and not any(problem for _, problem, *_ in whole)
    if regular or form in ("members", "zstandard", "lz4"):
        assert most > 3, "it is cut where a member begins a record"


@every_form
def test_arc(parse: Callable[..., list[Record]], form: str) -> None:
    found = parse(packed([FILE_HEAD, *map(arc, WHOLE)], form))
    assert outline(found)[1:] == WHOLE
    assert [record.text(b"warc-type") for record in found] == ["warcinfo", *["response"] * 5]
    assert found[1].text(b"warc-date") == "2014-02-16T05:02:21Z"
    assert found[1].offset == len(FILE_HEAD)


def test_records_larger_than_a_piece(parse: Callable[..., list[Record]]) -> None:
    contents = [bytes([65 + n]) * (n << 20) + b"end" for n in range(4)]
    raws = [warc(content) for content in contents]
    for form in ("plain", "whole", "members"):
        found = parse(packed(raws, form))
        assert outline(found) == contents
        assert [record.offset for record in found] == [sum(map(len, raws[:n])) for n in range(4)]


@every_form
@pytest.mark.parametrize("length", ["", "-1", "abc", "9" * 30, "²"])
def test_no_length(parse: Callable[..., list[Record]], form: str, length: str) -> None:
    raws = [warc(WHOLE[0]), warc(WHOLE[1], length=length), warc(WHOLE[2])]
    assert outline(parse(packed(raws, form))) == [WHOLE[0], "broken-record", WHOLE[2]]


@every_form
@pytest.mark.parametrize("extra", [1, 5, 100, 2000, 10**6, 10**17])
def test_a_length_too_large_costs_one_record(
    parse: Callable[..., list[Record]], form: str, extra: int
) -> None:
    lie = warc(WHOLE[1], length=len(WHOLE[1]) + extra)
    found = outline(parse(packed([warc(WHOLE[0]), lie, warc(WHOLE[2]), warc(WHOLE[3])], form)))
    assert found[0] == WHOLE[0]
    assert found[-2:] == WHOLE[2:4]
    if extra > 4:  # else it takes the line ends that belong to no record
        assert found[1:-2] in (["broken-record"], ["truncated"])


@every_form
def test_a_length_too_small(parse: Callable[..., list[Record]], form: str) -> None:
    raws = [warc(WHOLE[0]), warc(WHOLE[1], length=100), warc(WHOLE[2])]
    found = outline(parse(packed(raws, form)))
    assert found == [WHOLE[0], WHOLE[1][:100], "broken-record", WHOLE[2]]


@every_form
@pytest.mark.parametrize("size", [10, 10_000, 3_000_000])
def test_bytes_of_no_record(parse: Callable[..., list[Record]], form: str, size: int) -> None:
    raws = [warc(WHOLE[0]), b"garbage, " * (size // 9) + b"\n", warc(WHOLE[1])]
    if form == "blocks" and size > 10_000:
        return
    found = parse(packed(raws, form))
    assert outline(found) == [WHOLE[0], "broken-record", WHOLE[1]]
    assert found[1].content.startswith(b"garbage")
    assert found[1].offset == len(raws[0])


@every_form
def test_the_file_is_cut(parse: Callable[..., list[Record]], form: str) -> None:
    raws = [warc(WHOLE[0]), warc(WHOLE[1])[:-1000]]
    found = parse(packed(raws, form))
    assert outline(found) == [WHOLE[0], "truncated"]
    assert found[1].text(b"warc-record-id") == "<0>"
    raws[1] = warc(WHOLE[1])[:40]
    assert outline(parse(packed(raws, form))) == [WHOLE[0], "truncated"]


def test_compressed_data_is_cut(parse: Callable[..., list[Record]]) -> None:
    data = packed([warc(content) for content in WHOLE], "members")
    assert outline(parse(data[:-30])) == [*WHOLE[:4], "truncated"]


def test_a_damaged_member_costs_itself(parse: Callable[..., list[Record]]) -> None:
    raws = [bytearray(gzip.compress(warc(content))) for content in WHOLE]
    raws[2][60] ^= 0x55
    assert outline(parse(b"".join(raws))) == [*WHOLE[:2], "broken-record", *WHOLE[3:]]


@every_form
def test_too_large(parse: Callable[..., list[Record]], form: str) -> None:
    raws = [warc(WHOLE[0]), warc(b"x" * 3_000_000), warc(WHOLE[1])]
    found = parse(packed(raws, form), max_record=10_000)
    assert outline(found) == [WHOLE[0], "too-large", WHOLE[1]]
    assert len(found[1].content) == 2000


@every_form
def test_too_large_though_it_fits_a_piece(parse: Callable[..., list[Record]], form: str) -> None:
    raws = [warc(b"small"), warc(WHOLE[0]), warc(b"small")]
    found = parse(packed(raws, form), max_record=len(WHOLE[0]) - 1)
    assert outline(found) == [b"small", "too-large", b"small"]
    assert outline(parse(packed(raws, form), max_record=len(WHOLE[0])))[1] == WHOLE[0]


@every_form
@pytest.mark.parametrize("field", [b"X: ", b"X: y\r\n"])
def test_a_header_without_end(parse: Callable[..., list[Record]], form: str, field: bytes) -> None:
    if form == "blocks":
        return
    raws = [warc(WHOLE[0]), b"WARC/1.0\r\n" + field * 500_000 + b"\n", warc(WHOLE[1])]
    assert outline(parse(packed(raws, form))) == [WHOLE[0], "broken-record", WHOLE[1]]


def test_looking_back_comes_to_an_end(
    parse: Callable[..., list[Record]], monkeypatch: pytest.MonkeyPatch
) -> None:
    lies = b"".join(warc(b"", length=20_000) for _ in range(100)) + bytes(30_000)
    data = gzip.compress(lies + b"\r\n" + warc(WHOLE[0]))
    assert len(parse(data)) > 90
    monkeypatch.setattr(module, "_MAX_AGAIN", 100_000)
    found = outline(parse(data))
    assert len(found) < 20
    assert found[-1] == WHOLE[0]


def test_broken_arc(parse: Callable[..., list[Record]]) -> None:
    raws = [FILE_HEAD, arc(WHOLE[0], length=-1), arc(WHOLE[1]), arc(WHOLE[2], length=99_999)]
    found = outline(parse(b"".join([*raws, arc(WHOLE[3])])))
    assert found[1:] == ["broken-record", WHOLE[1], "truncated", WHOLE[3]]
    raws[3] = arc(WHOLE[2], length=len(WHOLE[2]) + 300)
    found = outline(parse(b"".join([*raws, arc(WHOLE[3])])))
    assert found[1:] == ["broken-record", WHOLE[1], "broken-record", WHOLE[3]]


def test_header_fields() -> None:
    header = b"WARC/1.0\r\nA : b:c \r\nLong: one\r\n  two\r\na: second\r\nno field\r\n"
    assert header_fields(header) == {b"a": b"b:c", b"long": b"one two"}


@pytest.mark.parametrize(
    ("line", "url", "length"),
    [
        (b"http://a/ 1.2.3.4 20140216050221 text/html 12\n", b"http://a/", b"12"),
        (b"http://a/b c d 1.2.3.4 20140216050221 text/html 12\r\n", b"http://a/b c d", b"12"),
        (
            b"http://a/b c 1.2.3.4 20140216050221 text/html 200 X4 - 88 f.arc.gz 12",
            b"http://a/b c",
            b"12",
        ),
    ],
)
def test_arc_lines(line: bytes, url: bytes, length: bytes) -> None:
    fields = arc_fields(line)
    assert fields is not None
    assert fields[b"warc-target-uri"] == url
    assert fields[b"content-length"] == length
    assert fields[b"warc-date"] == b"2014-02-16T05:02:21Z"


@pytest.mark.parametrize(
    "line",
    [
        b"http://a/ 1.2.3.4 20140216050221 text/html -1",
        b"http://a/ 1.2.3.4 yesterday text/html 12",
        b"http://a/ 12",
        b"",
    ],
)
def test_no_arc_lines(line: bytes) -> None:
    assert arc_fields(line) is None


@given(st.data())
def test_any_change(tmp_path: Path, draw: st.DataObject) -> None:
    """Records before a change, and those well after it, are there."""
    form = draw.draw(st.sampled_from(["plain", "members"]))
    raws = [warc(content) for content in WHOLE]
    raws[2] = raws[2][:300]
    place = draw.draw(st.integers(0, 299))
    raws[2] = raws[2][:place] + draw.draw(st.binary(max_size=20)) + raws[2][place + 3 :]
    path = tmp_path / "file"
    path.write_bytes(packed(raws, form))
    with path.open("rb") as file:
        found = outline(list(warc_records(file)))
    assert found[:2] == WHOLE[:2]
    assert found[-1] == WHOLE[4]


@given(st.data())
def test_whole_records_are_what_the_general_path_makes_of_them(
    tmp_path: Path, draw: st.DataObject
) -> None:
    form = draw.draw(st.sampled_from(["plain", "whole", "members", "blocks"]))
    raws = [warc(content, end=draw.draw(st.sampled_from([b"\r\n", b"\n"]))) for content in WHOLE]
    raws = draw.draw(st.sampled_from([raws, [FILE_HEAD, arc(WHOLE[0]), *raws[:2]]]))
    pieces = st.sampled_from([b"", b"\n", b" ", b"WARC/1.0\r\n", b"\r\n\r\n", b"1", b":"])
    for _ in range(draw.draw(st.integers(0, 3))):
        number = draw.draw(st.integers(0, len(raws) - 1))
        place = draw.draw(st.integers(0, 100) | st.integers(2000, 2400))
        cut = draw.draw(st.integers(0, 3))
        raws[number] = raws[number][:place] + draw.draw(pieces) + raws[number][place + cut :]
    path = tmp_path / "file"
    path.write_bytes(packed(raws, form))
    found = []
    for is_general in (False, True):
        with pytest.MonkeyPatch.context() as patch, path.open("rb") as file:
            if is_general:
                patch.setattr(module, "whole_record", lambda *_: None)
            found.append([show(record) for record in warc_records(file, max_record=2300)])
    assert found[0] == found[1]


def show(record: Record) -> tuple[object, ...]:
    return (
        record.header,
        record.content,
        record.offset,
        record.problem,
        record.cause,
        record.type,
        dict(record.fields),
    )


def test_a_file_that_is_not_on_disk_is_refused() -> None:
    with pytest.raises(io.UnsupportedOperation):
        list(warc_records(io.BytesIO(b"WARC/1.0\r\n")))
