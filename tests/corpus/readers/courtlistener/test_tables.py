from __future__ import annotations

import io
from pathlib import Path

import pytest

from barrow.corpus.input.spill import temporary_database
from barrow.corpus.readers.courtlistener.tables import CourtTables, table_of, table_rows
from barrow.corpus.readers.reader import Reject

# The same rows as PostgreSQL wrote them over the years.
QUOTED = b'id,text\n"1","a ""b"", c\nd"\n"2",""\n'
BACKTICKS = b'id,text\n`1`,`a "b", c\nd`\n`2`,``\n'
BACKSLASHES = b'id,text\n"1","a \\"b\\", c\nd"\n"2",""\n'


def test_names_of_tables() -> None:
    names = [
        *("opinions-2024-05-06.csv.bz2", "opinion-clusters-2024-05-06.csv", "dockets.csv.gz"),
        *("courts-2024-05-06.csv", "search_opinioncluster-2024-05-06.csv", "people.csv"),
    ]
    assert [table_of(Path(name)) for name in names] == [
        *(("opinion", "-2024-05-06"), ("opinioncluster", "-2024-05-06"), ("docket", "")),
        *(("court", "-2024-05-06"), ("opinioncluster", "-2024-05-06"), None),
    ]


@pytest.mark.parametrize("data", [QUOTED, BACKTICKS, BACKSLASHES])
def test_rows_of_every_dialect(data: bytes) -> None:
    rows = list(table_rows(io.BytesIO(data), "x.csv"))
    assert rows == [{"id": "1", "text": 'a "b", c\nd'}, {"id": "2"}]


def test_a_table_larger_than_what_is_looked_at() -> None:
    text = "\n".join(f'"{n}","{n} \\"x\\" {"y" * 1000}\nz"' for n in range(3000))
    rows = list(table_rows(io.BytesIO(f"id,text\n{text}\n".encode()), "x.csv"))
    assert len(rows) == 3000
    assert all(isinstance(row, dict) and row["text"].endswith("y\nz") for row in rows)


def test_bad_rows() -> None:
    reasons = []
    for data in (b"a,b\n1,2\n", b'id,b\n"1","2","3"\n', b'id,b\n"1","2', b""):
        rows = table_rows(io.BytesIO(data), "x.csv")
        reasons += [row.reason for row in rows if isinstance(row, Reject)]
    assert reasons == ["unknown-columns", "malformed", "truncated"]


def test_joined() -> None:
    with temporary_database() as database:
        tables = CourtTables(database)
        for name, data in {
            "opinioncluster": b"id,case_name,date_filed,docket_id\n5,A v. B,2001-02-03,7\n",
            "docket": b"id,court_id,docket_number\n7,ca1,12-3\n8,ca2,4\n",
            "court": b"id,full_name\nca1,First Circuit\n",
            "citation": b"id,volume,reporter,page,cluster_id\n1,3,F.2d,4,5\n2,1,U.S.,2,5\n",
        }.items():
            assert list(tables.add(name, table_rows(io.BytesIO(data), name))) == []
        cluster, docket, court = tables.of_opinion({"cluster_id": "5"})
        assert (cluster["case_name"], docket["docket_number"]) == ("A v. B", "12-3")
        assert court == {"full_name": "First Circuit"}
        assert [citation["reporter"] for citation in cluster["citations"]] == ["F.2d", "U.S."]
        assert tables.of_opinion({"cluster_id": "6"}) == ({"citations": []}, {}, {})
        assert tables.of_opinion({}) == ({"citations": []}, {}, {})
