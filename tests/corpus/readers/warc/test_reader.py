"""PILE-8: web archives."""

from __future__ import annotations

import base64
import bz2
import gzip
import hashlib
import lzma
import os
import random
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import lz4.frame
import pytest
import trafilatura
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document, config
from barrow.corpus import Domain
from barrow.corpus.readers.reader import Item, Reject
from barrow.corpus.readers.warc.reader import Warc

PARAGRAPHS = [
    (
        "The mound stands at the end of the valley, where two old roads meet, and nobody living "
        "remembers who raised it or for whom. It has been opened twice, by men who wrote nothing."
    ),
    (
        "In the summer of 1911 a party of students measured it from end to end and found it to be "
        "longer by three paces than the books said; their drawing hangs in the school."
    ),
    (
        "What is certain is that the stones came from the far side of the river. They carry marks "
        "of ropes, and one of them, the naïve visitor is always told, carries the mark of a hand."
    ),
]
STATUS = "HTTP/1.1 200 OK\r\n"


def page(*, title: str = "The Barrow &amp; its stones", head: str = "") -> str:
    body = "\n".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)
    return (
        f'<!DOCTYPE html><html lang="en-GB"><head><title>{title}</title>{head}'
        f"<script>var x = 1;</script></head><body><article><h1>The barrow</h1>{body}</article>"
        "</body></html>"
    )


PAGE = page().encode()


def http(
    body: bytes = PAGE,
    *,
    kind: str = "text/html; charset=utf-8",
    fields: str = "",
    status: str = STATUS,
) -> bytes:
    return f"{status}Content-Type: {kind}\r\n{fields}\r\n".encode() + body


