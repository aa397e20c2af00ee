"""arXiv (PILE-6)."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.latex import Latex, arxiv_id
from barrow.corpus.readers.reader import Item, Reject

PROSE = "Burial mounds keep pollen for four thousand years, and it tells of the meadows. " * 8
PREAMBLE = "\\documentclass{article}\\title{Mounds}"
PAPER = f"{PREAMBLE}\\begin{{document}}\\maketitle\n{PROSE}\\end{{document}}"
TEXT = f"# Mounds\n\n{PROSE.strip()}"


def tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def sorted_out(items: list[Item]) -> tuple[list[Document], list[str]]:
    documents = [item for item in items if isinstance(item, Document)]
    for document in documents:
        document.text.encode()
    rejects = [item.reason for item in items if isinstance(item, Reject)]
    assert len(documents) + len(rejects) == len(items)
    return documents, rejects


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("1801.00001.gz", gzip.compress(PAPER.encode())),
        ("1801.00001.gz", gzip.compress(tar({"a.tex": PAPER.encode(), "f.png": b"\x89PNG"}))),
        ("1801.00001.tar.gz", gzip.compress(tar({"./a.tex": PAPER.encode()}))),
        ("1801.00001.tar", tar({"a.tex": PAPER.encode()})),
        ("1801.00001.zip", zipped({"x/a.tex": PAPER.encode()})),
        ("1801.00001.tex", PAPER.encode()),
        ("1801.00001/main.tex", PAPER.encode()),
    ],
)
def test_forms(tmp_path: Path, name: str, data: bytes) -> None:
    documents, rejects = sorted_out(list(Latex().read(write(tmp_path / name, data))))
    meta = {"title": "Mounds", "arxiv_id": "1801.00001", "url": "https://arxiv.org/abs/1801.00001"}
    assert documents == [Document(TEXT, meta)]
    assert rejects == []


def test_a_month(tmp_path: Path) -> None:
    paper = gzip.compress(PAPER.encode())
    files = {
        "1801/1801.00001.gz": paper,
        "1801/1801.00002.pdf": b"%PDF-1.4",
        "1801/hep-th9901001.gz": gzip.compress(tar({"m.tex": PAPER.encode()})),
        "1801/1801.00003.gz": paper[:40],
        "1801/1801.00004.gz": gzip.compress(b"%auto-ignore\nThis paper has been withdrawn."),
    }
    data = tar(files)
    path = write(tmp_path / "arXiv_src_1801_001.tar", data)
    documents, rejects = sorted_out(list(Latex().read(path)))
    assert [(d.meta["arxiv_id"], d.meta["member"]) for d in documents] == [
        ("1801.00001", "1801/1801.00001.gz"),
        ("hep-th/9901001", "1801/hep-th9901001.gz"),
    ]
    assert {document.text for document in documents} == {TEXT}
    assert rejects == ["no-source", "truncated", "withdrawn"]
    assert list(Latex().read(path)) == list(Latex().read(path))
    cut, broken = sorted_out(list(Latex().read(write(tmp_path / "cut.tar", data[:1800]))))
    assert [document.text for document in cut] == [TEXT]
    assert broken


def test_a_folder(tmp_path: Path) -> None:
    inputs = PAPER.replace(PROSE, "\\input{s/one}")
    paths = [
        write(tmp_path / "p/s/one.tex", PROSE),
        write(tmp_path / "p/main.tex", inputs),
        write(tmp_path / "p/main.bbl", "x"),
        write(tmp_path / "p/supplement.tex", PAPER),
        write(tmp_path / "q/1801.00001.gz", gzip.compress(PAPER.encode())),
        write(tmp_path / "q/1801.00002.tex", PAPER),
        write(tmp_path / "q/1801.00003.tex", PAPER),
    ]
    groups = Latex().group(paths)
    assert [len(found) for found in groups] == [4, 1, 1, 1]
    for items in (Latex().read_group(groups[0]), Latex().read(tmp_path / "p")):
        documents, rejects = sorted_out(list(items))
        assert [document.text for document in documents] == [TEXT, TEXT]
        assert [document.meta["member"] for document in documents] == ["main.tex", "supplement.tex"]
        assert rejects == []


def test_every_root_of_a_folder_is_a_document(tmp_path: Path) -> None:
    """PILE-6: chapters that are whole documents, and a book in two layouts."""
    for name in ("sets", "fields", "schemes"):
        chapter = PAPER.replace("Mounds", name).replace("\\maketitle", "\\input{preamble}")
        write(tmp_path / f"stacks/{name}.tex", chapter)
    write(tmp_path / "stacks/preamble.tex", "\\newcommand{\\x}{y}")
    items = list(Latex().read(tmp_path / "stacks"))
    titles = {d.meta["title"]: d.meta["member"] for d in items if isinstance(d, Document)}
    assert titles == {name: f"{name}.tex" for name in ("sets", "fields", "schemes")}
    assert len(items) == 3

    for layout in ("a4", "letter"):
        book = PAPER.replace("Mounds", layout).replace(PROSE, "\\include{text/all}")
        write(tmp_path / f"book/{layout}.tex", book)
    write(tmp_path / "book/text/all.tex", "\\input{text/one}\n\\subfile{text/two}")
    write(tmp_path / "book/text/one.tex", PROSE)
    write(tmp_path / "book/text/two.tex", PAPER.replace("{article}", "{subfiles}"))
    write(tmp_path / "book/cover.tex", PAPER.replace(PROSE, "A cover."))
    documents, rejects = sorted_out(list(Latex().read(tmp_path / "book")))
    assert [document.meta["member"] for document in documents] == ["letter.tex"]
    assert sorted(rejects) == ["other-document", "too-short"]


def test_an_archive_of_several_roots(tmp_path: Path) -> None:
    files = {"a.tex": PAPER.encode(), "b.tex": PAPER.replace("Mounds", "Hills").encode()}
    month = tar({"1801/1801.00001.gz": gzip.compress(tar(files))})
    documents, _ = sorted_out(list(Latex().read(write(tmp_path / "month.tar", month))))
    assert [(d.meta["member"], d.meta["arxiv_id"]) for d in documents] == [
        (f"1801/1801.00001.gz/{name}", "1801.00001") for name in files
    ]
    chosen = {**files, "00README.XXX": b"b.tex toplevelfile\n"}
    documents, rejects = sorted_out(list(Latex().read(write(tmp_path / "x.tar", tar(chosen)))))
    assert [document.meta["title"] for document in documents] == ["Hills"]
    assert rejects == ["other-document"]


def test_labels_that_references_name_stay(tmp_path: Path) -> None:
    body = (
        "\\newtheorem{thm}{Theorem}\\begin{thm}[Main]\\label{thm:a} Mounds last.\\end{thm}"
        "\\begin{lemma}\n  \\label{l:b}\n  Hills too.\\end{lemma}"
        "\\begin{lemma}\\label{l:c}Unnamed.\\end{lemma} "
        "See \\cref{thm:a,l:b}, \\label{s} \\ref{s}. "
    )
    (document,) = Latex().read(write(tmp_path / "x.tex", PAPER.replace("\\maketitle", body)))
    assert isinstance(document, Document)
    assert document.text.startswith(
        "# Mounds\n\n**Theorem** (Main). [thm:a] Mounds last.\n\n**Lemma**. [l:b] Hills too.\n\n"
        "**Lemma**. Unnamed.\n\nSee [thm:a], [l:b], [s]. "
    )


def test_a_book_without_its_main_file(tmp_path: Path) -> None:
    write(tmp_path / "a.tex", f"\\chapter{{A}}\\x{{}} {PROSE}")
    write(tmp_path / "macros.tex", "\\newcommand{\\x}{Expanded.}")
    (document,) = Latex().read(tmp_path)
    assert isinstance(document, Document)
    assert document.text == f"# A\n\nExpanded. {PROSE.strip()}"
    assert document.meta == {"member": "a.tex"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"%PDF-1.4 x", "no-source"),
        (gzip.compress(b"%!PS-Adobe"), "no-source"),
        (tar({"a.pdf": b"%PDF"}), "no-source"),
        (b"no TeX in here", "not-latex"),
        (b"\\documentclass{a}\\begin{document}short\\end{document}", "too-short"),
        (b"\\documentclass{a}\\begin{document}" + b"$x_1$ " * 500, "too-much-markup"),
        (b"\\documentclass{a}\\begin{document}\\def\\a{\\a}\\a", "macro-bomb"),
        (gzip.compress(PAPER.encode())[:-20], "truncated"),
        (gzip.compress(b"\\bye" + b" " * (1 << 26)), "bomb"),
        (tar({"../a.tex": PAPER.encode()}), "unsafe-name"),
        (tar({"a.tex": b" " * ((1 << 25) + 1)}), "too-large"),
    ],
)
def test_rejects(tmp_path: Path, data: bytes, reason: str) -> None:
    documents, rejects = sorted_out(list(Latex().read(write(tmp_path / "x.gz", data))))
    assert documents == []
    assert rejects[0] == reason


def test_paths_that_are_no_papers(tmp_path: Path) -> None:
    assert sorted_out(list(Latex().read(tmp_path / "gone")))[1] == ["unreadable"]
    (tmp_path / "folder").mkdir()
    assert sorted_out(list(Latex().read(tmp_path / "folder")))[1] == ["no-source"]
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert sorted_out(list(Latex().read(tmp_path / "link")))[1] == ["unreadable"]
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.tex"))
    assert len(sorted_out(list(Latex().read(write(odd, PAPER))))[0]) == 1
    gone = sorted_out(list(Latex().read_group([tmp_path / "a.tex", tmp_path / "b.tex"])))
    assert gone == ([], ["unreadable", "unreadable", "no-source"])


def test_plain_tex(tmp_path: Path) -> None:
    text = (
        f"\\magnification=1200\n\\centerline{{\\bf Mounds}}\n\n\\beginsection One\n\n{PROSE}\\bye"
    )
    (document,) = Latex().read(write(tmp_path / "x.tex", text))
    assert isinstance(document, Document)
    assert document.text.endswith(f"**Mounds**\n\n# One\n\n{PROSE.strip()}")
    old = PAPER.replace("\\documentclass", "\\documentstyle[12pt]")
    (document,) = Latex().read(write(tmp_path / "y.tex", old))
    assert isinstance(document, Document)
    assert document.text == TEXT


def test_arxiv_ids() -> None:
    assert arxiv_id("1801/1801.00001v2.tar.gz") == "1801.00001v2"
    assert arxiv_id("hep-th9901001.gz") == "hep-th/9901001"
    assert arxiv_id("main.tex") is None


@settings(max_examples=40)
@given(st.binary(max_size=400))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    begin = b"\\documentclass{a}\\begin{document}"
    for content in (data, begin + data, gzip.compress(begin + data)):
        sorted_out(
            list(Latex(min_characters=0, min_prose=0).read(write(tmp_path / "x.gz", content)))
        )


PIECES = [
    "{", "}", "$", "\\begin{", "\\end{", "itemize}", "equation}", "\\item", "\\def\\a#1{",
    "\\a", "&", "\\\\", "\\iffalse", "\\fi", "\\else", "\n\n", "text ", "\\footnote{",
    "\\verb|", "[", "]", "\\cite", "\\section", "%", "\\'", "tabular}{c}", "\\[", "\\]",
    "\\emph{", "\\newcommand", "\\title{", "\ufdd0",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_pieces(tmp_path: Path, pieces: list[str]) -> None:
    path = write(tmp_path / "x.tex", "\\documentclass{a}\\begin{document}" + "".join(pieces))
    first = list(Latex(min_characters=0, min_prose=0).read(path))
    sorted_out(first)
    assert first == list(Latex(min_characters=0, min_prose=0).read(path))
