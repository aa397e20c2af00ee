from __future__ import annotations

from barrow.corpus.text.latex.project import Project

DOCUMENT = b"\\documentclass{a}\\begin{document}x\\end{document}"


def test_main_files() -> None:
    assert Project({"a.tex": DOCUMENT + b" " * 99, "main.tex": DOCUMENT}).mains()[0] == "main.tex"
    assert Project({"a.tex": DOCUMENT, "b.tex": DOCUMENT + b"x" * 9}).mains()[0] == "b.tex"
    inner = {"main.tex": DOCUMENT, "b.tex": b"\\input{main}" + DOCUMENT}
    assert Project(inner).mains()[0] == "b.tex"
    assert Project({"x/main.tex": DOCUMENT, "b.tex": DOCUMENT}).mains()[0] == "b.tex"
    assert Project({"a.tex": b"\\section{x}", "b.tex": DOCUMENT}).mains() == ["b.tex"]
    assert Project({"a.tex": b"x", "b.tex": b"y"}).mains() == []
    assert Project({"a.tex": b"\\magnification 1000 Text. \\bye"}).mains() == ["a.tex"]


def test_readme() -> None:
    files = {"main.tex": DOCUMENT, "z.tex": DOCUMENT, "00README.XXX": b"z.tex toplevelfile\n"}
    assert Project(files).mains()[0] == "z.tex"
    told = b'{"sources": [{"filename": "main.tex", "usage": "ignore"}]}'
    assert Project({**files, "00README.XXX": told}).mains() == ["z.tex"]


def test_inputs() -> None:
    project = Project({"p/main.tex": DOCUMENT, "p/s/a.tex": b"A", "p/main.bbl": b"B"})
    assert project.find("s/a", "p/main.tex") == "A"
    assert project.find("./S/A.tex", "p/main.tex") == "A"
    assert project.find("../../etc/passwd", "p/main.tex") is None
    assert project.find(".bbl", "p/main.tex") == "B"


def test_declared_encoding() -> None:
    text = "\\usepackage[latin2]{inputenc} Łódź".encode("iso8859-2")
    assert Project({"a.tex": text}).text("a.tex").endswith("Łódź")


def test_chapters_without_a_book() -> None:
    project = Project({"a.tex": b"\\chapter{A}", "m.tex": b"\\newcommand{\\x}{y}"})
    assert project.loose_chapters() == ["a.tex"]
    assert project.macro_files() == ["m.tex"]
    assert project.has_chapters()
