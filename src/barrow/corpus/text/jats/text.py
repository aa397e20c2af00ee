"""Journal articles in JATS, or in NLM's earlier formats, as markdown.

Expat calls a writer for each tag, and adds text to the line being written without calling Python.
There is no recursion; time is linear, however elements are nested. Headings have their depth,
tables are pipe tables, formulas TeX between dollars. Italics and bold are not marked: they are
species, genes and symbols, and marks would be inside words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from html import unescape
from typing import Any

from barrow.corpus.text.jats.elements import (
    CAPTIONED,
    CONTAINERS,
    DROPPED_NOTES,
    FIELDS,
    FLOATS,
    FORMAT,
    HEADED,
    SKIPPED,
    bullet,
)
from barrow.corpus.text.jats.mathml import Formula, MathWriter, bare_tex
from barrow.corpus.text.jats.outline import Outline
from barrow.corpus.text.jats.scripts import citation, subscript, superscript
from barrow.corpus.text.jats.tables import TableRows
from barrow.corpus.text.whitespace import one_spaced
from barrow.corpus.text.xml.switch import Attributes, EventSwitch

_STARTS: dict[str, Callable[[Any, str, Attributes], None]] = {}
_ENDS: dict[str, Callable[[Any, str], None]] = {}
_ENDED = (".", ":", "?", "!", ";")
# Deeper ones are read as plain text, or nesting would take quadratic time.
_MAX_SCRIPTS = 8


def inline_text(fragment: str) -> str:
    """The text of a title or a paragraph in XML, on one line. Raises `BadXml`."""
    if "<" not in fragment:
        return one_spaced(unescape(fragment))
    writer = JatsWriter()
    writer.write(b"<x>%s</x>" % fragment.encode())
    return one_spaced(writer.finish())


class JatsWriter(EventSwitch):
    """Writes elements as markdown, except those named in `dropped`.

    `num_missing` counts formulas of which there is only a picture.
    """

    def __init__(self, *, dropped: Collection[str] = ()) -> None:
        self.num_missing = 0
        self._dropped = dropped
        self._line: list[str] = []  # always the same list: expat adds to it
        super().__init__(_STARTS, _ENDS, self._line.append)
        self._outline = Outline()
        self._containers: list[str] = []
        self._depth = 0  # of sections
        self._continues = False  # whether the next paragraph continues the line, as after a label
        self._scripts: list[int] = []  # where in the line they began
        self._cited_at = -1
        self._in_citation = False
        self._is_bare = False  # in a reference without punctuation
        self._counters: list[tuple[str, int]] = []  # of open lists: type, items so far
        self._formula: Formula | None = None
        self._table: TableRows | None = None

    def head(self, title: str) -> None:
        """Write a heading one level below the open sections."""
        self._end_line(2)
        self._outline.head(min(self._depth, 4) + 2, title)

    def finish(self) -> str:
        """The whole text."""
        self._end_block("")
        return self._outline.text()

    # Lines ------------------------------------------------------------------------------------

    def _take(self) -> str:
        text = one_spaced("".join(self._line))
        self._line.clear()
        if self._scripts:
            self._scripts.clear()
        self._cited_at = -1
        return text

    def _end_line(self, gap: int) -> None:
        """Finish the line being written, and require line ends. A table cell continues."""
        self._continues = False
        if self._table is not None and self._table.in_cell:
            self._line.append(" ")
            return
        line = self._line
        if len(line) == 1 and line[0].isspace():  # between elements
            line.clear()
        elif line and (text := self._take()):
            self._outline.put(text)
        self._outline.owe(1 if self._counters else gap)

    def _start_block(self, _name: str, _attributes: Attributes) -> None:
        if self._continues:
            self._continues = False
        elif self._line:
            self._end_line(2)

    def _end_block(self, _name: str) -> None:
        is_about_file = self._line and "supplementary-material" in self._containers[-3:]
        if is_about_file and FORMAT.fullmatch(self._line[-1].strip()):
            self._line.pop()
        self._end_line(2)
        self._finish_put_off()

    def _blank(self, _name: str, _attributes: Attributes) -> None:
        self._line.append(" ")

    # Containers -------------------------------------------------------------------------------

    def _open(self, name: str, attributes: Attributes) -> None:
        if name == "fn" and attributes.get("fn-type", "") in DROPPED_NOTES:
            self._skip(name, attributes)
            return
        # A sub-article that is a translation repeats the article.
        if name in self._dropped or attributes.get("article-type") == "translation":
            self._skip(name, attributes)
            return
        if name in FLOATS and self._is_in_sentence():
            self._put_off(name, attributes)
            return
        if name != "caption" or not self._continues:
            self._end_line(2)
        self._containers.append(name)
        if name in HEADED:
            self._depth += 1
        elif name == "list":
            self._counters.append((attributes.get("list-type", ""), 0))
        elif name == "list-item":
            self._open_item()
        elif name == "disp-quote":
            self._outline.open("> ", "> ")

    def _is_in_sentence(self) -> bool:
        if not self._line or self._continues or self._is_replaying:
            return False
        return self._table is None and bool("".join(self._line).strip())

    def _open_item(self) -> None:
        kind, number = self._counters.pop() if self._counters else ("", 0)
        self._counters.append((kind, number + 1))
        self._outline.open(bullet(kind, number + 1))

    def _close(self, name: str) -> None:
        if not self._containers or self._containers[-1] != name:
            return
        self._end_line(2)
        self._containers.pop()
        if name in HEADED:
            self._depth -= 1
        elif name == "list" and self._counters:
            self._counters.pop()
            self._outline.owe(1 if self._counters else 2)
        elif name in ("list-item", "disp-quote"):
            self._outline.close()

    def _start_label(self, _name: str, _attributes: Attributes) -> None:
        if self._formula is None:
            self._end_line(2)

    def _end_label(self, _name: str) -> None:
        container = self._containers[-1] if self._containers else ""
        if self._formula is not None:
            self._formula.label = one_spaced("".join(self._line[self._formula.start :]))
            del self._line[self._formula.start :]
        elif container == "list-item":
            if text := self._take():
                self._outline.relabel(f"{text} ")
        elif self._line:
            text = self._take()
            mark = "." if container in CAPTIONED and text and not text.endswith(_ENDED) else ""
            self._line.append(f"{text}{mark} ")
            self._continues = True

    def _end_title(self, _name: str) -> None:
        container = self._containers[-1] if self._containers else ""
        text = self._take()
        self._continues = False
        if container in HEADED or container == "front-stub":
            if text:
                self._outline.head(min(self._depth, 5) + 1, text)
        elif text:
            mark = "" if text.endswith(_ENDED) else "."
            self._line.append(f"{text}{mark} ")
            self._continues = container == "caption"
            if not self._continues:
                self._end_line(2)

    def _start_stub_title(self, _name: str, _attributes: Attributes) -> None:
        if self._containers[-1:] == ["front-stub"]:
            self._line.clear()

    def _end_stub_title(self, name: str) -> None:
        if self._containers[-1:] == ["front-stub"]:
            self._end_title(name)
        else:
            self._end_field(name)

    def _close_stub(self, _name: str) -> None:
        if self._containers[-1:] == ["front-stub"]:
            self._line.clear()
            self._containers.pop()

    def _end_term(self, _name: str) -> None:
        """A term is written before its definition, a speaker before their words."""
        if text := self._take():
            self._line.append(f"{text.rstrip(':')}: ")
            self._continues = True

    # Inline -----------------------------------------------------------------------------------

    def _start_script(self, _name: str, _attributes: Attributes) -> None:
        self._scripts.append(len(self._line) if len(self._scripts) < _MAX_SCRIPTS else -1)

    def _end_script(self, name: str) -> None:
        start = self._scripts.pop() if self._scripts else -1
        if not 0 <= start < len(self._line):
            return
        text = "".join(self._line[start:])
        base = self._line[start - 1] if start else ""
        if name == "sub":
            text = subscript(base, text)
        elif self._in_citation or self._cited_at >= start:
            text = citation(base, text)
        else:
            text = superscript(base, text)
        self._line[start:] = [text]

    def _start_reference(self, _name: str, attributes: Attributes) -> None:
        if attributes.get("ref-type") == "bibr":
            self._in_citation = True
            self._cited_at = len(self._line)

    def _end_reference(self, _name: str) -> None:
        self._in_citation = False

    def _start_citation(self, name: str, attributes: Attributes) -> None:
        self._start_block(name, attributes)
        self._is_bare = name != "mixed-citation"

    def _end_field(self, name: str) -> None:
        if self._line and (self._is_bare or name == "surname"):
            self._line.append(FIELDS[name])

    def _start_code(self, name: str, _attributes: Attributes) -> None:
        if name == "preformat" or not self._is_in_sentence():
            self._end_line(2)
        self._scripts.append(len(self._line))

    def _end_code(self, _name: str) -> None:
        start = self._scripts.pop() if self._scripts else 0
        code = "".join(self._line[start:])
        del self._line[start:]
        if self._line:
            self._line.append(f"`{code.strip()}`")
        else:
            self._outline.put_code(code)

    # Formulas ---------------------------------------------------------------------------------

    def _start_formula(self, name: str, _attributes: Attributes) -> None:
        if self._formula is None:
            if name == "disp-formula":
                self._end_line(2)
            self._formula = Formula(name, start=len(self._line))

    def _picture(self, name: str, attributes: Attributes) -> None:
        if self._formula is not None:
            self._formula.has_picture = True
        self._skip(name, attributes)

    def _start_math(self, _name: str, _attributes: Attributes) -> None:
        def finish() -> None:
            self._take_back()
            self._add("mathml", math.finish())

        math = MathWriter(finish)
        self._hand_over(math.start, math.end, math.text)

    def _start_tex(self, _name: str, _attributes: Attributes) -> None:
        parts: list[str] = []
        self._divert(None, None, parts.append, lambda: self._add("tex", bare_tex("".join(parts))))

    def _add(self, kind: str, tex: str) -> None:
        if self._formula is not None:
            self._formula.tex.setdefault(kind, tex)
        elif tex:
            self._line.append(f"${tex}$")

    def _end_formula(self, name: str) -> None:
        formula = self._formula
        if formula is None or formula.name != name:
            return
        self._formula = None
        is_display = name == "disp-formula" and not (self._table and self._table.in_cell)
        letters = "".join(self._line[formula.start :])
        self.num_missing += formula.is_missing(letters)
        self._line[formula.start :] = [formula.text(letters, is_display=is_display)]
        if is_display:
            self._end_line(2)

    # Tables -----------------------------------------------------------------------------------

    def _start_table(self, name: str, _attributes: Attributes) -> None:
        if self._table is None:
            self._end_line(2)
            self._table = TableRows(name)
        elif name == self._table.name:
            self._table.num_nested += 1

    def _end_table(self, name: str) -> None:
        table = self._table
        if table is None or name != table.name:
            return
        if table.num_nested:
            table.num_nested -= 1
            return
        self._table = None
        self._end_line(2)
        for line in table.lines():
            self._outline.put(line)
        self._outline.owe(2)

    def _start_row(self, _name: str, _attributes: Attributes) -> None:
        if self._table is not None and not self._table.num_nested:
            self._table.start_row()

    def _end_head(self, _name: str) -> None:
        if self._table is not None and not self._table.num_nested:
            self._table.end_head()

    def _start_cell(self, _name: str, attributes: Attributes) -> None:
        table = self._table
        if table is None or table.num_nested:
            self._line.append(" ")
        else:
            self._line.clear()
            table.start_cell(attributes)

    def _end_cell(self, _name: str) -> None:
        table = self._table
        if table is None or table.num_nested:
            self._line.append(" ")
        else:
            table.end_cell(self._take())


for _names, _on_start, _on_end in (
    (SKIPPED, "skip", ""),
    (("graphic", "inline-graphic"), "picture", ""),
    (CONTAINERS, "open", "close"),
    (("p", "attrib", "verse-line"), "start_block", "end_block"),
    (("def", "body", "back"), "", "end_block"),
    (("title",), "start_block", "end_title"),
    (("term", "speaker"), "start_block", "end_term"),
    (("label",), "start_label", "end_label"),
    (("front-stub",), "open", "close_stub"),
    (("preformat", "code"), "start_code", "end_code"),
    (("break", "hr"), "blank", ""),
    (("sup", "sub"), "start_script", "end_script"),
    (("xref",), "start_reference", "end_reference"),
    (("mixed-citation", "element-citation", "citation", "nlm-citation"), "start_citation", ""),
    (tuple(FIELDS), "", "end_field"),
    (("article-title",), "start_stub_title", "end_stub_title"),
    (("inline-formula", "disp-formula"), "start_formula", "end_formula"),
    (("math", "mml:math", "m:math"), "start_math", ""),
    (("tex-math",), "start_tex", ""),
    (("table", "array", "tgroup"), "start_table", "end_table"),
    (("tr", "row"), "start_row", ""),
    (("td", "th", "entry"), "start_cell", "end_cell"),
    (("thead",), "", "end_head"),
):
    if _on_start:
        _STARTS.update(dict.fromkeys(_names, getattr(JatsWriter, f"_{_on_start}")))
    if _on_end:
        _ENDS.update(dict.fromkeys(_names, getattr(JatsWriter, f"_{_on_end}")))
