from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"\begin{itemize}\item a\item b\end{itemize}", "- a\n- b"),
        (r"\begin{enumerate}\item a\begin{itemize}\item b\end{itemize}\item c\end{enumerate}",
         "1. a\n\n   - b\n\n2. c"),
        (r"\begin{description}\item[T] x\end{description}", "- **T** x"),
        (r"\begin{tabular}{ll}\hline a & b\\ \multicolumn{2}{c}{x} \\ \end{tabular}",
         "| a | b |\n|---|---|\n| x |  |"),
        (r"\begin{tabular}{ll}\makecell{a\\b} & c\\ d & e\end{tabular}",
         "| a b | c |\n|---|---|\n| d | e |"),
        (r"\begin{theorem}[Name] x\end{theorem}\begin{proof}y\end{proof}",
         "**Theorem** (Name). x\n\n*Proof.* y ◻"),
        (r"\begin{quote}a\end{quote}", "> a"),
        (r"a\begin{tikzpicture}\draw x;\end{tikzpicture}b", "ab"),
        ("a\\begin{comment}\nno\n\\end{comment}b", "ab"),
        (r"\begin{abstract}a\end{abstract}", "# Abstract\n\na"),
        (r"\begin{algorithmic}\STATE a\IF{b}\STATE c\ENDIF\end{algorithmic}",
         "a\nif b\nc\nend if"),
        ("\\begin{lstlisting}[caption={T}]\nx\n\\end{lstlisting}", "T\n\n```\nx\n```"),
        (r"\end{nothing}a", "a"),
    ],
)  # fmt: skip
def test_environments(markdown: Callable[..., str], body: str, expected: str) -> None:
    assert markdown(body) == expected


def test_theorems_of_the_author(markdown: Callable[..., str]) -> None:
    text = markdown(r"\begin{satz}x\end{satz}", r"\newtheorem{satz}{Satz}[section]")
    assert text == "**Satz**. x"
