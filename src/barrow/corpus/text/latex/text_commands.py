"""Text commands whose argument is written in a special way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barrow.corpus.text.latex import commands
from barrow.corpus.text.latex.environments import write_waiting
from barrow.corpus.text.latex.output import BLANKS, CELL, ITEM
from barrow.corpus.text.latex.styles import Open, close_style
from barrow.corpus.text.latex.symbols import typeset

if TYPE_CHECKING:
    from barrow.corpus.text.latex.writer import Writer


def heading(writer: Writer, name: str) -> None:
    source = writer.source
    level = commands.HEADINGS[name] + (writer.shift if name not in ("part", "chapter") else 0)
    source.takes("*")
    source.option()
    writer.paragraph()
    if source.peek() == "{":
        writer.open_line(_close_heading, str(level))
        return
    # Plain TeX and AMS-TeX: to a command that ends it, or to the end of the line.
    ending = f"\\end{name}" if name.endswith("head") or name == "heading" else "\n"
    title = source.until(ending)
    if title is not None:
        source.push(f"{{{title}}}")
        writer.open_line(_close_heading, str(level))


def _close_heading(writer: Writer, opened: Open) -> None:
    text = " ".join(writer.taken(opened.start).split())
    if text:
        writer.block(f"{'#' * int(opened.detail)} {text}")


def _close_title(writer: Writer, opened: Open) -> None:
    title = " ".join(writer.taken(opened.start).split())
    if title and not writer.title:
        writer.title = title
        writer.block(f"# {title}")


def _title(writer: Writer) -> None:
    writer.source.option()
    if writer.source.peek() != "{":
        title = writer.source.until("\\endtitle")
        if title is not None:
            writer.source.push(f"{{{title}}}")
    if not writer.in_body:
        writer.waiting["title"] = writer.source.argument()
    else:
        writer.paragraph()
        writer.open_line(_close_title, "")


def _abstract(writer: Writer) -> None:
    if writer.source.peek() == "{":
        # Some classes take five arguments, the first of which may be empty.
        parts = [writer.source.argument()]
        while len(parts) < 5 and writer.source.touches("\n{"):
            writer.source.push("{")
            parts.append(writer.source.argument())
        writer.waiting["abstract"] = "\n\n".join(parts)
        if writer.in_body:
            write_waiting(writer)
    elif writer.in_body:
        writer.block("# Abstract")


def _footnote(writer: Writer) -> None:
    writer.source.option()
    writer.open_line(_close_footnote, "" if writer.fresh else "x")
    writer.fresh = True


def _close_footnote(writer: Writer, opened: Open) -> None:
    note = " ".join(writer.taken(opened.start).split())
    writer.fresh = not opened.detail
    if note:
        writer.notes.append(note)
        writer.put(f"[^{len(writer.notes)}]")


def _caption(writer: Writer) -> None:
    writer.source.takes("*")
    writer.source.option()
    kind = next((o.detail for o in reversed(writer.stack[-20:]) if o.name in commands.FLOATS), "")
    writer.paragraph()
    writer.open_line(_close_caption, kind)


def _close_caption(writer: Writer, opened: Open) -> None:
    text = " ".join(writer.taken(opened.start).split())
    if text:
        writer.block(f"{opened.detail}: {text}" if opened.detail else text)


def cite(writer: Writer, *, in_text: bool) -> None:
    source = writer.source
    source.takes("*")
    options = [option for _ in range(2) if (option := source.option()) is not None]
    keys = [f"@{key.strip()}" for key in source.argument().split(",") if key.strip()]
    before = f"{typeset(options[0])} " if len(options) == 2 and options[0].strip() else ""
    after = options[-1].strip() if options else ""
    if in_text and not before:
        writer.put(", ".join(keys) + (" [" if after else ""))
    else:
        writer.put(f"[{before.replace('~', ' ')}{'; '.join(keys)}{', ' if after else ']'}")
    if after:  # it may hold commands, so it is read as what follows
        source.push(f"{{{after}}}]")


def _item(writer: Writer) -> None:
    name = next((o.name for o in reversed(writer.stack[-50:]) if o.name in commands.LISTS), "")
    writer.paragraph()
    if name and not writer.tables:
        writer.out.append(ITEM)
    option = writer.source.option()
    if option is not None and option.strip():
        in_bold = name in ("description", "compactdesc")
        writer.source.push(f"\\textbf{{{option}}} " if in_bold else f"{{{option}}} ")
    elif not name and writer.source.peek() == "{":  # plain TeX's \item{(a)}
        writer.put("- ")


def _bibitem(writer: Writer) -> None:
    writer.paragraph()
    writer.out.append(ITEM)
    writer.source.option()
    writer.put(f"[@{writer.source.argument().strip()}] ")


def _bibliography(writer: Writer) -> None:
    writer.source.argument()
    if writer.keep_bibliography:
        writer.source.input(".bbl")


def _multicolumn(writer: Writer) -> None:
    columns = writer.source.argument().strip()
    writer.source.argument()
    num = int(columns) if columns.isascii() and columns.isdigit() and len(columns) < 3 else 1
    writer.open_argument(_close_columns, str(num))


def _close_columns(writer: Writer, opened: Open) -> None:
    writer.put(CELL * min(int(opened.detail) - 1, 20))


def _proclaim(writer: Writer) -> None:
    writer.paragraph()
    writer.open_argument(close_style, "**")


def _verb(writer: Writer) -> None:
    source = writer.source
    source.touches("*")
    sign = source.sign()
    code = source.until("}" if sign == "{" else sign) if sign else None
    if code is not None and len(code) < 1000:
        writer.put(f"`{BLANKS.sub(' ', code)}`")


def _url(writer: Writer) -> None:
    writer.put(writer.source.argument().strip().replace("\\", ""))


def _href(writer: Writer) -> None:
    writer.source.option()
    address = writer.source.argument().strip().replace("\\", "")
    writer.put("[")
    writer.open_argument(_close_link, address)


def _close_link(writer: Writer, opened: Open) -> None:
    writer.put(f"]({opened.detail})")


def _xspace(writer: Writer) -> None:
    if writer.source.peek_sign() not in " ~.,:;!?'/)]}-\n\\{":
        writer.space()


def _ensure_math(writer: Writer) -> None:
    writer.source.push("$" + writer.source.argument() + "$")


def _for_outlines(writer: Writer) -> None:
    """Text, and its replacement in a PDF's outline."""
    text = writer.source.argument()
    writer.source.argument()
    writer.source.push(text)


def _barrow_abstract(writer: Writer) -> None:
    writer.block("# Abstract")


TEXT_COMMANDS: dict[str, Callable[[Writer], None]] = {
    "par": lambda writer: writer.paragraph(),
    "item": _item,
    "bibitem": _bibitem,
    "bibliography": _bibliography,
    "title": _title,
    "icmltitle": _title,
    "abstract": _abstract,
    "footnote": _footnote,
    "footnotetext": _footnote,
    "endnote": _footnote,
    "caption": _caption,
    "multicolumn": _multicolumn,
    "proclaim": _proclaim,
    "demo": _proclaim,
    "verb": _verb,
    "lstinline": _verb,
    "url": _url,
    "nolinkurl": _url,
    "href": _href,
    "xspace": _xspace,
    "ensuremath": _ensure_math,
    "texorpdfstring": _for_outlines,
    "barrow@abstract": _barrow_abstract,
}
