"""PILE-8: HTML files of any kind."""

from __future__ import annotations

import gzip
from pathlib import Path

from barrow import Document
from barrow.corpus.readers.html import Html

LONG = "Long ago the people of the valley heaped up earth and stones over the graves of their dead."
PAGE = (
    "<html lang=de><head><title>A &amp; B</title><meta property=og:url content=https://a.org/b>"
    f"</head><body><nav>Up</nav><h1>A &amp; B</h1><p>{LONG}</p><pre>x = 1\n  y</pre></body></html>"
)
META = {"title": "A & B", "url": "https://a.org/b", "language": "de"}


def test_all_of_a_page_or_its_main_text(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(PAGE)
    assert list(Html().read(path)) == [Document(f"Up\n\nA & B\n\n{LONG}\n\nx = 1\n  y", META)]
    assert list(Html(main=True).read(path)) == [Document(f"{LONG}\n\nx = 1\n  y", META)]


def shouted(html: str, url: str) -> str:
    return f"{url}: {len(html)}"


def test_another_extractor(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(PAGE)
    expected = Document(f"https://a.org/b: {len(PAGE)}", META)
    assert list(Html(extract=shouted).read(path)) == [expected]


def test_what_is_no_page(tmp_path: Path) -> None:
    def reason(data: bytes, name: str = "a.html", max_bytes: int = 1000) -> str:
        (tmp_path / name).write_bytes(data)
        (reject,) = Html(max_bytes=max_bytes).read(tmp_path / name)
        return str(reject.reason)

    assert reason(b"") == "empty"
    assert reason(b"<script>only()</script>") == "too-short"
    assert reason(b"\x00\x01\x02" * 100) == "not-text"
    assert reason(PAGE.encode(), max_bytes=10) == "too-large"
    assert reason(gzip.compress(PAGE.encode())[:12], "a.html.gz") == "truncated"
    (missing,) = Html().read(tmp_path / "none.html")
    assert missing.reason == "unreadable"
