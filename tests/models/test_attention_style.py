from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from barrow.models import page_frame
from barrow.models.attention_style import SCRIPT, STYLE


def test_colours_and_focus() -> None:
    assert ":focus-visible" in STYLE
    names = set(re.findall(r"var\((--\w+)\)", STYLE + SCRIPT)) - {"--cell"}
    assert names <= set(re.findall(r"(--\w+):", page_frame.STYLE))
    assert STYLE.count("{") == STYLE.count("}")


def test_nothing_of_the_text_is_read_as_html() -> None:
    assert "innerHTML" not in SCRIPT
    assert "eval" not in SCRIPT
    assert SCRIPT.strip().startswith("(() => {")
    assert SCRIPT.strip().endswith("})();")


def test_the_program_parses() -> None:
    node = shutil.which("node")
    if node is None:
        assert SCRIPT.count("{") == SCRIPT.count("}")
        return
    done = subprocess.run([node, "--check", "-"], input=SCRIPT, text=True, capture_output=True)
    if done.returncode:
        pytest.fail(done.stderr)
