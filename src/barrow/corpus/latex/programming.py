"""Commands that choose what is read next: files, branches, groups by other names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from barrow.corpus.latex.conditionals import skip_branch

if TYPE_CHECKING:
    from barrow.corpus.latex.source import Source

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
