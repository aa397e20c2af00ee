r"""What an author defines: commands, environments, switches. Definitions are never scoped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from barrow.corpus.latex.commands import STRUCTURE, THEOREMS
from barrow.corpus.latex.macros import Macro, parameters


class Arguments(Protocol):
    """Where a definition is read from."""

    def argument(self) -> str: ...

    def option(self) -> str | None: ...

    def takes(self, sign: str, /) -> bool: ...

    def until(self, delimiter: str, /) -> str | None: ...

    def rest_of_group(self) -> str: ...


class Definitions:
    r"""Macros by name, environments by what begins and ends them, switches of ``\newif``.

    Commands that give a paper its structure keep their meaning, whatever a class or an author does
    to the way they look.
    """

    def __init__(self) -> None:
        self.macros: dict[str, Macro] = {}
        self.beginnings: dict[str, Macro] = {}
        self.endings: dict[str, str] = {}
        self.flags: dict[str, bool] = {}
        self.theorems = dict(THEOREMS)  # names of environments, as they are printed

    def define(self, command: str, source: Arguments) -> None:
        """Read a definition, whose command has been read."""
        DEFINING[command](self, source)

    def _set(self, name: str, macro: Macro) -> None:
        if name.startswith("\\") and len(name) > 1 and name[1:] not in STRUCTURE:
            self.macros[name[1:]] = macro

    def new_command(self, source: Arguments) -> None:
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
        if pattern == "" and name not in body:  # what it meant before is not known any more
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
    """Delimiters for as many arguments as ``[2]`` says, and what ``[…]`` after it is."""
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
