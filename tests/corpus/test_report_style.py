from __future__ import annotations

import re

from barrow.corpus.report_style import STYLE
from barrow.corpus.survey import STEPS


def test_nothing_is_fetched() -> None:
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert "@font-face" not in STYLE
    assert "<" not in STYLE
    assert "&" not in STYLE
    assert STYLE.count("{") == STYLE.count("}")


def test_what_charts_are_filled_with_has_a_colour() -> None:
    kinds = {"kept", "train", "validation", "test", "exact", "near", "track", "column", "area"}
    kinds |= {f"lost-{step}" for step in STEPS}
    filled = set(re.findall(r"\.([\w-]+)(?=[^{}]*\{ fill:)", STYLE))
    assert kinds <= filled
