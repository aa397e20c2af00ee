"""FreeLaw (PILE-9)."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.items import sorted_out

from barrow import Document
from barrow.corpus.readers.courtlistener.reader import CourtListener

OPINION = {
    "id": 3,
    "cluster": "https://www.courtlistener.com/api/rest/v4/clusters/5/",
    "type": "020lead",
    "html_with_citations": "<p>The <i>rule</i> holds.<sup><a href='#f1'>1</a></sup></p>",
    "plain_text": "other",
}
TEXT = "The rule holds.[1]"
CLUSTER = {
    "id": 5,
    "case_name": "A v. B",
    "date_filed": "2001-02-03",
    "docket": 7,
    "precedential_status": "Published",
    "sub_opinions": ["https://www.courtlistener.com/api/rest/v4/opinions/3/"],
}
CASE = {
    "id": 9,
    "name_abbreviation": "C v. D",
    "casebody": {"opinions": [{"text": "So ordered.", "type": "majority"}], "head_matter": ""},
}
PAGE = (
    '<section class="casebody" data-case-id="9"><section class="head-matter"><p class="parties">'
    'C<br> v.<br> D</p></section><article class="opinion"><p>So <a class="page-label">*2</a>'
    "ordered.</p></article></section>"
)

Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def save(data: Any, name: str = "x.json") -> Path:
        path = tmp_path / name
        is_raw = isinstance(data, bytes)
        path.write_bytes(data if is_raw else json.dumps(data).encode())
        return path

    return save


def reasons(path: Path) -> list[str]:
    return [reject.reason for reject in sorted_out(list(CourtListener().read(path)))[1]]


def test_objects_of_the_interface(save: Save) -> None:
    assert list(CourtListener().read(save(OPINION))) == [
        Document(TEXT, {"type": "lead", "member": "3"})
    ]
    page = {"count": 2, "results": [OPINION, {**OPINION, "id": 4, "html_with_citations": ""}]}
    documents, _ = sorted_out(list(CourtListener().read(save(page))))
    assert [(document.text, document.meta["member"]) for document in documents] == [
        *((TEXT, "3"), ("other", "4")),
    ]
    full = {
        **CLUSTER,
        "sub_opinions": [OPINION],
        "docket": {"docket_number": "1-2", "court": "ca1"},
    }
    documents, rejects = sorted_out(list(CourtListener().read(save(full))))
    assert [document.meta for document in documents] == [
        {
            "title": "A v. B",
            "court": "ca1",
            "date": "2001-02-03",
            "docket_number": "1-2",
            "type": "lead",
            "member": "3",
        }
    ]
    assert rejects == []


def test_fixtures_are_joined(save: Save) -> None:
    objects = [
        {"model": "search.docket", "pk": 7, "fields": {"docket_number": "1-2", "court": "ca1"}},
        {"model": "search.court", "pk": "ca1", "fields": {"full_name": "First Circuit"}},
        {"model": "search.opinioncluster", "pk": 5, "fields": {**CLUSTER, "id": None}},
        {
            "model": "search.citation",
            "pk": 1,
            "fields": {"volume": 1, "reporter": "U.S.", "page": "2", "cluster": 5},
        },
        {"model": "search.opinion", "pk": 3, "fields": {**OPINION, "cluster": 5}},
        {"model": "people.person", "pk": 1, "fields": {}},
    ]
    (document,), (reject,) = sorted_out(list(CourtListener().read(save(objects))))
    assert document == Document(
        TEXT,
        {
            "title": "A v. B",
            "court": "First Circuit",
            "date": "2001-02-03",
            "citations": ["1 U.S. 2"],
            "docket_number": "1-2",
            "type": "lead",
            "member": "3",
        },
    )
    assert reject.reason == "other-objects"
    assert reject.cause.endswith("citation 1, court 1, docket 1, opinioncluster 1, person 1")


def test_json_lines_and_archives(save: Save, tmp_path: Path) -> None:
    lines = b"\n".join(json.dumps(value).encode() for value in (OPINION, CASE, {"a": 1})) + b"\n{"
    for path in (save(lines, "a.jsonl"), save(gzip.compress(lines), "a.jsonl.gz")):
        documents, rejects = sorted_out(list(CourtListener().read(path)))
        assert [document.text for document in documents] == [TEXT, "So ordered."]
        assert [(r.reason, r.member) for r in rejects] == [
            *(("not-an-opinion", "line 3"), ("bad-json", "line 4")),
        ]
    two = b"\n".join(json.dumps(value).encode() for value in (OPINION, CASE))
    assert len(sorted_out(list(CourtListener().read(save(two))))[0]) == 2, (
        "JSON lines that are called .json"
    )

    packed = tmp_path / "scotus.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        for name, value in {"3.json": OPINION, "9.json": CASE, "../up.json": CASE}.items():
            data = json.dumps(value).encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("link.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    documents, rejects = sorted_out(list(CourtListener().read(packed)))
    assert [document.meta["member"] for document in documents] == ["3.json: 3", "9.json: 9"]
    assert [reject.reason for reject in rejects] == ["unsafe-name", "link"]

    zipped = tmp_path / "cases.zip"
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("html/9.html", PAGE)
        archive.writestr("data.jsonl", json.dumps(CASE))
        archive.writestr("picture.png", b"x")
        archive.writestr("empty.json", b"")
    documents, rejects = sorted_out(list(CourtListener().read(zipped)))
    assert [(document.text, document.meta["member"]) for document in documents] == [
        *(("C\nv.\nD\n\nSo ordered.", "html/9.html: 9"), ("So ordered.", "data.jsonl: 9")),
    ]
    assert [(reject.reason, reject.member) for reject in rejects] == [
        *(("unknown-file", "picture.png"), ("empty", "empty.json")),
    ]


def test_tables_of_the_bulk_data(save: Save) -> None:
    text = 'A \\"word\\" here\nand there.'
    opinions = (
        f'id,type,plain_text,html,cluster_id\n"3","010combined","{text}","","5"\n"4","","","","6"\n'
    )
    paths = [
        save(bz2.compress(opinions.encode()), "opinions-2024-05-06.csv.bz2"),
        save(b"id,case_name,docket_id\n5,A v. B,7\n", "opinion-clusters-2024-05-06.csv"),
        save(b"id,court_id,docket_number\n7,ca1,1-2\n", "dockets-2024-05-06.csv"),
        save(b"id,full_name\nca1,First Circuit\n", "courts-2024-05-06.csv"),
        save(b"id,volume,reporter,page,cluster_id\n1,1,U.S.,2,5\n", "citations-2024-05-06.csv"),
    ]
    other = save(OPINION, "other.json")
    (tables, alone) = CourtListener().group([*paths, other])
    assert (sorted(tables), alone) == (sorted(paths), (other,))
    (document,), (reject,) = sorted_out(list(CourtListener().read_group(tables)))
    assert document == Document(
        'A "word" here and there.',
        {
            "title": "A v. B",
            "court": "First Circuit",
            "citations": ["1 U.S. 2"],
            "docket_number": "1-2",
            "type": "combined",
            "member": "3",
        },
    )
    assert (reject.reason, reject.member) == ("no-text", "4")
    (document, _) = CourtListener().read(paths[0])
    assert isinstance(document, Document)
    assert "title" not in document.meta
    assert reasons(paths[1]) == ["not-an-opinion"]
    assert reasons(save(b"id,name\n1,x\n", "people.csv")) == ["not-an-opinion"]


def test_pages(save: Save) -> None:
    (document,) = CourtListener().read(save(PAGE.encode(), "9.html"))
    assert document == Document("C\nv.\nD\n\nSo ordered.", {"title": "C v. D", "member": "9"})
    (document,) = CourtListener(page_marks=True).read(save(PAGE.encode(), "9.html"))
    assert isinstance(document, Document)
    assert document.text.endswith("So *2ordered.")
    (document,) = CourtListener().read(
        save(b"<html><title>t</title><p>Smith v. Jones</p><p>We affirm.", "a.htm")
    )
    assert document == Document("Smith v. Jones\n\nWe affirm.")
    for page, reason in {
        "<p>Hello": "not-an-opinion",
        "<p>Smith v. Jones<form><input></form>": "not-an-opinion",
        "<p>Smith v. {{ name }}": "template",
        "<p> </p>": "no-text",
        "<a/>": "no-text",
    }.items():
        assert reasons(save(page.encode(), "a.html")) == [reason]
    xml = b"<mets><casebody><opinion><p>So ordered.</p></opinion></casebody></mets>"
    assert list(CourtListener().read(save(xml, "a.xml"))) == [Document("So ordered.")]
    assert reasons(save(b"<alto/>", "a.xml")) == ["not-an-opinion"]


def test_bad_input(save: Save, tmp_path: Path) -> None:
    for name, data, expected in (
        ("a.json", b"", ["empty"]),
        ("a.json", b"{", ["bad-json"]),
        ("a.json", b"[" * 100_000, ["bad-json"]),
        ("a.json", b"[1, null, []]", ["not-an-opinion"]),
        ("a.json", b"\xff\xfe\x00\xdc\x00\xdc", ["unknown-encoding"]),
        ("a.json", bytes(range(32)) * 20, ["not-text"]),
        ("a.json", b'{"html": "\\ud800<p>", "id": ' + b"9" * 400 + b"}", []),
        ("a.json", b'{"plain_text": {}, "cluster": [], "citation": 3}', ["no-text"]),
        ("a.json", b'{"casebody": {"opinions": [1, {"text": []}]}}', ["no-text"]),
        ("a.jsonl", b'\n\n{"html": ""}\n', ["no-text"]),
        ("a.json.gz", gzip.compress(json.dumps(OPINION).encode())[:-12], ["truncated"]),
        ("a.zip", b"PK\3\4 no zip", ["truncated"]),
        ("a.csv", b"", ["empty"]),
        ("a.html", b"<p>" * 100_000, ["no-text"]),
    ):
        assert reasons(save(data, name)) == expected, (name, data[:40])
    bomb = gzip.compress(b" " * (1 << 27))
    assert reasons(save(bomb, "b.json.gz"))[0] in ("bomb", "bad-json", "too-large")
    assert [
        r.reason for r in sorted_out(list(CourtListener(max_bytes=10).read(save(OPINION))))[1]
    ] == ["too-large"]
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("folder.json", "link.json", "pipe.json", "missing.json"):
        documents, rejects = sorted_out(list(CourtListener().read(tmp_path / name)))
        assert (documents, len(rejects)) == ([], 1)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.json"))
    odd.write_text(json.dumps(OPINION))
    assert len(sorted_out(list(CourtListener().read(odd)))[0]) == 1


def test_damage_keeps_what_precedes_it(save: Save) -> None:
    lines = b"".join(json.dumps({**OPINION, "id": n}).encode() + b"\n" for n in range(500))
    documents, rejects = sorted_out(
        list(CourtListener().read(save(gzip.compress(lines)[:-200], "a.jsonl.gz")))
    )
    assert len(documents) > 100
    assert [document.meta["member"] for document in documents] == [
        str(n) for n in range(len(documents))
    ]
    assert rejects[-1].reason == "truncated"


VALID = {
    "x.json": json.dumps([OPINION, CLUSTER, CASE]).encode(),
    "x.html": PAGE.encode(),
    "x.xml": b"<Case><ShortName>a</ShortName><CaseHtml>&lt;p&gt;b</CaseHtml></Case>",
    "opinions.csv": b'id,plain_text,cluster_id\n"1","a \\"b\\"","2"\n',
}
