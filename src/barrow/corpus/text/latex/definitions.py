r"""An author's definitions: commands, environments, switches. They are never scoped."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from barrow.corpus.text.latex.commands import STRUCTURE, THEOREMS


class Arguments(Protocol):
    """Where a definition is read from."""

    def argument(self) -> str: ...

    def option(self) -> str | None: ...

    def takes(self, sign: str, /) -> bool: ...

    def match(self, pattern: re.Pattern[str], /) -> re.Match[str] | None: ...

    def until(self, delimiter: str, /) -> str | None: ...

    def rest_of_group(self) -> str: ...


class Definitions:
    r"""Macros by name, environments by their beginnings and ends, switches of ``\newif``.

    Commands of a paper's structure keep their meaning, however a class or an author redefines them.
    """

    def __init__(self) -> None:
        self.macros: dict[str, Macro] = {}
        self.beginnings: dict[str, Macro] = {}
        self.endings: dict[str, str] = {}
        self.flags: dict[str, bool] = {}
        self.theorems = dict(THEOREMS)  # names of environments, as they are printed

    def define(self, command: str, source: Arguments) -> None:
        """Read a definition, after its command."""
        DEFINING[command](self, source)

    def _set(self, name: str, macro: Macro) -> None:
        if name.startswith("\\") and len(name) > 1 and name[1:] not in STRUCTURE:
            self.macros[name[1:]] = macro

    def new_command(self, source: Arguments) -> None:
        if found := source.match(_USUAL):
            name, delimiters, default = found[1] or found[2], ("",) * int(found[3] or 0), None
        else:
            source.takes("*")
            name = source.argument().strip()
            delimiters, default = _counted(source)
        body = source.argument()
        self._set(name, Macro(body, delimiters, default))

    def provide_command(self, source: Arguments) -> None:
        source.takes("*")
        name = source.argument().strip()
        delimiters, default = _counted(source)
        body = source.argument()
        if name[1:] not in self.macros:
            self._set(name, Macro(body, delimiters, default))

    def define_plainly(self, source: Arguments) -> None:
        name = source.argument().strip()
        pattern = source.until("{")
        if pattern is None or len(pattern) > 200:
            return
        prefix, delimiters = parameters(pattern)
        body = source.rest_of_group()
        self._set(name, Macro(body, delimiters, prefix=prefix))

    def define_now(self, source: Arguments) -> None:
        name = source.argument().strip()
        pattern = source.until("{")
        body = source.rest_of_group() if pattern is not None else ""
        if pattern == "" and name not in body:  # its earlier meaning is lost
            self._set(name, Macro(body))

    def let(self, source: Arguments) -> None:
        name = source.argument().strip()
        source.takes("=")
        other = source.argument().strip()
        if name == other or not name.startswith("\\"):
            return
        known = self.macros.get(other[1:]) if other.startswith("\\") else None
        if known is not None:
            self._set(name, known)
        elif other.startswith("\\") and other[1:].isalpha():
            self._set(name, Macro("", alias=other[1:]))
        else:
            self._set(name, Macro(other))

    def operator(self, source: Arguments) -> None:
        star = "*" if source.takes("*") else ""
        name = source.argument().strip()
        self._set(name, Macro(f"\\operatorname{star}{{{source.argument()}}}"))

    def paired(self, source: Arguments) -> None:
        name = source.argument().strip()
        left, right = source.argument(), source.argument()
        self._set(name, Macro(f"{left} #1{right} ", ("",)))

    def document_command(self, source: Arguments) -> None:
        name = source.argument().strip()
        kinds = [kind for kind in source.argument() if kind in "mosO"]
        body = source.argument()
        default = "" if kinds[:1] in (["o"], ["O"]) else None
        if "s" not in kinds and "o" not in kinds[1:]:
            self._set(name, Macro(body, ("",) * len(kinds), default))

    def environment(self, source: Arguments) -> None:
        source.takes("*")
        name = source.argument().strip()
        delimiters, default = _counted(source)
        begin, end = source.argument(), source.argument()
        if name not in STRUCTURE:
            self.beginnings[name] = Macro(begin, delimiters, default)
            self.endings[name] = end

    def switch(self, source: Arguments) -> None:
        name = source.argument().strip()
        if name.startswith("\\if"):
            self.flags[name[3:]] = False
            self._set(f"\\{name[3:]}true", Macro(f"\\barrow@set{{{name[3:]}}}{{1}}"))
            self._set(f"\\{name[3:]}false", Macro(f"\\barrow@set{{{name[3:]}}}{{}}"))

    def set_switch(self, source: Arguments) -> None:
        name = source.argument()
        self.flags[name] = bool(source.argument())


def _counted(source: Arguments) -> tuple[tuple[str, ...], str | None]:
    """Delimiters for the number of arguments in ``[2]``, and the default in ``[…]`` after it."""
    number = (source.option() or "").strip()
    default = source.option()
    count = int(number) if number in "123456789" and number else 0
    return ("",) * count, default if count else None


DEFINING: dict[str, Callable[[Definitions, Arguments], None]] = {
    "newcommand": Definitions.new_command,
    "renewcommand": Definitions.new_command,
    "DeclareRobustCommand": Definitions.new_command,
    "newrobustcmd": Definitions.new_command,
    "renewrobustcmd": Definitions.new_command,
    "providecommand": Definitions.provide_command,
    "def": Definitions.define_plainly,
    "gdef": Definitions.define_plainly,
    "edef": Definitions.define_now,
    "xdef": Definitions.define_now,
    "let": Definitions.let,
    "DeclareMathOperator": Definitions.operator,
    "DeclarePairedDelimiter": Definitions.paired,
    "NewDocumentCommand": Definitions.document_command,
    "RenewDocumentCommand": Definitions.document_command,
    "DeclareDocumentCommand": Definitions.document_command,
    "newenvironment": Definitions.environment,
    "renewenvironment": Definitions.environment,
    "newif": Definitions.switch,
    "barrow@set": Definitions.set_switch,
}


# A command's name as it is usually written, and the number of its arguments; then its body.
_USUAL = re.compile(r"(?:\{(\\[A-Za-z@]++)\}|(\\[A-Za-z@]++))(?:\[([1-9])\])?+(?=\{)")
_PLACE = re.compile(r"#(#|[1-9])")
_COMMAND_BEFORE = re.compile(r"(\\[A-Za-z@]++)#")


@dataclass(frozen=True, slots=True)
class Macro:
    r"""A command that expands to `body`.

    `delimiters` end the arguments (empty: the argument is a token or a group), and `prefix` must
    precede the first; `default` is the first argument if it is optional. `alias` is the command of
    TeX that this is another name for, even if that name is redefined later.
    """

    body: str
    delimiters: tuple[str, ...] = ()
    default: str | None = None
    prefix: str = ""
    alias: str = ""


def filled(body: str, arguments: list[str]) -> str:
    """The body with arguments in their places."""
    if "#" not in body:
        return body

    parts = list(_parts(body))
    for place in range(1, len(parts), 2):
        if parts[place] != "#":
            number = int(parts[place]) - 1
            parts[place] = arguments[number] if number < len(arguments) else ""
    return "".join(parts)


@lru_cache(4096)
def _parts(body: str) -> list[str]:
    """Texts between the places of arguments, and the signs of those places."""
    # An argument's first letter must not become part of the command before it.
    return _PLACE.split(_COMMAND_BEFORE.sub(r"\1 #", body))


def parameters(text: str) -> tuple[str, tuple[str, ...]]:
    r"""Prefix and delimiters from the parameter text of ``\def``, as in ``#1:#2\end``."""
    first, *rest = _PLACE.split(text)[::2]
    return first.strip(), tuple(part.strip() for part in rest)


class TooMuchExpansion(Exception):
    """Macros that grow without end, or files that include each other."""


class Allowance:
    """The characters that macros, files and arguments may expand to: the linear bound."""

    def __init__(self, characters: int) -> None:
        self._left = characters

    def spend(self, characters: int) -> None:
        """Spend what is used; a fixed cost bounds macros that expand to nothing."""
        self._left -= characters + 16
        if self._left < 0:
            raise TooMuchExpansion
