from __future__ import annotations

import gzip
from pathlib import Path

from barrow.corpus.text.html.stored import load_page


def test_pages_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes("<p>café".encode("cp1252"))
    assert load_page(path, max_bytes=100) == ("<p>café", None)
    text = "".join(f"{k * 7919 % 10007} " for k in range(9000)).encode()
    path.write_bytes(gzip.compress(text)[:-50])
    markup, reject = load_page(path, max_bytes=1 << 20)
    assert text.decode().startswith(markup)
    assert len(markup) > 10_000
    assert reject is not None
    assert reject.reason == "truncated"