def record(
    content: bytes,
    kind: str = "response",
    *,
    number: int = 1,
    url: str = "http://a.org/b",
    fields: str = "",
    content_type: str = "application/http; msgtype=response",
    version: str = "1.0",
) -> bytes:
    head = (
        f"WARC/{version}\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{number}>\r\n"
        f"WARC-Date: 2020-08-08T17:27:41Z\r\nWARC-Target-URI: {url}\r\n"
        f"Content-Type: {content_type}\r\n{fields}Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"


def arc(content: bytes, url: str = "http://a.org/b", *, second: bool = False) -> bytes:
    more = "200 X4 - 88 f.arc.gz " if second else ""
    line = f"{url} 10.0.0.1 20140216050221 text/html {more}{len(content)}\n"
    return line.encode() + content + b"\n"


@pytest.fixture
def items(tmp_path: Path) -> Callable[..., list[Item]]:
    def items(data: bytes, name: str = "a.warc", **options: object) -> list[Item]:
        path = tmp_path / name
        path.write_bytes(data)
        return list(Warc(**options).read(path))  # type: ignore[arg-type]

    return items


def only(found: list[Item]) -> Document:
    assert len(found) == 1, found
    assert isinstance(found[0], Document), found
    return found[0]


def reason(found: list[Item]) -> str:
    assert len(found) == 1, found
    assert isinstance(found[0], Reject), found
    return found[0].reason


def has_page(document: Document) -> bool:
    """Whether the text has the article and nothing that no reader would see."""
    assert "var x" not in document.text
    assert "<" not in document.text
    assert document.text == document.text.strip()
    return all(paragraph in document.text for paragraph in PARAGRAPHS)


def test_a_page(items: Callable[..., list[Item]]) -> None:
    document = only(items(record(http())))
    assert has_page(document)
    assert document.meta == {
        "url": "http://a.org/b",
        "date": "2020-08-08T17:27:41Z",
        "member": "urn:uuid:1",
        "content_type": "text/html",
        "encoding": "utf-8",
        "title": "The Barrow & its stones",
        "language": "en",
    }


def fineweb_text(html: str, url: str) -> str | None:
    """What FineWeb was made with."""
    return trafilatura.extract(html, url=url, favor_precision=True, include_comments=False)


def failing(html: str, url: str) -> str | None:
    if "fail" in url:
        raise KeyError(url)
    return f"{url}  \r\n" if "none" not in url else None


def test_another_extractor(items: Callable[..., list[Item]]) -> None:
    """FineWeb's text, byte for byte; title, language and encoding are found as ever."""
    document = only(items(record(http()), extract=fineweb_text))
    assert document.text == fineweb_text(page(), "http://a.org/b")
    assert document.meta == only(items(record(http()))).meta
    reader = Warc(extract=fineweb_text)
    saved = config.to_dict(Domain("A", reader))
    assert saved["reader"]["extract"]["object"].endswith(":fineweb_text")
    trust = config.outside(reader)
    assert config.from_dict(Domain, saved, trust=trust).reader == reader


def test_an_extractor_that_fails_costs_a_page(items: Callable[..., list[Item]]) -> None:
    urls = ("http://a.org/1", "http://a.org/fail", "http://a.org/none", "http://a.org/2")
    data = b"".join(record(http(), url=url) for url in urls)
    first, failed, empty, last = items(data, extract=failing)
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert (first.text, last.text) == (f"{urls[0]}  \r\n", f"{urls[3]}  \r\n"), "as it comes"
    assert isinstance(failed, Reject)
    assert isinstance(empty, Reject)
    assert (failed.reason, failed.cause) == ("empty", f"extract: KeyError: {urls[1]!r}")
    assert (empty.reason, empty.cause) == ("empty", "a page without text")


COMPRESSED: dict[str, Callable[[list[bytes]], bytes]] = {
    "": b"".join,
    ".gz": lambda records: b"".join(map(gzip.compress, records)),
    ".whole.gz": lambda records: gzip.compress(b"".join(records)),
    ".zst": lambda records: b"".join(map(zstandard.compress, records)),
    ".whole.zst": lambda records: zstandard.compress(b"".join(records)),
    ".lz4": lambda records: b"".join(map(lz4.frame.compress, records)),
    ".whole.lz4": lambda records: lz4.frame.compress(b"".join(records)),
    ".bz2": lambda records: bz2.compress(b"".join(records)),
    ".xz": lambda records: lzma.compress(b"".join(records)),
}


@pytest.mark.parametrize("ending", COMPRESSED)
@pytest.mark.parametrize("version", ["0.18", "1.0", "1.1"])
def test_every_form_gives_the_same(
    items: Callable[..., list[Item]], ending: str, version: str
) -> None:
    records = [record(b"software: x\r\n", "warcinfo", content_type="application/warc-fields")]
    records += [
        record(http(page(title=f"{n}").encode()), number=n, version=version) for n in range(9)
    ]
    found = items(COMPRESSED[ending](records), f"a.warc{ending}")
    assert [(item.meta["member"], item.meta["title"]) for item in found] == [  # type: ignore[union-attr]
        (f"urn:uuid:{n}", f"{n}") for n in range(9)
    ]
    assert all(has_page(item) for item in found if isinstance(item, Document))


@pytest.mark.parametrize("ending", COMPRESSED)
@pytest.mark.parametrize("second", [False, True])
def test_arc(items: Callable[..., list[Item]], ending: str, second: bool) -> None:
    records = [arc(b"2 0 Crawl\nURL IP-address ...\n", "filedesc://a.arc", second=second)]
    records += [arc(b"20140216050221\na.org 10.0.0.1\n", "dns:a.org", second=second)]
    records += [arc(http(), f"http://a.org/x y {n}", second=second) for n in range(3)]
    found = items(COMPRESSED[ending](records), f"a.arc{ending}")
    assert [item.meta["url"] for item in found] == [f"http://a.org/x y {n}" for n in range(3)]  # type: ignore[union-attr]
    document = found[0]
    assert isinstance(document, Document)
    assert has_page(document)
    assert document.meta["date"] == "2014-02-16T05:02:21Z"
    assert document.meta["member"] == f"byte {len(records[0]) + len(records[1])}"


def bare_deflate(data: bytes) -> bytes:
    codec = zlib.compressobj(wbits=-15)
    return codec.compress(data) + codec.flush()


def chunked(data: bytes) -> bytes:
    parts = [data[k : k + 100] for k in range(0, len(data), 100)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ("Content-Encoding: identity\r\n", PAGE),
        ("Content-Encoding: gzip\r\n", gzip.compress(PAGE)),
        ("Content-Encoding: gzip\r\n", PAGE),
        ("Content-Encoding: deflate\r\n", zlib.compress(PAGE)),
        ("Content-Encoding: deflate\r\n", bare_deflate(PAGE)),
        ("Content-Encoding: br\r\n", brotli.compress(PAGE)),
        ("Content-Encoding: zstd\r\n", zstandard.compress(PAGE)),
        ("Transfer-Encoding: chunked\r\n", chunked(PAGE)),
        ("Transfer-Encoding: chunked\r\n", PAGE),
        ("Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n", chunked(gzip.compress(PAGE))),
    ],
)
def test_codings(items: Callable[..., list[Item]], fields: str, body: bytes) -> None:
    assert has_page(only(items(record(http(body, fields=fields)))))


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "windows-1252", "utf-16"])
@pytest.mark.parametrize("in_header", [True, False])
def test_encodings(items: Callable[..., list[Item]], encoding: str, in_header: bool) -> None:
    head = "" if in_header else f'<meta charset="{encoding}">'
    kind = f"text/html; charset={encoding}" if in_header else "text/html"
    document = only(items(record(http(page(head=head).encode(encoding), kind=kind))))
    assert has_page(document)
    assert document.meta["encoding"]


