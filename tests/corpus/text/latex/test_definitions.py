"""Macros of the author, in text and in formulas."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("preamble", "body", "expected"),
    [
        (r"\newcommand{\R}{\mathbb{R}}", r"$\R^n$", r"$\mathbb{R}^n$"),
        (r"\newcommand\a[2]{#2-#1}", r"\a{x}{y} \a xy", "y-x y-x"),
        (r"\newcommand{\a}[2][o]{#1#2}", r"\a{x} \a[p]{x}", "ox px"),
        (r"\def\a#1:#2;{<#2|#1>}", r"\a x:y; z", "<y|x> z"),
        (r"\DeclareMathOperator{\rank}{rank}", r"$\rank A$", r"$\operatorname{rank}A$"),
        (r"\DeclareMathOperator*{\am}{arg\,min}", r"$\am$", r"$\operatorname*{arg\,min}$"),
        (r"\let\b\beta \renewcommand{\beta}{\b'}", r"$\beta$", r"$\beta '$"),
        (r"\newcommand{\a}{\alpha}", r"$\a x$", r"$\alpha x$"),
        (r"\newcommand{\a}{one}\providecommand{\a}{two}", r"\a", "one"),
        (r"\newcommand{\a}{one}\renewcommand{\a}{two}", r"\a", "two"),
        (r"\newenvironment{e}[1]{(#1:}{)}", r"\begin{e}{t}x\end{e}", "(t:x)"),
        (r"\def\be{\begin{equation}}\def\ee{\end{equation}}", r"\be x \ee", "$$x$$"),
        (r"\newif\ifa \atrue", r"\ifa x\else y\fi", "x"),
        (r"\newif\ifa", r"\ifa x\else y\fi", "y"),
        (r"\DeclarePairedDelimiter{\abs}{|}{|}", r"$\abs{x}$", "$| x|$"),
        (r"\newcommand{\N}{\ensuremath{\mathbb{N}}\xspace}", r"\N is, $\N$",
         r"$\mathbb{N}$ is, ${\mathbb{N}}$"),
        (r"\renewcommand{\section}{x}", r"\section{T}", "# T"),
        (r"\edef\a{\a x}\edef\b{y}", r"\b", "y"),
        (r"\NewDocumentCommand{\a}{mm}{#2#1}", r"\a{x}{y}", "yx"),
    ],
)  # fmt: skip
def test_macros(markdown: Callable[..., str], preamble: str, body: str, expected: str) -> None:
    assert markdown(body, preamble) == expected
