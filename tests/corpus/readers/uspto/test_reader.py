"""Background sections of US patents (PILE-6)."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.items import sorted_out as items_sorted_out
from tests.items import write

from barrow import Document
from barrow.corpus.readers.reader import Item, Reject
from barrow.corpus.readers.uspto.reader import Section, Uspto

GREENBOOK = b"""PATN
WKU  039373754
APT  1
TTL  Boat loader
ISD  19760210
ABST
PAL  In short.
BSUM
PAC  BACKGROUND OF THE INVENTION
PAR  Boats of 10.sup.3 kg
      are heavy.
PAC  SUMMARY OF THE INVENTION
PAR  Ours is light.
DETD
PAR  In detail.
CLMS
NUM  1.
PAR  1. A loader.
"""


def grant(
    number: int = 7272630, *, body: str = "", kind: str = "B2", sort: str = "utility"
) -> bytes:
    body = body or (
        "<heading>FIELD</heading><p>Pumps.</p><heading>BACKGROUND</heading><p>Pumps leak "
        "CO<sub>2</sub> &#x2014; a lot.</p><heading>SUMMARY</heading><p>Ours does not.</p>"
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE us-patent-grant SYSTEM "us-patent-grant-'
        'v42-2006-08-23.dtd" [ ]>\n<us-patent-grant lang="EN"><us-bibliographic-data-grant>'
        "<publication-reference><document-id><country>US</country><doc-number>"
        f"{number:08}</doc-number><kind>{kind}</kind><date>20070918</date></document-id>"
        f'</publication-reference><application-reference appl-type="{sort}"/><invention-title>'
        "A pump</invention-title></us-bibliographic-data-grant><abstract><p>In short.</p>"
        f"</abstract><description>{body}</description><claims><claim><claim-text>1. A pump."
        "</claim-text></claim></claims></us-patent-grant>\n"
    ).encode()


SGML = b"""<!DOCTYPE PATDOC PUBLIC "-//USPTO//DTD ST.32 US PATENT GRANT V2.4 2000-09-20//EN" [
<!ENTITY US1.TIF SYSTEM "US1.TIF" NDATA TIF>
]>
<PATDOC DTD="2.4"><SDOBI><B100><B110><DNUM><PDAT>06167569</PDAT></DNUM></B110><B130><PDAT>B1</PDAT>
</B130><B140><DATE><PDAT>20010102</PDAT></DATE></B140><B190><PDAT>US</PDAT></B190></B100>
<B540><STEXT><PDAT>A pump</PDAT></STEXT></B540><B561><CITED-BY-EXAMINER></B561></SDOBI>
<SDODE><BRFSUM><BTEXT><H LVL="1"><STEXT><PDAT>BACKGROUND</PDAT></STEXT></H>
<PARA><PTEXT><PDAT>Pumps &ldquo;leak&rdquo;.</PDAT></PTEXT></PARA></BTEXT></BRFSUM>
<DETDESC><PARA><PTEXT><PDAT>In detail.</PDAT></PTEXT></PARA></DETDESC></SDODE></PATDOC>
"""
PUMP = "A pump\n\nFIELD\nPumps.\nBACKGROUND\nPumps leak CO2 — a lot."


def sorted_out(items: list[Item]) -> tuple[list[Document], list[Reject]]:
    documents, rejects = items_sorted_out(items)
    for document in documents:
        assert all(isinstance(value, str) and value for value in document.meta.values())
    return documents, rejects


def reasons(path: Path) -> list[str]:
    documents, rejects = sorted_out(list(Uspto().read(path)))
    assert documents == []
    return [reject.reason for reject in rejects]


def test_greenbook(tmp_path: Path) -> None:
    path = write(
        tmp_path / "pftaps19760210_wk06.txt", b"HHHHHT APS1 ISSUE - 760210\n" + GREENBOOK * 2
    )
    document = Document(
        "Boat loader\n\nBoats of 10^3 kg are heavy.",
        {
            "title": "Boat loader",
            "url": "https://patents.google.com/patent/US3937375",
            "date": "1976-02-10",
            "language": "en",
            "member": "US3937375",
            "patent": "3937375",
            "kind": "grant",
            "country": "US",
        },
    )
    assert list(Uspto().read(path)) == [document] * 2


def test_a_week_of_xml(tmp_path: Path) -> None:
    data = b"".join(grant(number) for number in (1, 2, 3))
    documents, rejects = sorted_out(list(Uspto().read(write(tmp_path / "ipg070918.xml", data))))
    assert rejects == []
    assert [document.text for document in documents] == [PUMP] * 3
    assert [document.meta["member"] for document in documents] == ["US1B2", "US2B2", "US3B2"]
    assert documents[0].meta == {
        "title": "A pump",
        "url": "https://patents.google.com/patent/US1B2",
        "date": "2007-09-18",
        "language": "en",
        "member": "US1B2",
        "patent": "1",
        "kind": "grant",
        "kind_code": "B2",
        "country": "US",
    }


def test_sgml(tmp_path: Path) -> None:
    documents, rejects = sorted_out(list(Uspto().read(write(tmp_path / "pg010102.sgm", SGML * 2))))
    assert rejects == []
    assert [document.text for document in documents] == ["A pump\n\nPumps “leak”."] * 2
    assert documents[0].meta["member"] == "US6167569B1"


def test_application(tmp_path: Path) -> None:
    data = grant(kind="A1").replace(b"us-patent-grant", b"us-patent-application")
    [document], rejects = sorted_out(list(Uspto().read(write(tmp_path / "ipa.xml", data))))
    assert rejects == []
    assert (document.meta["kind"], document.meta["kind_code"]) == ("application", "A1")


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("background", PUMP),
        ("description", f"{PUMP}\nSUMMARY\nOurs does not."),
        (
            "all",
            PUMP.replace("FIELD", "In short.\nFIELD") + "\nSUMMARY\nOurs does not.\n1. A pump.",
        ),
    ],
)
def test_sections(tmp_path: Path, section: Section, expected: str) -> None:
    [document] = Uspto(section=section).read(write(tmp_path / "x.xml", grant()))
    assert isinstance(document, Document)
    assert document.text == expected


def test_an_unknown_section_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'claims'"):
        Uspto(section="claims").read(tmp_path / "x.xml")  # type: ignore[arg-type]


def test_one_broken_patent_among_others(tmp_path: Path) -> None:
    broken = grant(2).replace(b"</p><heading>BACK", b"</q><heading>BACK")
    cut = grant(3)[:-700]
    data = grant(1) + broken + cut + grant(4)
    documents, rejects = sorted_out(list(Uspto().read(write(tmp_path / "x.xml", data))))
    assert [document.meta["patent"] for document in documents] == ["1", "4"]
    assert [(reject.reason, reject.member) for reject in rejects] == [
        *(("broken-xml", "US2B2"), ("broken-xml", "document 3")),
    ]
    assert rejects[0].excerpt.startswith("<?xml")


def test_what_comes_after_the_background_is_not_needed(tmp_path: Path) -> None:
    path = write(tmp_path / "x.xml", grant().replace(b"</claims>", b"<<") + grant(2))
    body = "<heading>BACKGROUND</heading><p>a</p><heading>SUMMARY</heading>" + "<p>x</p>" * 5000
    path.write_bytes(grant(1, body=body).replace(b"</claims>", b"<<") + grant(2))
    assert [item.text for item in Uspto().read(path) if isinstance(item, Document)] == [
        "A pump\n\na",
        PUMP,
    ]


@pytest.mark.parametrize(
    ("kind", "sort", "reason"),
    [
        ("B2", "utility", "no-background"),
        ("S1", "design", "design-patent"),
        ("S1", "", "design-patent"),
        ("P2", "plant", "plant-patent"),
    ],
)
def test_without_a_background(tmp_path: Path, kind: str, sort: str, reason: str) -> None:
    data = grant(body="<p>The background is not marked.</p>", kind=kind, sort=sort)
    [reject] = Uspto().read(write(tmp_path / "x.xml", data))
    assert isinstance(reject, Reject)
    assert (reject.reason, reject.member) == (reason, f"US7272630{kind}")
    [document] = Uspto(section="description").read(tmp_path / "x.xml")
    assert isinstance(document, Document)


def test_a_plant_with_a_background_is_kept(tmp_path: Path) -> None:
    [document] = Uspto().read(write(tmp_path / "x.xml", grant(kind="P2", sort="plant")))
    assert isinstance(document, Document)


def test_no_text_at_all(tmp_path: Path) -> None:
    path = write(tmp_path / "x.txt", b"PATN\nWKU  039373754\n")
    assert reasons(path) == ["no-background"]
    [reject] = Uspto(section="all").read(path)
    assert isinstance(reject, Reject)
    assert reject.reason == "no-text"
    path.write_bytes(b"PATN\nBSUM\nPAC  BACKGROUND\nPAR  Untitled.\n")
    [document] = Uspto().read(path)
    assert isinstance(document, Document)
    assert (document.text, document.meta["member"]) == ("Untitled.", "document 1")


def test_encodings(tmp_path: Path) -> None:
    text = GREENBOOK.replace(b"are heavy", "are 5 µm".encode("cp1252"))
    [document] = Uspto().read(write(tmp_path / "x.txt", text))
    assert isinstance(document, Document)
    assert document.text.endswith("kg are 5 µm.")
    text = (
        grant()
        .replace(b'"UTF-8"', b'"ISO-8859-2"')
        .replace(b"Pumps.", "źródło".encode("iso8859-2"))
    )
    [document] = Uspto().read(write(tmp_path / "x.xml", text))
    assert isinstance(document, Document)
    assert "źródło" in document.text
    [document] = Uspto().read(
        write(tmp_path / "x.xml", grant().replace(b"Pumps.", b"P\0u\x07mps."))
    )
    assert isinstance(document, Document)
    assert document.text == PUMP


def test_packed(tmp_path: Path) -> None:
    packed = tmp_path / "ipg070918.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ipg070918.xml", grant(1) + grant(2))
        archive.writestr("readme.txt", b"x")
        archive.writestr("empty.xml", b"")
        archive.writestr("../up.xml", grant(3))
        archive.writestr("old/pftaps.txt", GREENBOOK)
    documents, rejects = sorted_out(list(Uspto().read(packed)))
    assert [document.meta["patent"] for document in documents] == ["1", "2", "3937375"]
    assert [(reject.reason, reject.member) for reject in rejects] == [
        *(
            ("not-a-patent", "readme.txt"),
            ("not-a-patent", "empty.xml"),
            ("unsafe-name", "../up.xml"),
        ),
    ]
    assert (
        len(sorted_out(list(Uspto().read(write(tmp_path / "x.xml.gz", gzip.compress(grant())))))[0])
        == 1
    )
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        member = tarfile.TarInfo("a.xml")
        member.size = len(grant())
        tar.addfile(member, io.BytesIO(grant()))
    assert len(sorted_out(list(Uspto().read(tmp_path / "x.tar")))[0]) == 1


def test_damaged_archives(tmp_path: Path) -> None:
    data = gzip.compress(b"".join(grant(number) for number in range(1, 3000)))
    documents, rejects = sorted_out(list(Uspto().read(write(tmp_path / "x.xml.gz", data[:-2000]))))
    assert len(documents) > 100, "what precedes the damage is kept"
    assert [document.meta["patent"] for document in documents[:3]] == ["1", "2", "3"]
    assert [reject.reason for reject in rejects] == ["truncated"]
    packed = tmp_path / "x.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.xml", grant(1))
        archive.writestr("b.xml", grant(2))
    packed.write_bytes(packed.read_bytes().replace(b"<p>In short.", b"<p>Damaged..", 1))
    documents, rejects = sorted_out(list(Uspto().read(packed)))
    assert [document.meta["patent"] for document in documents] == ["2"]
    assert [(reject.reason, reject.member) for reject in rejects] == [("corrupt", "a.xml")]


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    for data, expected in (
        (b"", ["empty"]),
        (b"\n", ["not-a-patent"]),
        (b"<html></html>", ["not-a-patent"]),
        (b'<?xml version="1.0"?><class-scheme/>', ["not-a-patent"]),
        (b'<?xml version="1.0"?>', ["broken-xml"]),
        (bytes(5000), ["not-a-patent"]),
        (gzip.compress(bytes(1 << 27)), ["not-a-patent"]),
        (gzip.compress(grant())[:-9], ["truncated"]),
        (b"PK\3\4 no zip", ["truncated"]),
        (grant(body="<a>" * 100_000), ["broken-xml"]),
    ):
        assert reasons(write(path, data)) == expected, data[:40]
    for bad in (tmp_path / "missing.xml", tmp_path, Path(str(tmp_path / "a\0b"))):
        assert reasons(bad) == ["unreadable"]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert reasons(pipe) == ["unreadable"]
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.xml"))
    assert len(sorted_out(list(Uspto().read(write(odd, grant()))))[0]) == 1


def test_one_that_is_too_large(tmp_path: Path) -> None:
    large = grant(2, body="<p>" + "x" * 100_000 + "</p>")
    path = write(tmp_path / "x.xml", grant(1) + large + grant(3))
    documents, rejects = sorted_out(list(Uspto(max_bytes=50_000).read(path)))
    assert [document.meta["patent"] for document in documents] == ["1", "3"]
    assert [(reject.reason, reject.member) for reject in rejects] == [("too-large", "document 2")]
    assert rejects[0].excerpt.startswith("<?xml")


def test_patterns() -> None:
    assert {"**/*.xml", "**/*.ZIP", "**/*.txt.gz", "**/*.greenbook"} <= set(Uspto.patterns)
