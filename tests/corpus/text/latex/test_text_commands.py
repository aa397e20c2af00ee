from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"\section{A \emph{b}}c\subsection*{D}", "# A *b*\n\nc\n\n## D"),
        (r"a\footnote{note} b\footnote{more}", "a[^1] b[^2]\n\n[^1]: note\n\n[^2]: more"),
        (r"\cite{a,b} \citep[see][p.~3]{c} \citet{d}", "[@a; @b] [see @c, p. 3] @d"),
        (r"\ref{a} \eqref{b} \cref{c,d}", "[a] [b] [c], [d]"),
        (r"\url{http://x/a_b} \href{http://y}{text}", "http://x/a_b [text](http://y)"),
        (r"\begin{figure}\includegraphics[w]{f}\caption{C}\end{figure}", "Figure: C"),
        (r"\section{\texorpdfstring{$x$}{x}}", "# $x$"),
        (r"\proclaim{Theorem 1.} text\endproclaim", "**Theorem 1.** text"),
        (r"\abstract{A text.}", "# Abstract\n\nA text."),
    ],
)
def test_commands(markdown: Callable[..., str], body: str, expected: str) -> None:
    assert markdown(body) == expected


def test_title_and_abstract_of_the_preamble(markdown: Callable[..., str]) -> None:
    text = markdown(r"\maketitle text", r"\title{A\thanks{x} \\ title}\author{B}\date{}")
    assert text == "# A title\n\ntext"


def test_bibliography(markdown: Callable[..., str]) -> None:
    body = r"a\begin{thebibliography}{9}\bibitem{k} Someone, 1999.\end{thebibliography}"
    assert markdown(body) == "a"
    kept = markdown(body, keep_bibliography=True)
    assert kept == "a\n\n# References\n\n- [@k] Someone, 1999."
