r"""arXiv: papers in TeX, to markdown with their mathematics, as the Pile's pandoc gave it.

An e-print is a gzipped tar of sources or a gzipped ``.tex``; a monthly ``arXiv_src_*.tar`` holds
thousands of them; a paper may also be a ``.tar``, a ``.zip``, a ``.tex``, or a folder. A main file
(``\documentclass`` and ``\begin{document}``) is read with the files it includes; a folder may hold
several. The author's macros are expanded. Kept: title, abstract, headings, paragraphs, lists,
tables, captions, footnotes, theorems, code, formulas as ``$…$`` and ``$$…$$``, citations as
``[@key]``, references as ``[label]``. Dropped: authors and addresses, pictures, comments, the
preamble, and (unless `keep_bibliography`) the list of references, as pandoc does without citeproc.

Licence: each paper has its own, which the sources do not state; there is none in the meta.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.input.open_raw import load_raw, shown
from barrow.corpus.input.unpack import BadArchive, Member, kind_of, members, open_unpacked, walk
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.latex.convert import Converted, convert
from barrow.corpus.text.latex.definitions import TooMuchExpansion
from barrow.corpus.text.latex.project import TEX_ENDINGS, Project

_SOURCE_ENDINGS = (*TEX_ENDINGS, ".bbl", ".sty", ".txt", ".def", ".inp")
_NEW_ID = re.compile(r"[0-9]{4}\.[0-9]{4,5}(?:v[0-9]{1,2})?")
_OLD_ID = re.compile(r"([a-z]{2,8}(?:-[a-z]{2,4})?)(?:\.[A-Z]{2})?[_/]?([0-9]{7}(?:v[0-9]{1,2})?)")
_ENDING = re.compile(r"(?:\.(?:tar|gz|tgz|zip|tex|pdf|bz2|xz|zst|ps|html|dvi|src))++\Z")
_WITHDRAWN = re.compile(
    r"(?:paper|article|submission|manuscript)[^.]{0,60} withdrawn", re.IGNORECASE
)
_FORMULA = re.compile(r"\$\$[^$]*+\$\$|\$[^$]*+\$")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
_LETTERS = re.compile(r"[^\W\d_]++")
_NO_SOURCE = (b"%PDF", b"%!PS", b"<html", b"<HTML", b"<!DOCTYPE", b"\xf7\x02")


@dataclass(frozen=True)
class Latex(Reader):
    """LaTeX sources (arXiv): papers as Markdown, macros expanded, formulas kept.

    A paper is dropped if its text has fewer than `min_characters`, if the share of letters outside
    formulas among all characters is under `min_prose`, or if its sources are over `max_bytes`.
    """

    keep_bibliography: bool = False
    min_characters: int = 500
    min_prose: float = 0.2
    max_bytes: int = 1 << 25

    extractor = "latex/2"
    patterns = (
        *("**/*.gz", "**/*.tgz", "**/*.tar", "**/*.zip", "**/*.tex", "**/*.ltx", "**/*.latex"),
        *("**/*.TEX", "**/*.bbl", "**/*.sty", "**/00README*", "**/*.pdf"),
    )

    def read(self, path: Path) -> Iterator[Item]:
        name = shown(path.name or path.resolve().name)
        if arxiv_id(name) is None and not path.is_dir():  # main.tex in a folder of the paper's name
            name = shown(path.parent.name)
        yield from _read(path, name, "", self)

    def read_group(self, paths: Sequence[Path]) -> Iterator[Item]:
        """The paper whose files these are."""
        top = Path(os.path.commonpath([path.parent for path in paths]))
        sources = _Sources(self)
        for path in paths:
            name = shown(path.relative_to(top))
            data = load_raw(path, max_bytes=max(sources.left, 0))
            if isinstance(data, Reject):
                yield Reject(data.reason, data.cause, name)
            else:
                sources.add(name, data)
        yield from _papers(sources, shown(top.name), "", self, is_folder=True)

    def group(self, paths: Sequence[Path]) -> list[tuple[Path, ...]]:
        """Each packed file is a group; other files are grouped by the topmost folder with TeX.

        A TeX file named by an arXiv number is a paper.
        """
        tops = {
            path.parent
            for path in paths
            if path.name.lower().endswith(TEX_ENDINGS) and arxiv_id(path.name) is None
        }
        groups: dict[Path, list[Path]] = {}
        for path in paths:
            key = path
            if _is_source(path.name) and arxiv_id(path.name) is None:
                above = [folder for folder in reversed(path.parents) if folder in tops]
                key = above[0] if above else path.parent
            groups.setdefault(key, []).append(path)
        return [tuple(sorted(found, key=_is_support)) for found in groups.values()]


class _Sources:
    """Files of a paper, up to a number of bytes."""

    def __init__(self, options: Latex) -> None:
        self.files: dict[str, bytes] = {}
        self.others: list[str] = []
        self.left = options.max_bytes

    def add(self, name: str, data: bytes) -> None:
        self.files[name] = data
        self.left -= len(data)


def _read(path: Path, name: str, member: str, options: Latex) -> Iterator[Item]:
    try:
        kind = kind_of(path)
        if kind == "file":
            yield from _read_file(path, name, member, options)
            return
        entries = walk(path) if kind == "folder" else members(path)
        yield from _read_entries(entries, name, member, options)
    except BadArchive as error:
        yield error.as_reject(member)


def _read_file(path: Path, name: str, member: str, options: Latex) -> Iterator[Item]:
    with open_unpacked(path, max_bytes=options.max_bytes) as file:
        data = file.read()
    if data.lstrip()[:9].startswith(_NO_SOURCE):
        yield Reject("no-source", "PDF, PostScript or HTML", member, excerpt(data[:200]))
        return
    sources = _Sources(options)
    sources.add("main.tex", data)
    yield from _papers(sources, name, member, options)


def _read_entries(
    entries: Iterator[Member | Reject], name: str, member: str, options: Latex
) -> Iterator[Item]:
    """A paper's files; or papers, each packed by itself, as in arXiv's monthly tars."""
    sources = _Sources(options)
    num_eprints = 0
    for entry in entries:
        if isinstance(entry, Reject):
            yield entry
        elif not member and _is_eprint(entry.name):
            num_eprints += 1
            yield from _read_eprint(entry, options)
        elif not _is_source(entry.name):
            sources.others.append(entry.name)
        elif entry.size > sources.left:
            cause = f"{entry.size:,} bytes, more than {sources.left:,} that were left"
            yield Reject("too-large", cause, f"{member}/{entry.name}".lstrip("/"))
        else:
            sources.add(entry.name, entry.read())
    if sources.files or not num_eprints:
        yield from _papers(sources, name, member, options)


def _read_eprint(entry: Member, options: Latex) -> Iterator[Item]:
    """A paper packed inside a packed file; it is copied to disk first."""
    if entry.name.endswith(".pdf"):
        yield Reject("no-source", "the authors gave a PDF", entry.name)
        return
    if entry.size > 8 * options.max_bytes:
        yield Reject("too-large", f"{entry.size:,} bytes", entry.name)
        return
    with tempfile.NamedTemporaryFile() as file:
        try:
            while data := entry.read(1 << 20):
                file.write(data)
        except BadArchive as error:
            yield error.as_reject(entry.name)
            return
        file.flush()
        yield from _read(Path(file.name), entry.name, entry.name, options)


def _is_eprint(name: str) -> bool:
    return name.endswith((".gz", ".pdf")) and arxiv_id(name) is not None


def _is_source(name: str) -> bool:
    base = name.rsplit("/", 1)[-1]
    is_known = base.lower().endswith(_SOURCE_ENDINGS) or "." not in base
    return (is_known or base.startswith("00README")) and not base.startswith("._")


def _papers(
    sources: _Sources, name: str, member: str, options: Latex, *, is_folder: bool = False
) -> Iterator[Item]:
    """The documents of a project. Of a folder, or of several, the member names the main file."""
    project = Project(sources.files)
    names = project.sources()
    if not names:
        others = ", ".join(sources.others[:5])
        yield Reject("no-source", f"no TeX among the files ({others})", member)
        return
    if _is_withdrawn(project, names):
        yield Reject(
            "withdrawn", "the paper was withdrawn", member, excerpt(project.text(names[0]))
        )
        return
    roots, left_out = project.roots()
    outcomes: list[Item] = []
    for root in roots:
        place = f"{member}/{root}".lstrip("/") if is_folder or roots[1:] else member
        found = _converted(project, root, [], place, options)
        outcomes.append(found if isinstance(found, Reject) else _document(found, name, place))
    outcomes = outcomes or [Reject("not-latex", "no file holds a document", member)]
    chapters = project.loose_chapters()
    reasons = {one.reason if isinstance(one, Reject) else "" for one in outcomes}
    if reasons <= {"not-latex", "too-short"} and chapters:
        # A book without its main file: each chapter is a document.
        preamble = project.macro_files()
        for chapter in chapters:
            place = f"{member}/{chapter}".lstrip("/")
            found = _converted(project, chapter, preamble, place, options)
            yield found if isinstance(found, Reject) else _document(found, name, place)
        return
    yield from outcomes
    for other, root in left_out.items():
        place = f"{member}/{other}".lstrip("/")
        cause = f"{root} is taken for the document"
        yield Reject("other-document", cause, place, excerpt(project.text(other)))


def _is_withdrawn(project: Project, names: list[str]) -> bool:
    text = project.text(names[0])
    return len(names) == 1 and len(text) < 3000 and bool(_WITHDRAWN.search(" ".join(text.split())))


def _converted(
    project: Project, main: str, preamble: list[str], member: str, options: Latex
) -> Converted | Reject:
    try:
        found = convert(
            project, main, preamble=preamble, keep_bibliography=options.keep_bibliography
        )
    except TooMuchExpansion:
        return Reject("macro-bomb", "endless macros or files", member)
    text = found.text
    if len(text) < options.min_characters:
        return Reject("too-short", f"{len(text)} characters", member, excerpt(text))
    outside = _FORMULA.sub(" ", text)
    wanted = options.min_prose * len(text)
    # Most papers have enough letters of ASCII, which are counted faster.
    prose = len(outside.encode("ascii", "ignore").translate(None, _NO_LETTERS))
    if prose < wanted:
        prose = sum(map(len, _LETTERS.findall(outside)))
    if prose < wanted:
        share = f"{100 * prose // len(text)}% of the characters are letters outside formulas"
        return Reject("too-much-markup", share, member, excerpt(text))
    return found


def _document(found: Converted, name: str, member: str) -> Document:
    meta = {}
    if found.title:
        meta["title"] = found.title
    number = arxiv_id(member.split("/", 1)[0] if _is_eprint(member) else name)
    if number is None and member:
        number = arxiv_id(member)
    if number is not None:
        meta |= {"arxiv_id": number, "url": f"https://arxiv.org/abs/{number}"}
    if member:
        meta["member"] = member
    return Document(found.text, meta)


def arxiv_id(name: str) -> str | None:
    """The arXiv number of a paper, from the name of its file or folder."""
    stem = _ENDING.sub("", name.rsplit("/", 1)[-1])
    if _NEW_ID.fullmatch(stem):
        return stem
    if found := _OLD_ID.fullmatch(stem):
        return f"{found[1]}/{found[2]}"
    return None


def _is_support(path: Path) -> bool:
    return not path.name.lower().endswith(TEX_ENDINGS)