@pytest.mark.parametrize("kind", ["text/plain", "Text/Plain; charset=utf-8", "text/plain;"])
def test_plain_text(items: Callable[..., list[Item]], kind: str) -> None:
    text = "One  line.\r\n\r\n\r\n\r\nAnother\x00 <b> \r\n" + PARAGRAPHS[2]
    document = only(
        items(record(http(text.encode(), kind=kind, fields="Content-Language: de\r\n")))
    )
    assert document.text == "One  line.\n\nAnother <b>\n" + PARAGRAPHS[2]
    assert document.meta["content_type"] == "text/plain"
    assert document.meta["language"] == "de"
    assert "title" not in document.meta


def test_conversion(items: Callable[..., list[Item]]) -> None:
    """WET: text already."""
    fields = "WARC-Identified-Content-Language: deu,eng\r\n"
    data = record(
        b"Ein Satz.\n<noch einer>\n", "conversion", content_type="text/plain", fields=fields
    )
    document = only(items(data, "a.warc.wet"))
    assert document.text == "Ein Satz.\n<noch einer>"
    assert document.meta["language"] == "de"


@pytest.mark.parametrize("content_type", ["text/html", "application/xhtml+xml; charset=utf-8"])
def test_resource(items: Callable[..., list[Item]], content_type: str) -> None:
    assert has_page(only(items(record(PAGE, "resource", content_type=content_type))))


@pytest.mark.parametrize(
    "kind", ["text/plain", "text/xml", "application/xml; charset=utf-8", "", "nonsense"]
)
def test_what_looks_like_a_page_is_one(items: Callable[..., list[Item]], kind: str) -> None:
    assert has_page(only(items(record(http(kind=kind)))))


def test_type_found_by_the_crawler(items: Callable[..., list[Item]]) -> None:
    fields = "WARC-Identified-Payload-Type: text/plain\r\n"
    assert only(items(record(http(b"words", kind=""), fields=fields))).text == "words"


@pytest.mark.parametrize(
    ("kind", "content_type", "url"),
    [
        ("warcinfo", "application/warc-fields", "x"),
        ("request", "application/http; msgtype=request", "http://a.org"),
        ("metadata", "application/json", "http://a.org"),
        ("response", "text/dns", "dns:a.org"),
        ("resource", "text/plain", "<metadata://gnu.org/software/wget/warc/wget.log>"),
    ],
)
def test_records_about_the_crawl_are_passed_over(
    items: Callable[..., list[Item]], kind: str, content_type: str, url: str
) -> None:
    assert items(record(b"some: words\r\n", kind, content_type=content_type, url=url)) == []


