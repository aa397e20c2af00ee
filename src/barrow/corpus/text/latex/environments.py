"""The beginning and end of environments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from barrow.corpus.text.latex import commands
from barrow.corpus.text.latex.output import BLANKS, CELL, ROW, list_block, quote_block, table_block
from barrow.corpus.text.latex.styles import Open
from barrow.corpus.text.whitespace import tidy

if TYPE_CHECKING:
    from barrow.corpus.text.latex.writer import Writer

# Blocks nested deeper are not indented: each is written again by the one around it.
_MAX_BLOCKS = 12
_FORMULA_KINDS = ("multline", "align", "equation", "gather", "eqnarray")


def _begin(writer: Writer) -> None:
    source = writer.source
    name = source.argument().strip()
    if name == "document":
        _begin_document(writer)
    elif name in commands.MATH_ENVIRONMENTS:
        source.skip(commands.ENVIRONMENT_ARGUMENTS.get(name, ""))
        writer.mathematics(name, is_display=name != "math", environment=name)
    elif name in commands.CODE_ENVIRONMENTS:
        _code_block(writer, name)
    elif name in commands.DROPPED_ENVIRONMENTS or (
        name == "thebibliography" and not writer.keep_bibliography
    ):
        source.until(f"\\end{{{name}}}")
    elif name in writer.source.definitions.theorems:
        _theorem(writer, writer.source.definitions.theorems[name], name)
    elif kind := next((k for k in _FORMULA_KINDS if name.rstrip("*").endswith(k)), ""):
        # A package's own, such as narrowmultline.
        writer.mathematics(name, is_display=True, environment=kind)
    elif not source.begin(name):
        _begin_known(writer, name)


def _begin_known(writer: Writer, name: str) -> None:
    source = writer.source
    if name in commands.TABLES:
        source.skip(commands.TABLES[name])
        writer.paragraph()
        writer.open(_close_table, name=name, detail=commands.FLOATS.get(name, ""))
        writer.tables += 1
        return
    if name in commands.LISTS or name in commands.QUOTES:
        writer.paragraph()
        source.skip(commands.ENVIRONMENT_ARGUMENTS.get(name, "o"))
        if name == "thebibliography":
            writer.block("# References")
        writer.blocks += 1
        close = _close_list if name in commands.LISTS else _close_quote
        writer.open(close, name=name)
        return
    source.skip(commands.ENVIRONMENT_ARGUMENTS.get(name, "o"))
    if name == "proof":
        writer.paragraph()
        writer.put("*Proof.* ")
        writer.open(_close_proof, name=name)
    elif name in ("abstract", "abstract*"):
        writer.block("# Abstract")
        writer.open(_close_paragraphs, name=name)
    elif name in commands.FLOATS:
        writer.paragraph()
        writer.open(_close_paragraphs, name=name, detail=commands.FLOATS[name])
    else:
        writer.paragraph()
        writer.open(_close_paragraphs, name=name)


def _end(writer: Writer) -> None:
    source = writer.source
    name = source.argument().strip()
    if name == "document":
        source.leave_file()
    elif name in source.definitions.endings and not _has_open(writer, name):
        source.push(source.definitions.endings[name])
    else:
        writer.close_environment(name)


def _has_open(writer: Writer, name: str) -> bool:
    return any(opened.name == name for opened in writer.stack[-50:])


def _theorem(writer: Writer, title: str, name: str) -> None:
    note = writer.source.option()
    writer.paragraph()
    writer.open(_close_paragraphs, name=name)
    writer.source.push(f"\\textbf{{{title}}} ({{{note}}}). " if note else f"\\textbf{{{title}}}. ")


def _label(writer: Writer) -> None:
    """The label of a statement stays where a reference names it, as references are written."""
    label = writer.source.argument().strip()
    theorems = writer.source.definitions.theorems
    if label in writer.references and any(o.name in theorems for o in writer.stack[-12:]):
        writer.space()
        writer.put(f"[{label}] ")


def _code_block(writer: Writer, name: str) -> None:
    options = ""
    if name == "lstlisting" or name == "Verbatim":
        options = writer.source.option() or ""
    elif name == "minted":
        writer.source.skip("om")
    code = writer.source.until(f"\\end{{{name}}}")
    if code is None or not code.strip():
        return
    if found := re.search(r"caption=\{?([^{},]{1,300})", options):
        writer.block(found[1])
    writer.code_block(code)


def _close_paragraphs(writer: Writer, _: Open) -> None:
    writer.paragraph()


def _close_proof(writer: Writer, _: Open) -> None:
    writer.space()
    writer.put("◻")
    writer.paragraph()


def _close_list(writer: Writer, opened: Open) -> None:
    writer.blocks -= 1
    if writer.blocks < _MAX_BLOCKS:
        writer.block(list_block(writer.taken(opened.start), commands.LISTS[opened.name]))


def _close_quote(writer: Writer, opened: Open) -> None:
    writer.blocks -= 1
    if writer.blocks < _MAX_BLOCKS:
        writer.block(quote_block(tidy(writer.taken(opened.start))))


def _close_table(writer: Writer, opened: Open) -> None:
    writer.tables -= 1
    if writer.tables < 2:
        marked = writer.taken(opened.start)
        if writer.tables:  # a table inside a cell
            writer.put(BLANKS.sub(" ", marked.replace(CELL, " ").replace(ROW, " ")))
        else:
            writer.block(table_block(marked))


def _begin_document(writer: Writer) -> None:
    if not writer.in_body:
        writer.in_body = True
        writer.out.clear()
        writer.stack.clear()
        writer.notes.clear()
        writer.code.clear()
        writer.blocks = writer.tables = 0
        writer.fresh = True
        write_waiting(writer)


def write_waiting(writer: Writer) -> None:
    title, abstract = writer.waiting.pop("title", ""), writer.waiting.pop("abstract", "")
    if abstract.strip():
        writer.source.push(f"\\barrow@abstract {abstract}\n\n")
    if title.strip():
        writer.source.push(f"\\title{{{title}}}")


def _new_theorem(writer: Writer) -> None:
    writer.source.takes("*")
    name = writer.source.argument().strip()
    writer.source.option()
    writer.source.definitions.theorems[name] = writer.source.argument().strip()
    writer.source.option()


def _use_package(writer: Writer) -> None:
    """Read the definitions of a package that comes with the paper."""
    writer.source.option()
    names = writer.source.argument().split(",")
    if not writer.in_body:
        for name in names:
            writer.source.load_package(f"{name.strip()}.sty")


ENVIRONMENT_COMMANDS: dict[str, Callable[[Writer], None]] = {
    "begin": _begin,
    "end": _end,
    "document": _begin_document,
    "label": _label,
    "newtheorem": _new_theorem,
    "spnewtheorem": _new_theorem,
    "usepackage": _use_package,
}
