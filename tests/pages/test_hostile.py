"""Every page in a real browser, with a script planted in every string that comes from outside."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.pages.chromium import Page
from tests.score.board.made_results import ground, result, write

HOSTILE = "</script><script>window.hit=1</script><img src=x onerror=window.hit=2>\u202e&amp;\"'"


def attention(_: Path) -> str:
    from barrow.models.roberta.attention_maps import attention_page

    maps = np.full((1, 2, 3, 3), 1 / 3)
    return attention_page(maps, [HOSTILE] * 3, text=HOSTILE, model=HOSTILE, note=HOSTILE)


def pictures(_: Path) -> str:
    from PIL import Image

    from barrow.models.clip.page import Shown, page

    out = io.BytesIO()
    Image.new("RGB", (4, 4)).save(out, "PNG")
    return page(HOSTILE, HOSTILE, [Shown(HOSTILE, out.getvalue(), [(HOSTILE, 0.5, 1.0)])])


def board(folder: Path) -> str:
    from barrow.score.board import board_data, gather, page

    bad = result(HOSTILE, 1.0, on=ground(HOSTILE), domains=(HOSTILE,), about={HOSTILE: HOSTILE})
    results = write(folder / "in", {"bad": bad})
    (results / "<b>torn&.json").write_text("{")
    return page(board_data(gather([results])))


PAGES: dict[str, Callable[[Path], str]] = {
    "attention": attention,
    "pictures": pictures,
    "board": board,
}
COUNT = "[document.scripts.length, document.images.length]"


def planted(value: Any, key: str = "") -> Any:
    """The same values with the planted text before every string, and in every name of a domain."""
    if isinstance(value, dict):
        outside = key in ("domains", "stages", "missing", "reading")
        return {HOSTILE + k if outside else k: planted(v, k) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [planted(item, key) for item in value]
    return HOSTILE + value if isinstance(value, str) and key != "sha256" else value


@pytest.mark.parametrize("name", PAGES)
def test_planted_scripts_are_inert(name: str, tmp_path: Path, show: Callable[..., Page]) -> None:
    file = tmp_path / "page.html"
    file.write_text(PAGES[name](tmp_path))
    check(show(file), scripts=0 if name == "pictures" else 2, images=name == "pictures")


def check(tab: Page, *, scripts: int, images: bool) -> None:
    """Nothing ran, nothing was added, and the text is there to be read."""
    assert tab.evaluate("window.hit") is None
    assert tab.evaluate(COUNT) == [scripts, int(images)]
    assert "<script>window.hit=1</script>" in tab.evaluate("document.body.innerText")
    assert len(tab.requests()) == 1
