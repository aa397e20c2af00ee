from __future__ import annotations

import base64
import hashlib
import re

from barrow.models.page_frame import STYLE, framed


def test_one_program_may_run_and_nothing_is_fetched() -> None:
    """A browser compares the hash of what stands between the tags, to the byte."""
    page = framed("a", "<p>b</p>", style="", script="\nlet naïve = 1;\n")
    (inside,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=", page)


def test_without_a_program_none_may_run() -> None:
    page = framed("a <b> & c", "<p>d</p>", style="p { color: red; }")
    assert "script" not in page
    assert "<title>a &lt;b&gt; &amp; c</title>" in page
    assert "p { color: red; }" in page


def test_every_colour_is_there_by_day_and_by_night() -> None:
    day, night = (set(re.findall(r"(--\w+):", part)) for part in STYLE.split("@media")[:2])
    assert day == night
    assert set(re.findall(r"var\((--\w+)\)", STYLE)) <= day
    assert STYLE.count("{") == STYLE.count("}")
