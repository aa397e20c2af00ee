"""Records of large XML files."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator

import pytest

from barrow.corpus.readers.reader import Reject
from barrow.corpus.text.xml.events import BadXml
from barrow.corpus.text.xml.records import xml_records


def found(data: bytes, **options: int) -> list[bytes | str]:
    records = xml_records(io.BytesIO(data), ("a", "b"), **options)
    return [record.reason if isinstance(record, Reject) else record for record in records]


def test_records() -> None:
    data = b"<r><a>1</a><ab>2</ab> <b x='1'>3<a>4</a></b><!-- <a>5</a> --><a>6</a></r>"
    assert found(data) == [b"<a>1</a>", b"<b x='1'>3<a>4</a></b>", b"<a>6</a>"]
    assert found(b"") == found(b"<r/>") == []
    assert found(b"<r><a>1</a><a>2") == [b"<a>1</a>", "truncated"]
    assert found(b"<r><!-- <a>1</a>") == []
    assert found(b"<a>1234567890</a><a>1</a>", max_bytes=10) == ["too-large", b"<a>1</a>"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "iso-8859-1"])
def test_encodings(encoding: str) -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?><r><a>ï</a></r>'.encode(encoding)
    assert found(data) == ["<a>ï</a>".encode()]


def test_utf_8_is_taken_for_what_it_is() -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?><r><a>ï</a></r>'.encode()
    assert found(data) == ["<a>ï</a>".encode()]


def test_entities_are_refused() -> None:
    with pytest.raises(BadXml):
        found(b'<!DOCTYPE a [<!ENTITY x "1">]><a/>')
    with pytest.raises(BadXml):
        found(b"<!-- x --><!DOCTYPE a [" + b" " * (3 << 20) + b"<!ENTITY x '1'>]><a>1</a>")


class _Large(io.RawIOBase):
    """A file of many records, and one that is larger than may be."""

    def __init__(self) -> None:
        self._pieces = self._made()

    def _made(self) -> Iterator[bytes]:
        for number in range(40):
            yield b"<a>" + bytes([65]) * (1 << 20)
            if number != 20:
                yield b"</a>" + b" " * (1 << 20)
        yield b"<a>1</a>"

    def read(self, _size: int = -1) -> bytes:
        return next(self._pieces, b"")


def test_memory_does_not_grow() -> None:
    tracemalloc.start()
    records = [
        record.reason if isinstance(record, Reject) else len(record)
        for record in xml_records(_Large(), ("a",), max_bytes=1 << 21)  # type: ignore[arg-type]
    ]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert records.count((1 << 20) + 7) == 38
    assert records.count("too-large") == 1
    assert peak < 24 << 20
