"""Papers in PDF (PILE-6): documents from files made here, and all that can be wrong."""

from __future__ import annotations

import gzip
import io
import os
import random
import sys
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.pdf import Pdf
from barrow.corpus.readers.reader import Item, Reject
from barrow.errors import MissingExtra

SENTENCE = (
    "Whether the barrow was raised over one man or over many is a question that the spade alone "
    "will not answer, for the earth keeps the order of its layers but not the reasons of those who "
    "laid them. "
)
PARAGRAPHS = [
    f"{start} {SENTENCE * num}".strip() for start, num in (("One.", 3), ("Two.", 2), ("Three.", 4))
]
TEXT = "\n\n".join(PARAGRAPHS)


@pytest.fixture
def pdf(placed: Callable[..., str], write_pdf: Callable[..., bytes]) -> Callable[..., bytes]:
    """A page of paragraphs, wrapped as a program would, first lines indented."""

    def pdf(paragraphs: list[str] = PARAGRAPHS, **options: object) -> bytes:
        content, y = "", 720
        for paragraph in paragraphs:
            for n, line in enumerate(textwrap.wrap("  " + paragraph, 78, break_on_hyphens=False)):
                content += placed(line.lstrip(), 84 if n == 0 else 72, y)
                y -= 12
        return write_pdf([content], **options)

    return pdf


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def only(items: Iterator[Item]) -> Item:
    (item,) = list(items)
    return item


def reason(items: Iterator[Item]) -> str:
    item = only(items)
    assert isinstance(item, Reject), item
    return item.reason


def test_a_paper(tmp_path: Path, pdf: Callable[..., bytes]) -> None:
    info = "/Title (On Barrows) /Author (A. Digger) /CreationDate (D:20190704120000+02'00')"
    path = write(tmp_path / "a.pdf", pdf(info=info, catalog="/Lang (en-GB)"))
    meta = {"title": "On Barrows", "author": "A. Digger", "date": "2019-07-04", "language": "en"}
    assert only(Pdf().read(path)) == Document(TEXT, {**meta, "pages": 1})
    assert list(Pdf().read(path)) == list(Pdf().read(path))
    assert isinstance(only(Pdf(min_characters=len(TEXT)).read(path)), Document)
    short = only(Pdf(min_characters=len(TEXT) + 1).read(path))
    assert short == Reject("too-short", f"{len(TEXT)} characters", "", TEXT[:2000])


def test_packed(tmp_path: Path, pdf: Callable[..., bytes]) -> None:
    data = pdf()
    document = only(Pdf().read(write(tmp_path / "a.pdf.gz", gzip.compress(data))))
    assert document == Document(TEXT, {"pages": 1})
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one/first.pdf", data)
        archive.writestr("two.PDF", data)
        archive.writestr("notes.txt", b"x")
        archive.writestr("../up.pdf", data)
        archive.writestr("bad.pdf", b"no such thing")
    documents = [Document(TEXT, {"member": m, "pages": 1}) for m in ("one/first.pdf", "two.PDF")]
    items = list(Pdf().read(tmp_path / "a.zip"))
    assert items[:2] == documents
    assert [(r.reason, r.member) for r in items[2:] if isinstance(r, Reject)] == [
        *(("unknown-file", "notes.txt"), ("unsafe-name", "../up.pdf"), ("not-a-pdf", "bad.pdf")),
    ]
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for name in ("one/first.pdf", "two.PDF"):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    assert list(Pdf().read(tmp_path / "a.tar.gz")) == documents
    cut = write(tmp_path / "cut.tar", gzip.decompress((tmp_path / "a.tar.gz").read_bytes()))
    os.truncate(cut, len(data) + 2000)
    items = list(Pdf().read(cut))
    assert items[0] == documents[0]
    assert next(item.reason for item in items[1:] if isinstance(item, Reject)) == "truncated"


def test_passwords(tmp_path: Path, pdf: Callable[..., bytes]) -> None:
    """Where the password is empty, every program opens the file, and so do we."""
    assert reason(Pdf().read(write(tmp_path / "a.pdf", pdf(password=b"secret")))) == "encrypted"
    document = only(Pdf().read(write(tmp_path / "b.pdf", pdf(password=b""))))
    assert isinstance(document, Document)
    assert document.text == TEXT


