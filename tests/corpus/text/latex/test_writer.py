"""Markdown of every kind of LaTeX (PILE-6)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

DEEP = 20_000


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a\nb\n\n\n\nc", "a b\n\nc"),
        (r"\emph{a} \textbf{b} {\it c} {\bf d} \texttt{e}", "*a* **b** *c* **d** `e`"),
        (r"\emph{a }b \emph{}c", "*a* b c"),
        (r"caf\'e \"{o} \ss\ \o{} \c{c} \v s \^\i na\"{\i}ve", "café ö ß ø ç š înaïve"),
        (r"``a'' -- b---c `d' e~f 5\% \$ \& \# \_ \{ \}", "\"a\" – b—c 'd' e f 5% $ & # _ { }"),
        (r"\LaTeX{} \ldots\ \S 3 \copyright", "LaTeX … §3 ©"),
        (r"\unknown[x]{kept} text \other", "kept text"),
        (r"\begin{strange}kept\end{strange}", "kept"),
        (r"a\\b\\[2pt]c", "a\nb\nc"),
        (r"a\vspace{1cm}b\label{x}\index{y}c", "abc"),
        (r"\verb|a_b%| c", "`a_b%` c"),
        ("\\begin{verbatim}\n  x %\n\n\n  y\n\\end{verbatim}", "```\n  x %\n\n\n  y\n```"),
        (r"{unclosed \emph{x", "unclosed *x*"),
        (r"a } b", "a b"),
    ],
)
def test_text(markdown: Callable[..., str], body: str, expected: str) -> None:
    assert markdown(body) == expected


@pytest.mark.parametrize("opening", ["{", r"\emph{", r"\footnote{", r"\section{", r"\begin{quote}",
                                     r"\begin{tabular}{c}", r"\begin{itemize}\item ",
                                     "$", r"\href{a}{"])  # fmt: skip
def test_deep_nesting(markdown: Callable[..., str], opening: str) -> None:
    markdown(opening * DEEP)
