"""The files of one paper: which is the main one, and which it includes."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from functools import cached_property

from barrow.corpus.text.encoding import decode
from barrow.corpus.text.latex.output import CELL, CODE, ITEM, ROW
from barrow.corpus.text.latex.tokens import without_comments

_REMOVED: dict[int, str | None] = dict.fromkeys([*range(9), *range(0x0E, 0x20), 0x7F, 0xFEFF])
_REMOVED |= dict.fromkeys(map(ord, (CELL, CODE, ITEM, ROW)))
_REMOVED |= {0x0B: "\n", 0x0C: "\n"}
_REMOVED_SIGNS = re.compile(f"[{''.join(map(re.escape, map(chr, _REMOVED)))}]")
_ENCODING = re.compile(rb"\\usepackage[ \t]*+\[([a-z0-9]{2,20})\][ \t]*+\{inputenc\}")
_ENCODINGS = {
    "latin1": "latin-1", "latin2": "iso8859-2", "latin3": "iso8859-3", "latin4": "iso8859-4",
    "latin5": "iso8859-9", "latin9": "iso8859-15", "latin10": "iso8859-16", "ansinew": "cp1252",
    "applemac": "mac-roman", "koi8-r": "koi8-r", "utf8": "utf-8", "utf8x": "utf-8",
}  # fmt: skip
_CLASS = re.compile(r"\\document(?:class|style)(?![A-Za-z])")
_DOCUMENT = re.compile(r"\\begin[ \t]*+\{document\}")
_REFERENCE = re.compile(r"\\[A-Za-z]*[rR]ef[A-Za-z]*\*?[ \t]*+\{([^{}\\]{1,500})\}")
_INPUT = re.compile(r"\\(?:input|include|subfile)[ \t]*+\{?([^\s\\{}]{1,200})")
_SECTION = re.compile(r"\\(?:chapter|(?:sub)?section)\*?[ \t]*+[{\[]")
_DEFINITION = re.compile(r"\\(?:newcommand|renewcommand|[gx]?def|newtheorem)(?![A-Za-z])")
_TEX = re.compile(
    r"\\(?:bye|end|magnification|documentclass|documentstyle|section|begin|centerline|input|def"
    r"|noindent|document|title|font|newcommand|head)(?![A-Za-z])"
)
_USUAL_NAMES = ("main", "ms", "paper", "article", "manuscript", "root", "thesis", "arxiv")
TEX_ENDINGS = (".tex", ".ltx", ".latex")


class Project:
    """Files by name, decoded when asked for."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = dict(sorted(files.items()))
        self._texts: dict[str, str] = {}
        self._inputs: dict[str, list[str]] = {}
        self._by_lower = {name.lower(): name for name in reversed(self._files)}
        declared = (_ENCODING.search(data) for data in self._files.values())
        found = next((match for match in declared if match), None)
        name = found[1].decode() if found else ""
        self._declared = _ENCODINGS.get(name, name) or None
        self.size = sum(map(len, self._files.values()))

    def text(self, name: str) -> str:
        """A file without comments; empty if it is not text."""
        if name not in self._texts:
            found = decode(self._files[name], self._declared)
            text = found[0] if found else ""
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            if text.isascii() or _REMOVED_SIGNS.search(text):  # elsewhere `translate` is slow
                text = text.translate(_REMOVED)
            self._texts[name] = without_comments(text)
        return self._texts[name]

    def sources(self) -> list[str]:
        """Names of files of TeX."""
        if len(self._files) == 1:
            return list(self._files)
        return [
            name
            for name in self._files
            if name.lower().endswith(TEX_ENDINGS) and not posixpath.basename(name).startswith("._")
        ]

    def find(self, name: str, main: str) -> str | None:
        r"""The text of what ``\input`` names, seen from the main file's folder."""
        name = name.strip().strip('"').removeprefix("./")
        folder = posixpath.dirname(main)
        if name == ".bbl":
            bbls = [file for file in self._files if file.endswith(".bbl")]
            own = posixpath.splitext(main)[0] + ".bbl"
            return self.text(own) if own in bbls else self.text(bbls[0]) if len(bbls) == 1 else None
        for start in (folder, ""):
            place = posixpath.normpath(posixpath.join(start, name))
            for candidate in (f"{place}.tex", place):
                if known := self._by_lower.get(candidate.lower()):
                    return self.text(known)
        return None

    def mains(self) -> list[str]:
        """Files that may be the paper, the likeliest first.

        Those that ``00README`` names come first; then those with a class and a document, not
        included by others, in outer folders, with a usual name, large; else plain TeX.
        """
        names = self.sources()
        chosen, ignored = self._readme()
        names = [name for name in names if name not in ignored]
        full = [n for n in names if _CLASS.search(self.text(n)) and _DOCUMENT.search(self.text(n))]
        # The class is in one file, the document in another.
        full = full or [n for n in names if _DOCUMENT.search(self.text(n))]
        if not full and len(names) == 1 and _TEX.search(self.text(names[0])):
            full = names
        if not full:
            full = [n for n in names if re.search(r"\\(?:bye|end|enddocument)\s*+\Z", self.text(n))]
        inner = {other for name in full for other in self._read_in(name)}
        return sorted(
            full,
            key=lambda name: (
                name not in chosen,
                name in inner,
                name.count("/"),
                _stem(name) not in _USUAL_NAMES,
                -self._weight(name),
                name,
            ),
        )

    def roots(self) -> tuple[list[str], dict[str, str]]:
        """Main files that are documents, the paper's first; and those left out, with one of them.

        A file belongs to the first root that includes it. A main file that another includes, or
        that is a copy, is not a root. It is left out if ``00README`` names others, or if most of
        its text belongs to other roots, as that of a second layout of the same book does.
        """
        chosen, _ = self._readme()
        roots: list[str] = []
        others: dict[str, str] = {}
        owners: dict[str, str] = {}
        for name in self.mains():
            files = self._with_inputs(name)
            sizes = {file: len(self.text(file)) for file in files}
            own = sum(size for file, size in sizes.items() if file not in owners)
            is_copy = any(self.text(name) == self.text(root) for root in roots)
            if roots and (name in owners or is_copy or self._is_read_in(name)):
                continue
            if roots and ((chosen and name not in chosen) or 2 * own < sum(sizes.values())):
                others[name] = next((owners[f] for f in sorted(files) if f in owners), roots[0])
                continue
            roots.append(name)
            owners |= {file: name for file in files if file not in owners}
        return roots, others

    @cached_property
    def references(self) -> frozenset[str]:
        """Labels that references name."""
        found = (_REFERENCE.findall(self.text(name)) for name in self.sources())
        return frozenset(key.strip() for keys in found for one in keys for key in one.split(","))

    def loose_chapters(self) -> list[str]:
        """Files with headings but no document: of a book whose main file is missing."""
        macros = self.macro_files()
        return [
            name
            for name in self.sources()
            if _SECTION.search(self.text(name))
            and not _DOCUMENT.search(self.text(name))
            and name not in macros
        ]

    def macro_files(self) -> list[str]:
        """Files that are mostly definitions."""
        return [name for name in self.sources() if self._is_of_macros(self.text(name))]

    def _is_of_macros(self, text: str) -> bool:
        num = len(_DEFINITION.findall(text))
        return num > 3 * len(_SECTION.findall(text)) and not _DOCUMENT.search(text)

    def has_chapters(self) -> bool:
        """Whether sections are parts of chapters."""
        return any("\\chapter" in self.text(name) for name in self.sources())

    def _is_read_in(self, name: str) -> bool:
        return any(name in self._read_in(other) for other in self.sources() if other != name)

    def _with_inputs(self, main: str) -> set[str]:
        """A main file and all that it reads in, directly or not."""
        found, waiting = {main}, [main]
        while waiting:
            new = set(self._read_in(waiting.pop(), main)) - found
            found |= new
            waiting += new
        return found

    def _read_in(self, name: str, main: str | None = None) -> list[str]:
        folder = posixpath.dirname(main or name)
        if name not in self._inputs:
            self._inputs[name] = _INPUT.findall(self.text(name))
        found = []
        for input_name in self._inputs[name]:
            place = posixpath.normpath(posixpath.join(folder, input_name))
            known = self._by_lower.get(f"{place}.tex".lower()) or self._by_lower.get(place.lower())
            if known and known != name:
                found.append(known)
        return found

    def _weight(self, name: str) -> int:
        return sum(len(self.text(file)) for file in {name, *self._read_in(name)})

    def _readme(self) -> tuple[set[str], set[str]]:
        """Names that arXiv's ``00README`` calls the paper, and those it leaves out."""
        chosen: set[str] = set()
        ignored: set[str] = set()
        by_usage = {"toplevelfile": chosen, "toplevel": chosen, "ignore": ignored}
        for file, data in self._files.items():
            if not posixpath.basename(file).startswith("00README"):
                continue
            text = data[:100_000].decode("utf-8", "replace")
            try:
                manifest = json.loads(text)
                rows = [(row["filename"], row["usage"]) for row in manifest["sources"]]
            except (ValueError, TypeError, LookupError, RecursionError):
                lines = (line.split() for line in text.split("\n"))
                rows = [(words[0], words[1]) for words in lines if len(words) == 2]
            for name, usage in rows:
                if isinstance(name, str) and isinstance(usage, str) and usage in by_usage:
                    by_usage[usage].add(name)
        return chosen, ignored


def _stem(name: str) -> str:
    return posixpath.splitext(posixpath.basename(name))[0].lower()
