from __future__ import annotations

import pytest

from barrow.corpus.text.latex.definitions import Allowance, TooMuchExpansion, filled, parameters


def test_filled() -> None:
    assert filled(r"a#1b#2##", ["x", "y"]) == "axby#"
    assert filled(r"\foo#1", ["x"]) == r"\foo x"
    assert filled("#3", ["x"]) == ""


def test_parameters() -> None:
    assert parameters("#1#2") == ("", ("", ""))
    assert parameters(r"[#1]:#2\end") == ("[", ("]:", r"\end"))
    assert parameters("") == ("", ())


def test_allowance() -> None:
    allowance = Allowance(100)
    allowance.spend(50)
    with pytest.raises(TooMuchExpansion):
        allowance.spend(50)
