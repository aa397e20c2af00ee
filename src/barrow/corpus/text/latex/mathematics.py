"""A formula, read to its end with the author's macros expanded, as LaTeX."""

from __future__ import annotations

import re

from barrow.corpus.text.latex.commands import HEADINGS
from barrow.corpus.text.latex.source import Source
from barrow.corpus.text.latex.tokens import NAME, PARAGRAPH, SIGN

_LINE_ENDS = re.compile(r"[ \t]*+\n\s*+")
_DROPPED = {"xspace": "", "color": "om", "textcolor": "om", "index": "m", "vspace": "*m"}
_DROPPED |= {"hypertarget": "m", "footnotemark": "o", "footnote": "m", "qedhere": "", "todo": "m"}
_DROPPED |= {"ensuremath": "", "indexdef": "m"}
_HEADINGS = frozenset(HEADINGS) - {"head", "heading", "subhead", "subheading"}


def read_mathematics(source: Source, closer: str, *, is_display: bool) -> tuple[str, bool]:
    """The formula up to what closes it, and whether it was closed.

    `closer` is ``$``, ``$$``, a sign after a backslash, or the name of an environment. A blank line
    ends an inline formula, a heading any.
    """
    source.in_math = True
    formula, is_closed = _read(source, closer, is_display=is_display)
    source.in_math = False
    return _LINE_ENDS.sub("\n", formula).strip(), is_closed


def _read(source: Source, closer: str, *, is_display: bool) -> tuple[str, bool]:
    pieces: list[str] = []
    after_word = False  # a letter here would become part of the command before it
    braces = environments = 0
    while token := source.next():
        kind, value, written = token
        if kind == NAME:
            after_word = False
            if value in _DROPPED:
                source.skip(_DROPPED[value])
            elif value == "begin":
                name = source.argument()
                environments += name == closer
                if not source.begin(name):
                    pieces.append(f"\\begin{{{name}}}")
            elif value == "end":
                name = source.argument()
                if name == closer:
                    if not environments:
                        return "".join(pieces), True
                    environments -= 1
                if name in source.definitions.endings:
                    source.push(source.definitions.endings[name])
                elif name == "document":
                    source.push("\\end{document}")
                    return "".join(pieces), False
                else:
                    pieces.append(f"\\end{{{name}}}")
            elif value in _HEADINGS:
                source.push(written)
                return "".join(pieces), False
            else:
                pieces.append(written)
                after_word = written[-1:].isalpha()
            continue
        if kind == PARAGRAPH:
            if not is_display:
                source.push(written)
                return "".join(pieces), False
            written = "\n"
        elif kind == SIGN:
            if value == closer:
                return "".join(pieces), True
        elif value == "{":
            braces += 1
        elif value == "}":
            braces -= 1
            if braces < 0:
                braces = 0
                continue
        elif value == "$" and braces <= 0:
            if closer == "$":
                return "".join(pieces), True
            if closer == "$$":
                source.touches("$")
                return "".join(pieces), True
        elif after_word and written[0].isalpha():
            written = " " + written
        after_word = False
        pieces.append(written)
    return "".join(pieces), False