SHA1 = base64.b32encode(hashlib.sha1(PAGE).digest()).decode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (record(http(), "revisit"), "revisit"),
        (record(b"", "revisit"), "revisit"),
        (record(http(), "continuation"), "truncated"),
        (record(http(), fields="WARC-Segment-Number: 1\r\n"), "truncated"),
        (record(http(), "invented"), "unknown-record"),
        (record(http(status="HTTP/1.1 404 Not Found\r\n")), "http-error"),
        (record(http(status="HTTP/1.1 301 Moved\r\n")), "http-error"),
        (record(http(kind="image/png")), "not-html"),
        (record(http(kind="application/json")), "not-html"),
        (record(http(b"{}", kind="")), "not-html"),
        (record(http(b"<feed/>", kind="text/xml")), "not-html"),
        (record(b"\x89PNG", "resource", content_type="image/png"), "not-html"),
        (record(b"no header"), "bad-http"),
        (record(b""), "empty"),
        (record(http(b"")), "empty"),
        (record(http(b" \r\n")), "empty"),
        (record(http(b"<html><body></body></html>")), "empty"),
        (record(http(bytes(range(32)) * 100)), "undecodable"),
        (record(http(b"\x1f\x8bx", fields="Content-Encoding: gzip\r\n")), "undecodable"),
        (record(http(fields="Content-Encoding: sdch\r\n")), "unsupported-encoding"),
        (record(http(b"x" * 1_100_000)), "too-large"),
        (
            record(http(gzip.compress(bytes(1 << 22)), fields="Content-Encoding: gzip\r\n")),
            "too-large",
        ),
        (record(http())[:-100], "truncated"),
        (record(http()).replace(b"Content-Length", b"Content-Width"), "broken-record"),
        (b"<html>no archive at all</html>", "broken-record"),
        (b"", "empty"),
    ],
)
def test_rejects(items: Callable[..., list[Item]], data: bytes, expected: str) -> None:
    """PILE-8: everything that does not become a document is counted under a reason."""
    assert reason(items(data, max_bytes=1 << 20)) == expected
    good = record(http(), number=2)
    around = items(good + data + (b"" if expected == "truncated" else good), max_bytes=1 << 20)
    assert isinstance(around[0], Document)
    assert [item.reason for item in around if isinstance(item, Reject)] == [expected] * bool(data)
    assert expected == "truncated" or isinstance(around[-1], Document)


def test_rejects_say_where_and_what(items: Callable[..., list[Item]]) -> None:
    found = items(record(http(status="HTTP/1.1 503 Busy\r\n"), number=77))[0]
    assert isinstance(found, Reject)
    assert (found.member, found.cause) == ("urn:uuid:77", "status 503")
    assert found.excerpt.startswith("HTTP/1.1 503 Busy")


def test_what_the_crawler_cut_is_kept_and_marked(items: Callable[..., list[Item]]) -> None:
    document = only(items(record(http(), fields="WARC-Truncated: length\r\n")))
    assert document.meta["truncated"] == "length"


@pytest.mark.parametrize(
    ("digest", "is_good"),
    [
        (f"sha1:{SHA1}", True),
        (f"SHA1:{SHA1.lower()}", True),
        (f"sha256:{hashlib.sha256(PAGE).hexdigest()}", True),
        ("blake9:AAAA", True),
        ("sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", False),
        (f"md5:{SHA1}", False),
    ],
)
def test_digests(items: Callable[..., list[Item]], digest: str, is_good: bool) -> None:
    fields = f"WARC-Payload-Digest: {digest}\r\n"
    data = record(http(), fields=fields)
    assert has_page(only(items(data)))
    assert isinstance(items(data, check_digests=True)[0], Document) == is_good
    if is_good:
        data = record(http(chunked(PAGE), fields="Transfer-Encoding: chunked\r\n"), fields=fields)
        assert has_page(only(items(data, check_digests=True)))
    else:
        assert reason(items(data, check_digests=True)) == "bad-digest"


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("2020-08-08T17:27:41Z", "2020-08-08T17:27:41Z"),
        ("2020-08-08T17:27:41.123456Z", "2020-08-08T17:27:41.123456Z"),
        ("2008-10-294T05:21:46-0700", None),
        ("2020-13-08T17:27:41Z", None),
        ("", None),
    ],
)
def test_dates(items: Callable[..., list[Item]], date: str, expected: str | None) -> None:
    data = record(http()).replace(b"2020-08-08T17:27:41Z", date.encode())
    assert only(items(data)).meta.get("date") == expected


def test_addresses(items: Callable[..., list[Item]]) -> None:
    data = record(http(), url="<http://a.org/ü b>") + record(http(), url="http://x/")
    data = data.replace(b"http://x/", b"http://x/\xff\x07")
    found = [item.meta["url"] for item in items(data) if isinstance(item, Document)]
    assert found == ["http://a.org/ü b", "http://x/\ufffd"]


