from __future__ import annotations

import base64
import io
import re

from PIL import Image

from barrow.models.clip_page import Shown, page


def png(colour: tuple[int, int, int], size: tuple[int, int] = (600, 40)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


def test_the_page_is_whole_and_safe() -> None:
    best = [("<b>cat</b>", 0.75, 24.125), ("dog", 0.25, 20.0)]
    text = page("T & Q", "about <x>", [Shown('"><script>', png((255, 0, 0)), best)])
    assert "<script" not in text
    assert "&lt;b&gt;cat&lt;/b&gt;" in text
    assert "T &amp; Q" in text
    assert "width: 75.0%" in text
    assert "24.12" in text
    assert "default-src 'none'" in text
    assert set(re.findall(r"var\((--\w+)\)", text)) <= set(re.findall(r"(--\w+):", text))
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    (data,) = re.findall(r"base64,([^\"]+)", text)
    small = Image.open(io.BytesIO(base64.b64decode(data)))
    assert small.size == (448, 30)
    assert small.convert("RGB").getpixel((5, 5)) == (255, 0, 0)
