from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a $x^2$ b", "a $x^2$ b"),
        (r"a \(x\) b", "a $x$ b"),
        ("a $$x$$ b", "a\n$$x$$\nb"),
        (r"a \[ x \] b", "a\n$$x$$\nb"),
        (r"\begin{align*} a &= b \\ c &= d \end{align*}",
         "$$\\begin{aligned}\na &= b \\\\ c &= d\n\\end{aligned}$$"),
        (r"\begin{equation}\label{e}x\end{equation}", r"$$\label{e}x$$"),
        (r"$a \text{ if $b$}$", r"$a \text{ if $b$}$"),
        ("$a\n\nb", "a\n\nb"),
        (r"$a \textcolor{red}{b}$", "$a {b}$"),
        (r"$$a \section{T} text", "$$a$$\n\n# T\n\ntext"),
        (r"\begin{narrowmultline} a \end{narrowmultline}",
         "$$\\begin{gathered}\na\n\\end{gathered}$$"),
    ],
)  # fmt: skip
def test_formulas(markdown: Callable[..., str], body: str, expected: str) -> None:
    assert markdown(body) == expected
