"""Commands that choose what is read next: files, branches, groups."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barrow.corpus.text.latex.source import Source
from typing import TYPE_CHECKING

from barrow.corpus.text.latex.tokens import NAME, after_blanks

if TYPE_CHECKING:
    from barrow.corpus.text.latex.source import Source


_FILE_NAME = re.compile(r'[ \t]*+"?([^\s\\{}"]++)"?')


def _else(source: Source) -> None:
    skip_branch(source, stop_at_else=False)


def _if_next(source: Source) -> None:
    wanted = source.argument()
    yes, no = source.argument(), source.argument()
    frame = source.ahead()
    wanted = {"\\bgroup": "{", "\\egroup": "}"}.get(wanted, wanted)
    source.push(yes if frame and frame.text.startswith(wanted, frame.position) else no)


def _if_star(source: Source) -> None:
    starred, plain = source.argument(), source.argument()
    source.push(starred if source.takes("*") else plain)


def _named(source: Source) -> None:
    name = source.until("\\endcsname")
    if name and name.isascii() and name.strip().isalpha():
        source.push(f"\\{name.strip()} ")


def _if_known(source: Source) -> None:
    source.choose(source.argument().strip().lstrip("\\") in source.definitions.macros)


def _if_unknown(source: Source) -> None:
    source.choose(source.argument().strip().lstrip("\\") not in source.definitions.macros)


def _if_file(source: Source) -> None:
    source.choose(source.find(source.argument()) is not None)


def _if_test(source: Source) -> None:
    source.argument()
    source.choose(False)


def _if_strings(source: Source) -> None:
    source.choose(source.argument() == source.argument())


def _if_blank(source: Source) -> None:
    source.choose(not source.argument().strip())


def _math_choice(source: Source) -> None:
    texts = [source.argument() for _ in range(4)]
    source.push(texts[1])


def _file(source: Source) -> None:
    if source.peek() == "{":
        source.input(source.argument())
    elif source.frames and (
        name := _FILE_NAME.match(source.frames[-1].text, source.frames[-1].position)
    ):
        source.frames[-1].position = name.end()
        source.input(name[1])


def _file_in_folder(source: Source) -> None:
    folder = source.argument().strip()
    source.input(f"{folder.rstrip('/')}/{source.argument().strip()}")


def _open_group(source: Source) -> None:
    source.push("{")


def _close_group(source: Source) -> None:
    source.push("}")


def _end_file(source: Source) -> None:
    source.leave_file()


PROGRAMMING: dict[str, Callable[[Source], None]] = {
    "else": _else,
    "@ifnextchar": _if_next,
    "kernel@ifnextchar": _if_next,
    "@ifstar": _if_star,
    "csname": _named,
    "ifdef": _if_known,
    "ifcsdef": _if_known,
    "ifundef": _if_unknown,
    "ifcsundef": _if_unknown,
    "@ifundefined": _if_unknown,
    "IfFileExists": _if_file,
    "ifthenelse": _if_test,
    "ifbool": _if_test,
    "iftoggle": _if_test,
    "@ifpackageloaded": _if_test,
    "ifstrequal": _if_strings,
    "ifstrempty": _if_blank,
    "ifblank": _if_blank,
    "mathchoice": _math_choice,
    "input": _file,
    "include": _file,
    "subfile": _file,
    "subfileinclude": _file,
    "loadglsentries": _file,
    "import": _file_in_folder,
    "subimport": _file_in_folder,
    "includefrom": _file_in_folder,
    "inputfrom": _file_in_folder,
    "subinputfrom": _file_in_folder,
    "bgroup": _open_group,
    "begingroup": _open_group,
    "egroup": _close_group,
    "endgroup": _close_group,
    "endinput": _end_file,
}


_BRANCHES = re.compile(r"\\(?:(else|or|fi)(?![A-Za-z@])|(if[A-Za-z@]*+)|.)", re.DOTALL)
# Names that look like conditionals but take their branches as arguments, or are something else.
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