def test_pictures_without_text(tmp_path: Path, write_pdf: Callable[..., bytes]) -> None:
    image = b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8"
    image += b" /ColorSpace /DeviceGray /Length 1 >>\nstream\n\x80\nendstream"
    data = write_pdf(["q 612 0 0 792 0 0 cm /I Do Q"] * 3, extra=[image])
    data = data.replace(b"/Font << /F1", b"/XObject << /I 10 0 R >> /Font << /F1")
    assert reason(Pdf().read(write(tmp_path / "a.pdf", data))) == "no-text-layer"


def test_a_stamp_is_no_text_layer(
    tmp_path: Path, placed: Callable[..., str], write_pdf: Callable[..., bytes]
) -> None:
    data = write_pdf([placed("Scanned 2004", 72, 20)] * 40)
    assert reason(Pdf(min_characters=1).read(write(tmp_path / "a.pdf", data))) == "no-text-layer"


@pytest.mark.parametrize("kind", ["shifted", "private", "symbols", "flipped"])
def test_garbled(tmp_path: Path, pdf: Callable[..., bytes], kind: str) -> None:
    """Fonts cut down to the letters in use often say nothing of which these are."""
    lines = [*PARAGRAPHS]
    options: dict[str, object] = {}
    if kind == "shifted":
        lines = ["".join(chr(ord(c) - 29) if c > "=" else c for c in text) for text in lines]
    elif kind == "flipped":
        lines = ["".join(c.upper() if n % 3 == 2 else c for n, c in enumerate(t)) for t in lines]
    elif kind == "symbols":
        lines = ["".join(chr(0xA1 + ord(c) % 13) if c > " " else c for c in t) for t in lines]
    else:
        ranges = b"1 begincodespacerange <00> <ff> endcodespacerange\n"
        ranges += b"1 beginbfrange <61> <65> <e021> endbfrange"
        table = b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n" + ranges
        table += b"\nendcmap end end"
        stream = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(table), table)
        options["extra"] = [stream]
        options["font"] = "/Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode 10 0 R"
    path = write(tmp_path / "a.pdf", pdf(lines, **options))
    assert reason(Pdf().read(path)) == "garbled"


def test_not_pdfs(tmp_path: Path) -> None:
    assert reason(Pdf().read(write(tmp_path / "a.pdf", b"<html>Not found</html>"))) == "not-a-pdf"
    assert reason(Pdf().read(write(tmp_path / "b.pdf", b""))) == "empty"
    assert reason(Pdf().read(write(tmp_path / "c.pdf.gz", gzip.compress(b"")))) == "not-a-pdf"
    assert reason(Pdf().read(tmp_path / "none.pdf")) == "unreadable"
    assert reason(Pdf().read(tmp_path)) == "unreadable"
    assert reason(Pdf().read(write(tmp_path / "d.pdf", b"%PDF-1.7\n"))) == "malformed"
    assert (
        reason(Pdf().read(write(tmp_path / "e.pdf", b"%PDF-1.7\n" + b"\0" * 9999))) == "malformed"
    )
    os.mkfifo(tmp_path / "pipe.pdf")
    assert reason(Pdf().read(tmp_path / "pipe.pdf")) == "unreadable"


def test_names_that_are_not_utf_8(tmp_path: Path, pdf: Callable[..., bytes]) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.pdf"))
    assert isinstance(only(Pdf().read(write(path, pdf()))), Document)


def test_sizes(tmp_path: Path, pdf: Callable[..., bytes]) -> None:
    data = pdf()
    path = write(tmp_path / "a.pdf", data)
    assert reason(Pdf(max_bytes=len(data) - 1).read(path)) == "too-large"
    assert isinstance(only(Pdf(max_bytes=len(data)).read(path)), Document)
    bomb = gzip.compress(data + bytes(50_000_000))
    assert reason(Pdf(max_bytes=1 << 20).read(write(tmp_path / "b.pdf.gz", bomb))) == "too-large"


