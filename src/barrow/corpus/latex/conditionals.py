r"""Conditionals of TeX: those that can be told are decided, others are false, as ``\ifpdf`` is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from barrow.corpus.latex.tokens import NAME, after_blanks

if TYPE_CHECKING:
    from barrow.corpus.latex.source import Source

_BRANCHES = re.compile(r"\\(?:(else|or|fi)(?![A-Za-z@])|(if[A-Za-z@]*+)|.)", re.DOTALL)
# Names that begin as conditionals do but take their branches as arguments, or are none.
NO_CONDITION = frozenset([
    "iff", "ifthenelse", "ifdef", "ifundef", "ifcsdef", "ifcsundef", "ifblank", "ifstrempty",
    "ifstrequal", "ifbool", "iftoggle", "ifboolexpr", "ifnumcomp", "ifnumequal", "ifempty",
    "ifdefempty", "ifdefstring", "ifnotempty", "ifinlist", "ifpackageloaded",
])  # fmt: skip


def decide(source: Source, name: str) -> None:
    if not _holds(source, name):
        skip_branch(source, stop_at_else=True)


def _holds(source: Source, name: str) -> bool:
    if name == "iftrue":
        return True
    if name == "ifmmode":
        return source.in_math
    if name in ("ifx", "if"):
        first, second = _compared(source), _compared(source)
        if name == "ifx":
            macros = source.definitions.macros
            absent = ("\\undefined", "\\@undefined")
            if second in absent:
                return first[1:] not in macros
            one, two = macros.get(first[1:]), macros.get(second[1:])
            return first == second or (one is not None and one == two)
        return first == second
    if name == "ifdefined":
        return source.argument()[1:] in source.definitions.macros
    return source.definitions.flags.get(name[2:], False)


def _compared(source: Source) -> str:
    token = source.raw()
    while token is not None and token[1] == "detokenize":
        source.push(source.argument())
        token = source.raw()
    if token is None:
        return ""
    kind, value, written = token
    if kind == NAME:
        return f"\\{value}"
    source.push(written[1:])
    return written[:1]


def skip_branch(source: Source, *, stop_at_else: bool) -> None:
    depth = 0
    while source.frames:
        frame = source.frames[-1]
        start = frame.position
        for found in _BRANCHES.finditer(frame.text, start):
            word, opening = found[1], found[2]
            if opening:
                if opening not in NO_CONDITION and opening not in source.definitions.macros:
                    depth += 1
            elif word == "fi":
                depth -= 1
            if (word == "fi" and depth < 0) or (word == "else" and stop_at_else and not depth):
                frame.position = after_blanks(frame.text, found.end())
                source.allowance.spend(frame.position - start)
                return
        source.frames.pop()
