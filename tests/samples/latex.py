"""Papers in TeX: a monthly tar of e-prints, each packed by itself, some of several files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tests.samples.batches import batches
from tests.samples.packing import gzipped, tarred
from tests.samples.people import full_name
from tests.samples.pieces import Article, Piece, spoken

_PAPERS_A_FILE = 100
_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%#_"},
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
}
_SIGNS = re.compile("[&%#_~^<>]")
_DOUBLED = re.compile(r"([-'?!`])(?=[-'`])")  # dashes, closing quotes and the like


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """No year has a thirteenth month: the numbers are nobody's."""
    for file, batch in batches(articles, _PAPERS_A_FILE):
        papers = [(f"9913/9913.{number:05}.gz", _paper(a, number)) for number, a in batch]
        yield f"arXiv_src_9913_{file:03}.tar", tarred(papers)


def _paper(article: Article, number: int) -> bytes:
    body = "\n\n".join(_section(piece, place) for place, piece in enumerate(article.pieces))
    head = (
        "% a paper made for a demonstration\n\\documentclass[11pt]{article}\n"
        "\\usepackage[utf8]{inputenc}\n\\newcommand{\\cost}[1]{O(#1 \\log #1)}\n"
        f"\\title{{{_escaped(article.title)}}}\n\\author{{{full_name(number)}}}\n"
        "\\begin{document}\n\\maketitle\n"
    )
    foot = (
        "\n\n\\begin{figure}\\includegraphics{plot}\\end{figure}\n"
        f"The time this takes grows as $\\cost{{n_{{{number}}}}}$ in the worst case"
        "~\\cite{pocket}.\n\n\\begin{thebibliography}{9}\\bibitem{pocket} Anonymous, unpublished."
        "\\end{thebibliography}\n\\end{document}\n"
    )
    if number % 2:
        return gzipped(f"{head}{body}{foot}".encode())
    parts = [("main.tex", f"{head}\\input{{body}}{foot}".encode()), ("body.tex", body.encode())]
    return gzipped(tarred([*parts, ("plot.png", b"\x89PNG\r\n\x1a\n")]))


def _section(piece: Piece, place: int) -> str:
    said = [_escaped(paragraph) for paragraph in piece.paragraphs]
    lines = [f"\\section{{{_escaped(spoken(piece.name))}}}"] if place else []
    lines.append("% what it is for")
    lines.append("\n\n".join(said))
    if piece.code:
        lines.append(f"\\begin{{verbatim}}\n{piece.code}\n\\end{{verbatim}}")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    text = _SIGNS.sub(lambda sign: _SPECIAL[sign[0]], text)
    return _DOUBLED.sub(r"\1{}", text)
