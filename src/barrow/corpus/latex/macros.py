"""The author's own commands: how they are defined, and what a use of one becomes."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLACE = re.compile(r"#(#|[1-9])")
_COMMAND_BEFORE = re.compile(r"(\\[A-Za-z@]++)#")


@dataclass(frozen=True, slots=True)
class Macro:
    r"""A command that stands for `body`.

    `delimiters` has what ends each argument (nothing: the argument is a token or a group), and
    `prefix` what must stand before the first; `default` is the first argument if it is optional.
    `alias` names a command of TeX's that this is another name of, whatever its name came to mean.
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

    def argument(found: re.Match[str]) -> str:
        sign = found[1]
        if sign == "#":
            return "#"
        place = int(sign) - 1
        return arguments[place] if place < len(arguments) else ""

    # An argument's first letter must not become part of the command before it.
    return _PLACE.sub(argument, _COMMAND_BEFORE.sub(r"\1 #", body))


def parameters(text: str) -> tuple[str, tuple[str, ...]]:
    r"""Prefix and delimiters from the parameter text of ``\def``, as in ``#1:#2\end``."""
    first, *rest = _PLACE.split(text)[::2]
    return first.strip(), tuple(part.strip() for part in rest)


class TooMuchExpansion(Exception):
    """Macros that grow without end, or files that hold each other."""


class Allowance:
    """How many characters macros, files and their arguments may come to: the linear bound."""

    def __init__(self, characters: int) -> None:
        self._left = characters

    def spend(self, characters: int) -> None:
        """Take away what is used; the fixed part pays for macros that become nothing."""
        self._left -= characters + 16
        if self._left < 0:
            raise TooMuchExpansion
