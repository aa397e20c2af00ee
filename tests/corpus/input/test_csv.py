from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.input.csv import BadRecord, Dialect, csv_records

cells = st.text('ab",\n é', max_size=8)
tables = st.lists(st.lists(cells, min_size=2, max_size=4), max_size=6)


def records(data: bytes, max_record: int = 1000) -> list[list[bytes] | BadRecord]:
    return list(csv_records(io.BytesIO(data), max_record=max_record))


@given(tables, st.sampled_from(["\n", "\r\n"]), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
def test_the_same_as_the_standard_library(
    table: list[list[str]], newline: str, quoting: int
) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator=newline, quoting=quoting).writerows(table)  # type: ignore[arg-type]
    expected = [[cell.encode() for cell in row] for row in table]
    assert records(out.getvalue().encode()) == expected
    assert records(out.getvalue().rstrip("\r\n").encode())[:-1] == expected[:-1]


def test_forms() -> None:
    assert records(b"\xef\xbb\xbfa,b\n\n\n1,2") == [[b"a", b"b"], [b"1", b"2"]]
    assert records(b'5" disk,"say ""hi""" \n') == [
        BadRecord("truncated", "ends inside quotes", 1, b'5" disk,"say ""hi""" \n')
    ]
    assert records(b'5" by 6" disk,x\n') == [[b'5" by 6" disk', b"x"]]
    assert records(b'"a"b,c\n1,2\n') == [
        BadRecord("malformed", "characters after a closing quote", 1, b'"a"b,c'),
        [b"1", b"2"],
    ]
    assert records(b"") == []


def test_giant_fields_are_read_and_bounded() -> None:
    giant = b"x" * 300_000  # csv's own limit is 131,072
    assert records(b'"' + giant + b'",1\n', 1 << 20) == [[giant, b"1"]]
    found = records(b"a,b\n" + giant + b"\n1,2\n")
    assert found[0] == [b"a", b"b"]
    assert isinstance(found[1], BadRecord)
    assert (found[1].reason, found[1].line) == ("too-large", 2)
    assert found[2] == [b"1", b"2"]


def test_a_quote_that_is_not_closed_costs_its_line() -> None:
    data = b'a,b\n1,"open\n' + b"2,x\n" * 1000
    found = records(data)
    assert len(found) == 1002
    assert found[1] == BadRecord("malformed", "a quote that is not closed", 2, b'1,"open\n')
    assert found[2:] == [[b"2", b"x"]] * 1000


@pytest.mark.parametrize("line", [b'"\n', b'"",\n', b'a"\n', b"\n", b","])
def test_time_is_linear(line: bytes) -> None:

    def act(n: int) -> None:
        assert sum(1 for _ in csv_records(io.BytesIO(line * n), max_record=1 << 16)) <= n

    check_linear(act, 70_000)  # longer than a record may be


@given(st.binary())
def test_any_bytes(data: bytes) -> None:
    for record in records(data, 50):
        assert isinstance(record, list | BadRecord)


@pytest.mark.parametrize(
    ("dialect", "data"),
    [
        (Dialect(), b'id,text\n"1","a ""b"" \\ c\nd"\n"2",""\n'),
        (Dialect(b'"', b"\\"), b'id,text\n"1","a \\"b\\" \\\\ c\nd"\n"2",""\n'),
        (Dialect(b"`"), b'id,text\n`1`,`a "b" \\ c\nd`\n`2`,``\n'),
        (Dialect(b"`", b"\\"), b'id,text\n`1`,`a "b" \\\\ c\nd`\n`2`,``\n'),
    ],
)
def test_dialects_of_postgresql(dialect: Dialect, data: bytes) -> None:
    records = list(csv_records(io.BytesIO(data), max_record=1000, dialect=dialect))
    assert records == [[b"id", b"text"], [b"1", b'a "b" \\ c\nd'], [b"2", b""]]
