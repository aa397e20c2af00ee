from __future__ import annotations

import base64
import io
import re
from typing import Any

import numpy as np
from PIL import Image

from barrow.models.clip.page import Shown, page


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
    assert '<rect width="75.0"' in text
    assert "24.12" in text
    assert "script-src &#x27;none&#x27;" in text
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    (data,) = re.findall(r"base64,([^\"]+)", text)
    small = opened(data)
    assert small.size == (448, 30)
    red, green, blue = small.convert("RGB").getpixel((5, 5))
    assert red > 250
    assert green + blue < 10


def opened(data: str) -> Any:
    return Image.open(io.BytesIO(base64.b64decode(data)))


def test_photographs_are_small_and_clear_pixels_stay_clear() -> None:
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 256, (300, 400, 3), np.uint8))
    clear = Image.new("RGBA", (20, 20), (9, 8, 7, 0))
    grey = Image.fromarray(np.full((20, 20), 0x8080, np.uint16))
    files = []
    for image in (noise, clear, grey):
        out = io.BytesIO()
        image.save(out, "PNG")
        files.append(out.getvalue())
    text = page("", "", [Shown("x", data, [("a", 1.0, 2.0)]) for data in files])
    kinds, data = zip(*re.findall(r"image/(\w+);base64,([^\"]+)", text), strict=True)
    assert kinds == ("jpeg", "png", "jpeg")
    assert len(data[0]) < len(files[0]) / 2
    assert opened(data[1]).getpixel((3, 3)) == (9, 8, 7, 0)
    assert opened(data[2]).getpixel((3, 3)) == (128, 128, 128)
