"""A formula, read to its end with the author's macros expanded, as LaTeX."""

from __future__ import annotations

import re
from functools import cache

from barrow.corpus.text.latex.commands import HEADINGS, MATH_ENVIRONMENTS
from barrow.corpus.text.latex.source import ACTIVE, Source
from barrow.corpus.text.latex.tokens import NAME, PARAGRAPH, SIGN, TEXT

_LINE_ENDS = re.compile(r"[ \t]*+\n\s*+")
_DROPPED = {"xspace": "", "color": "om", "textcolor": "om", "index": "m", "vspace": "*m"}
_DROPPED |= {"hypertarget": "m", "footnotemark": "o", "footnote": "m", "qedhere": "", "todo": "m"}
_DROPPED |= {"ensuremath": "", "indexdef": "m"}
_HEADINGS = frozenset(HEADINGS) - {"head", "heading", "subhead", "subheading"}
# Formulas that are copied as they are: balanced groups, no blank line, no other formula inside, no
# conditional, and of environments only those of AMS-LaTeX that are part of a formula.
_INNER = (
    *("aligned", "alignedat", "array", "cases", "gathered", "smallmatrix", "split"),
    *("matrix", "bmatrix", "pmatrix", "vmatrix", "Bmatrix", "Vmatrix"),
)
_PLAIN = r"[^\\{}$\n]++|\n(?![ \t]*+\n)|\\[^A-Za-z@$)\]]"
_FIXED = (
    "frac|sqrt|mathrm|mathbf|left|right|text|mbox|label"  # no author's definition changes these
)
_PLAIN += rf"|\\(?:{_FIXED})(?=[ -?\[\]-`{{-~\n])"
_COMMANDS = r"|\\(?!begin|end|if(?!f(?![A-Za-z@])))[A-Za-z@]++"
_COMMANDS += rf"|\\(?:begin|end)\{{(?:{'|'.join(_INNER)})\}}"


def _nested(pattern: str, levels: int) -> str:
    groups = rf"|\{{{_nested(pattern, levels - 1)}*+\}}" if levels else ""
    return f"(?:{pattern}{groups})"


_COPIED = _nested(_PLAIN + _COMMANDS, 4)
# As in TOKEN, but text has the signs in it, and groups of text.
_TOKEN = re.compile(
    r"\\([A-Za-z@]++)[ \t]*+(?:\n(?![ \t]*+\n)[ \t]*+)?|\\([$)\]])"
    rf"|({_nested(_PLAIN, 3)}++)|(\n[ \t]*+\n\s*+)|(.)",
    re.DOTALL,
)
_NAMES = re.compile(r"\\(?:([A-Za-z@]++)|.)", re.DOTALL)
_CHANGED = ACTIVE | _HEADINGS | frozenset(_DROPPED)


@cache
def _copied(closer: str) -> re.Pattern[str]:
    ends = {"$": r"\$", "$$": r"\$\$?+", ")": r"\\\)", "]": r"\\\]"}
    return re.compile(f"({_COPIED}*+)" + ends.get(closer, rf"\\end\{{{re.escape(closer)}\}}"))


def _copy(source: Source, closer: str) -> str | None:
    """The formula up to what closes it, if there is nothing in it to expand or to drop."""
    if not source.frames or (len(closer) > 2 and closer not in MATH_ENVIRONMENTS):
        return None
    frame = source.frames[-1]
    found = _copied(closer).match(frame.text, frame.position)
    if found is None:
        return None
    formula = found[1]
    if "\\" in formula:
        names, definitions = _NAMES.findall(formula), source.definitions
        if not (definitions.macros.keys().isdisjoint(names) and _CHANGED.isdisjoint(names)):
            return None
        if "begin" in names and not definitions.beginnings.keys().isdisjoint(_INNER):
            return None
        if not formula.isascii():  # a letter after a command's name is set off
            return None
    frame.position = found.end()
    return formula


def read_mathematics(source: Source, closer: str, *, is_display: bool) -> tuple[str, bool]:
    """The formula up to what closes it, and whether it was closed.

    `closer` is ``$``, ``$$``, a sign after a backslash, or the name of an environment. A blank line
    ends an inline formula, a heading any.
    """
    copied = _copy(source, closer)
    if copied is None:
        source.in_math = True
        formula, is_closed = _read(source, closer, is_display=is_display)
        source.in_math = False
    else:
        formula, is_closed = copied, True
    if "\n" in formula:
        formula = _LINE_ENDS.sub("\n", formula)
    return formula.strip(), is_closed


def _read(source: Source, closer: str, *, is_display: bool) -> tuple[str, bool]:
    pieces: list[str] = []
    after_word = False  # a letter here would become part of the command before it
    braces = environments = 0
    while token := source.next(_TOKEN):
        kind, value, written = token
        if kind == TEXT:
            if after_word and value[0].isalpha():
                pieces.append(" ")
            after_word = False
            pieces.append(value)
            continue
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
        after_word = False
        pieces.append(written)
    return "".join(pieces), False