def test_damage_that_can_be_mended(tmp_path: Path, pdf: Callable[..., bytes]) -> None:
    """PDFium, as all programs do, looks for the objects itself if their table is wrong."""
    data = pdf()
    for n, broken in enumerate(
        [
            b"\n\n" + data,
            data.replace(b"startxref\n", b"startxref\n9"),
            data[: data.rindex(b"xref\n0")] + b"trailer << /Root 1 0 R >>",
            data.replace(b"0000000", b"0000001"),
        ]
    ):
        document = only(Pdf().read(write(tmp_path / f"{n}.pdf", broken)))
        assert isinstance(document, Document), (n, document)
        assert document.text == TEXT


def test_truncated(tmp_path: Path, pdf: Callable[..., bytes]) -> None:
    data = pdf()
    for share in (0.1, 0.3, 0.6, 0.9):
        item = only(Pdf().read(write(tmp_path / "a.pdf", data[: int(len(data) * share)])))
        assert isinstance(item, Document) or item.reason in ("malformed", "no-text-layer")


def test_page_trees_that_lie(tmp_path: Path, pdf: Callable[..., bytes]) -> None:
    data = pdf()
    for count in (b"9999999", b"2147483647"):
        path = write(tmp_path / "a.pdf", data.replace(b"/Count 1", b"/Count " + count))
        item = only(Pdf().read(path))
        assert isinstance(item, Document) or item.reason in ("malformed", "too-large"), item
    loop = data.replace(b"/Kids [10 0 R]", b"/Kids [2 0 R 10 0 R 2 0 R]")
    item = only(Pdf().read(write(tmp_path / "b.pdf", loop)))
    assert isinstance(item, Document) or item.reason in ("malformed", "no-text-layer"), item
    item = only(Pdf().read(write(tmp_path / "c.pdf", data.replace(b"[10 0 R]", b"[" * 100_000))))
    assert isinstance(item, Reject)


def test_many_pages(tmp_path: Path, write_pdf: Callable[..., bytes]) -> None:
    path = write(tmp_path / "a.pdf", write_pdf([""] * 20_001))
    assert reason(Pdf().read(path)) == "too-large"
    assert reason(Pdf(max_pages=20_001).read(path)) == "no-text-layer"


def test_a_deflate_bomb(tmp_path: Path, write_pdf: Callable[..., bytes]) -> None:
    """A content stream of 640 MB, in less than 1 MB."""
    packer = zlib.compressobj(9)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    data = write_pdf([head + block * 640], stream="/Filter /FlateDecode")
    assert len(data) < 1 << 20
    found = reason(Pdf(memory=1 << 29, seconds=10).read(write(tmp_path / "a.pdf", data)))
    assert found in ("too-large", "crashed", "no-text-layer", "too-slow")


def test_a_parser_that_hangs_or_dies(tmp_path: Path, pdf: Callable[..., bytes]) -> None:
    path = write(tmp_path / "a.pdf", pdf())
    assert reason(Pdf(seconds=0.0001).read(path)) == "too-slow"
    assert isinstance(only(Pdf().read(path)), Document)


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(MissingExtra, match=r"'.\[pdf\]"):
        list(Pdf().read(write(tmp_path / "a.pdf", b"%PDF-1.4")))


def check(items: list[Item]) -> None:
    for item in items:
        assert isinstance(item, Document | Reject)
        assert not (isinstance(item, Reject) and item.reason == "raised")
        (item.text if isinstance(item, Document) else item.cause + item.excerpt).encode()


@settings(max_examples=40)
@given(data=st.binary(max_size=300))
def test_random_bytes(tmp_path: Path, data: bytes) -> None:
    check(list(Pdf(min_characters=1).read(write(tmp_path / "fuzz.pdf", b"%PDF-1.5\n" + data))))
    check(list(Pdf(min_characters=1).read(write(tmp_path / "fuzz", data))))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), num=st.integers(1, 30))
def test_mutated_files(tmp_path: Path, pdf: Callable[..., bytes], seed: int, num: int) -> None:
    rng = random.Random(seed)
    data = bytearray(pdf())
    for _ in range(num):
        at = rng.randrange(len(data))
        if rng.random() < 0.5:
            data[at] = rng.randrange(256)
        else:
            del data[at : at + rng.randrange(20)]
    check(list(Pdf(min_characters=1).read(write(tmp_path / "fuzz.pdf", bytes(data)))))
