"""Formulae in their forms."""

from __future__ import annotations

from barrow.corpus.text.jats.mathml import Formula


def test_forms() -> None:
    formula = Formula("disp-formula", 0, label="(1)", has_picture=True)
    assert formula.is_missing(" ")
    assert formula.text("", is_display=True) == "[formula] (1)"
    assert formula.text("x", is_display=True) == "x (1)"
    formula.tex["mathml"] = "a"
    assert formula.text("x", is_display=True) == "$$a$$ (1)"
    formula.tex["tex"] = "b"
    assert not formula.is_missing("")
    assert formula.text("", is_display=False) == "$b$ (1)"
