from __future__ import annotations

import pytest

from barrow.corpus.text.latex.convert import convert
from barrow.corpus.text.latex.definitions import TooMuchExpansion
from barrow.corpus.text.latex.project import Project

BEGIN = "\\documentclass{a}\\begin{document}"
DOUBLING = "".join(f"\\def\\a{chr(97 + k)}{{\\a{chr(98 + k)}\\a{chr(98 + k)}}}" for k in range(24))


@pytest.mark.parametrize(
    "body",
    [
        r"\def\a{\a}\a",
        r"\def\a{x\a x}\a",
        r"\newcommand{\a}{\b}\newcommand{\b}{\a}$\a$",
        r"\input{main}",
        DOUBLING + r"\aa",
        r"\newcommand{\a}[1]{#1}" + r"\a{" * 50_000 + "}" * 50_000,
    ],
)
def test_bombs(body: str) -> None:
    with pytest.raises(TooMuchExpansion):
        convert(Project({"main.tex": (BEGIN + body).encode()}), "main.tex", keep_bibliography=False)


def test_files_and_packages() -> None:
    files = {
        "main.tex": b"\\documentclass{a}\\usepackage{mine}\\input{m}\\begin{document}"
        b"\\x \\y{} \\include{s}\\import{d/}{t}\\end{document}not this",
        "mine.sty": b"\\newcommand{\\x}{X}\\def\\section{no}\\def\\z{\\@no}",
        "m.tex": b"\\newcommand{\\y}{Y}",
        "s.tex": b"S % comment",
        "d/t.tex": b"\\section{T}",
    }
    found = convert(Project(files), "main.tex", keep_bibliography=False)
    assert found.text == "XY S\n\n# T"
    assert found.title == ""