@pytest.mark.parametrize("ending", [".gz", ".zst", ".lz4"])
def test_damage_costs_one_record(items: Callable[..., list[Item]], ending: str) -> None:
    """PILE-8: reading continues after it."""
    raws = [
        record(http(random.Random(n).randbytes(2000).hex().encode(), kind="text/plain"), number=n)
        for n in range(6)
    ]
    packed = [bytearray(COMPRESSED[ending]([raw])) for raw in raws]
    packed[2][len(packed[2]) // 2 :] = b"\xff" * 9
    found = items(b"".join(packed), f"a.warc{ending}")
    members = [item.meta["member"] for item in found if isinstance(item, Document)]
    assert [member for member in members if member != "urn:uuid:3"] == [
        f"urn:uuid:{n}" for n in (0, 1, 4, 5)
    ]
    assert {item.reason for item in found if isinstance(item, Reject)} <= {
        "broken-record",
        "truncated",
    }
    assert len(found) >= 5


def test_what_is_no_file(tmp_path: Path) -> None:
    assert reason(list(Warc().read(tmp_path))) == "not-a-file"
    assert reason(list(Warc().read(tmp_path / "none"))) == "unreadable"
    os.mkfifo(tmp_path / "pipe")
    assert reason(list(Warc().read(tmp_path / "pipe"))) == "not-a-file"
    odd = os.fsencode(tmp_path) + b"/\xff.warc"
    Path(os.fsdecode(odd)).write_bytes(record(http()))
    assert has_page(only(list(Warc().read(Path(os.fsdecode(odd))))))


def test_patterns() -> None:
    names = [
        "a.warc",
        "x/a.warc.gz",
        "a.warc.wet.gz",
        "b.arc",
        "b.arc.gz",
        "c.warc.zst",
        "d.warc.lz4",
    ]
    for name in names:
        assert any(Path(name).match(pattern.removeprefix("**/")) for pattern in Warc.patterns)
    assert Warc.extractor == "warc/2"


@pytest.mark.parametrize("kind", ["content", "header", "http header", "no length"])
def test_bombs(tmp_path: Path, kind: str) -> None:
    """PILE-4: a member that unpacks to 16 MiB, where 1 MiB is the most a record may have."""
    size = 16 << 20
    begin = STATUS.encode() + b"X: " if kind == "http header" else b""
    length = b"Content-Length: %d" % (size + len(begin))
    head = record(b"").replace(b"Content-Length: 0", length)[:-4]
    starts = {
        "header": b"WARC/1.0\r\nX: ",
        "no length": b"WARC/1.0\r\nX: y\r\n\r\n",
    }
    codec = zlib.compressobj(1, wbits=31)
    bomb = codec.compress(starts.get(kind, head + begin))
    zeros = bytes(1 << 20)
    bomb += b"".join(codec.compress(zeros) for _ in range(size >> 20)) + codec.flush()
    good = gzip.compress(record(http()))
    path = tmp_path / "a.warc.gz"
    path.write_bytes(good + bomb + good)
    tracemalloc.start()
    first, bad, last = Warc(max_bytes=1 << 20).read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert isinstance(bad, Reject)
    assert bad.reason in ("too-large", "broken-record", "truncated")
    assert peak < 8 << 20


def test_the_same_twice(items: Callable[..., list[Item]]) -> None:
    data = b"".join(record(http(), number=n) for n in range(5)) + b"stray" + record(b"x")
    assert items(data) == items(data)


def check(path: Path) -> None:
    for item in Warc().read(path):
        assert isinstance(item, Document | Reject)
        if isinstance(item, Document):
            item.text.encode()
            assert item.text
        else:
            (item.cause + item.member + item.excerpt).encode()


BOTH = "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n"
BROTLI = http(brotli.compress(PAGE), fields="Content-Encoding: br\r\n")
SEEDS = [
    record(http()) + record(http(chunked(gzip.compress(PAGE)), fields=BOTH)),
    gzip.compress(record(http())) + gzip.compress(record(BROTLI)),
    arc(b"1 0 Crawl\n\n", "filedesc://a.arc") + arc(http()) + arc(http()),
    zstandard.compress(record(http())) * 2,
    lz4.frame.compress(record(http())) * 2,
]
EDITS = st.tuples(st.floats(0, 0.999), st.binary(max_size=4), st.integers(0, 9))
HEADS = [b"", b"WARC/1.0\r\n", b"\x1f\x8b\x08", b"filedesc://", b"\x5d\x2a\x4d\x18"]


@given(st.sampled_from(SEEDS), st.lists(EDITS, max_size=4), st.floats(0.2, 1))
def test_any_change_of_an_archive(
    tmp_path: Path, seed: bytes, edits: list[tuple[float, bytes, int]], kept: float
) -> None:
    data = bytearray(seed)
    for where, new, length in edits:
        at = int(where * len(data))
        data[at : at + length] = new
    path = tmp_path / "a"
    path.write_bytes(data[: int(kept * len(data)) + 1])
    check(path)


@given(st.sampled_from(HEADS), st.binary())
def test_any_bytes(tmp_path: Path, head: bytes, data: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(head + data)
    check(path)
