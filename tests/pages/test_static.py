"""Styles and scripts of all pages, as files."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.pages.contrast import contrast

import barrow
from barrow.corpus.report.totals import STEPS

SOURCE = Path(barrow.__file__).parent
STYLES = sorted(SOURCE.rglob("static/*.css"))
SCRIPTS = sorted(SOURCE.rglob("static/*.js"))
BASE = (SOURCE / "pages/static/base.css").read_text()
BOARD = (SOURCE / "score/board/static/board.css").read_text()
_COLOUR = re.compile(r"--([\w-]+): light-dark\((#\w+), (#\w+)\);")


def palette(style: str, *, dark: bool) -> dict[str, str]:
    return {name: night if dark else day for name, day, night in _COLOUR.findall(style)}


THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
EACH = pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)


def test_contrast_is_what_the_guidelines_say() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


@THEMES
def test_words_can_be_read_by_day_and_by_night(dark: bool) -> None:
    """WCAG AA: 4.5 to 1 for words, on the shades of the leaderboard too."""
    colours = palette(BASE + BOARD, dark=dark)
    for words in ("ink", "soft", "link"):
        for ground in ("ground", "raised"):
            assert contrast(colours[words], colours[ground]) >= 4.5
    shades = [colours[f"shade-{k}"] for k in range(6)]
    assert len(set(shades)) == 6
    for ground in [colours["track"], *shades]:
        assert contrast(colours["ink"], ground) >= 4.5


@THEMES
def test_marks_and_edges_stand_out(dark: bool) -> None:
    """WCAG AA: 3 to 1 for what is not a word but means something."""
    colours = palette(BASE + BOARD, dark=dark)
    marks = [name for name in colours if name.startswith("mark-")]
    assert len(marks) == 6
    for name in [*marks, "edge", "link", "blue"]:
        assert contrast(colours[name], colours["ground"]) >= 3


@EACH
def test_styles_fetch_nothing_and_use_colours_that_exist(path: Path) -> None:
    style = path.read_text()
    for word in ("url(", "@import", "@font-face", "<", "&"):
        assert word not in style
    assert style.count("{") == style.count("}")
    used = set(re.findall(r"var\(--([\w-]+)\)", style)) - {"cell"}
    assert used <= set(palette(BASE + style, dark=False))


def test_what_charts_are_filled_with_has_a_colour() -> None:
    style = (SOURCE / "corpus/report/static/report.css").read_text()
    kinds = {"kept", "train", "validation", "test", "exact", "near", "track", "column", "area"}
    kinds |= {f"lost-{step}" for step in STEPS}
    assert kinds <= set(re.findall(r"\.([\w-]+)(?=[^{}]*\{ fill:)", style))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_make_no_html_of_a_string(path: Path) -> None:
    script = path.read_text()
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "</"):
        assert word not in script
    # The one address names a language, and is never asked for.
    assert set(re.findall(r"https?://[^\"']+", script)) <= {"http://www.w3.org/2000/svg"}
    node = shutil.which("node")
    if node is None:
        assert script.count("{") == script.count("}")
        return
    done = subprocess.run([node, "--check", "-"], input=script, text=True, capture_output=True)
    assert not done.returncode, done.stderr
