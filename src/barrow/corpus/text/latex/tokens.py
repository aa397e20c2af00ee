"""TeX source in tokens, by one regular expression without backtracking."""

from __future__ import annotations

import re

# Groups: 1 the name of a command (blanks after it mean nothing), 2 a command of one sign, 3 a run
# of text, 4 a paragraph's end, 5 a sign that means something: { } $ & #, or a last backslash.
TOKEN = re.compile(
    r"\\([A-Za-z@]++)[ \t]*+(?:\n(?![ \t]*+\n)[ \t]*+)?|\\(.)"
    r"|((?:[^\\{}$&#\n]++|\n(?![ \t]*+\n))++)|(\n[ \t]*+\n\s*+)|(.)",
    re.DOTALL,
)
NAME, SIGN, TEXT, PARAGRAPH = 1, 2, 3, 4

VERBATIM = frozenset([
    "verbatim", "verbatim*", "Verbatim", "BVerbatim", "LVerbatim", "lstlisting", "minted",
    "filecontents", "filecontents*", "sageblock", "comment", "pycode", "Verbatim*", "Sinput",
])  # fmt: skip
_INTERESTING = re.compile(
    r"%[^\n]*+(?:\n[ \t]*+(\n)?)?|\\[\\%]"
    r"|\\(?:url|href|path|nolinkurl)[ \t]*+\{[^{}\n]*+\}"
    r"|\\begin\{(" + "|".join(re.escape(name) for name in sorted(VERBATIM, reverse=True)) + r")\}"
    r"|\\(?:verb(?![A-Za-z])|lstinline)\*?([^A-Za-z*\s{\[])"
)
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
# A group with at most three levels inside it: nearly all of them, found without a loop.
_GROUP = r"\{[^{}\\]*+(?:(?:\\.|NESTED)[^{}\\]*+)*+\}"
_SHALLOW = _GROUP
for _ in range(3):
    _SHALLOW = _SHALLOW.replace("NESTED", _GROUP)
_SHALLOW_GROUP = re.compile(_SHALLOW.replace("|NESTED", ""), re.DOTALL)
_BLANKS = re.compile(r"\s++")


def without_comments(text: str) -> str:
    """The source without comments; in verbatim text and addresses ``%`` stays."""
    pieces: list[str] = []
    kept = position = 0
    endless: set[str] = set()  # names of environments that are not closed any more
    while found := _INTERESTING.search(text, position):
        position = found.end()
        if text[found.start()] == "%":
            pieces.append(text[kept : found.start()])
            if found[1]:  # the line after it is blank
                pieces.append("\n\n")
            kept = position
        elif name := found[2]:
            end = -1 if name in endless else text.find(f"\\end{{{name}}}", position)
            if end < 0:
                endless.add(name)
            else:
                position = end
        elif found[3]:
            line = text.find("\n", position)
            end = text.find(found[3], position, line if line >= 0 else len(text))
            position = end + 1 if end >= 0 else position
    pieces.append(text[kept:])
    return "".join(pieces)


def group_end(text: str, start: int) -> int:
    """The end, after its brace, of the group that opens at `start`; -1 without one."""
    if found := _SHALLOW_GROUP.match(text, start):
        return found.end()
    depth = 0
    for found in _BRACES.finditer(text, start):
        sign = found[0]
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if not depth:
                return found.end()
    return -1


def after_blanks(text: str, start: int) -> int:
    """The position of the next character that is not a blank."""
    found = _BLANKS.match(text, start)
    return found.end() if found else start
