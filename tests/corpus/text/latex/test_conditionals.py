from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"a \iffalse b \iftrue c \fi \else d \fi e", "a d e"),
        (r"a \iftrue b \else c \fi d", "a b d"),
        (r"\ifpdf a \else b \fi", "b"),
        (r"\def\a{x}\def\b{x}\ifx\a\b y\else n\fi", "y"),
        (r"\ifx\a\undefined y\else n\fi", "y"),
        (r"\if xy n\else y\fi", "y"),
        (r"\def\e#1{\if\relax\detokenize{#1}\relax empty\else #1\fi}\e{} \e{z}", "empty z"),
        (r"\def\m{\ifmmode m\else t\fi}\m{} $\m$", "t $m$"),
        (r"$a \iff b$ c", r"$a \iff b$ c"),
        (r"\iffalse never closed", ""),
    ],
)
def test_conditionals(markdown: Callable[..., str], body: str, expected: str) -> None:
    assert markdown(body) == expected
