"""Tokens of LaTeX to markdown, in one pass, with an explicit stack of what is open."""

from __future__ import annotations

import re
from collections.abc import Collection

from barrow.corpus.text.latex import commands
from barrow.corpus.text.latex.environments import ENVIRONMENT_COMMANDS
from barrow.corpus.text.latex.mathematics import read_mathematics
from barrow.corpus.text.latex.output import CELL, ROW, Output
from barrow.corpus.text.latex.source import Source
from barrow.corpus.text.latex.styles import Close, Open, close_group, close_style, declare
from barrow.corpus.text.latex.symbols import ACCENTS, NAMES, SIGNS, accented
from barrow.corpus.text.latex.text_commands import TEXT_COMMANDS, cite, heading
from barrow.corpus.text.latex.tokens import NAME, PARAGRAPH, SIGN, TEXT

_DIMENSION = re.compile(r"[-+]?[0-9.]++ ?(?:true ?)?(?:pt|em|ex|cm|mm|in)\b ?")
HANDLERS = {**TEXT_COMMANDS, **ENVIRONMENT_COMMANDS}


class Writer(Output):
    """The markdown of one paper; its title is there after `write`."""

    def __init__(
        self,
        source: Source,
        *,
        has_chapters: bool,
        keep_bibliography: bool,
        references: Collection[str] = (),
    ) -> None:
        super().__init__()
        self.source = source
        self.shift = 1 if has_chapters else 0
        self.keep_bibliography = keep_bibliography
        self.references = references
        self.stack: list[Open] = []
        self.blocks = 0
        self.in_body = False
        self.waiting: dict[str, str] = {}  # title and abstract given before the document begins
        self.title = ""

    def write(self, *, in_body: bool) -> str:
        """Go through the source; `in_body` if it is all text, without a preamble."""
        self.in_body = in_body
        source = self.source
        while token := source.next():
            kind, value, _ = token
            if kind == TEXT:
                self.text(value)
            elif kind == NAME:
                self.command(value)
            elif kind == PARAGRAPH:
                self.paragraph()
            elif kind == SIGN:
                self.sign(value)
            elif value == "{":
                self.open(close_group)
            elif value == "}":
                self.close_brace()
            elif value == "$":
                self.dollar()
            elif value == "&":
                self.put(CELL if self.tables else " ")
            elif value != "\\":
                self.put(value)
        while self.stack:
            opened = self.stack.pop()
            opened.close(self, opened)
        return self.finished()

    def open(self, close: Close, *, name: str = "", detail: str = "") -> None:
        self.stack.append(Open(close, len(self.out), self.breaks, name, detail))

    def open_argument(self, close: Close, detail: str = "") -> None:
        """Open a command's argument; one without braces is a single token, left as it is."""
        if self.source.peek() == "{":
            self.source.takes("{")
            self.open(close, detail=detail)
        else:
            self.source.push("{" + self.source.argument() + "}")
            self.source.takes("{")
            self.open(close, detail=detail)

    def open_line(self, close: Close, detail: str) -> None:
        """Open an argument that becomes one line; nested ones are plain text."""
        # Otherwise each line would be written again by all those around it.
        if any(opened.close is close for opened in self.stack[-50:]) or len(self.stack) > 500:
            close = close_group
            detail = ""
        self.open_argument(close, detail)

    def close_brace(self) -> None:
        if self.stack and not self.stack[-1].name:
            opened = self.stack.pop()
            opened.close(self, opened)

    def close_environment(self, name: str) -> None:
        for place in range(len(self.stack) - 1, max(-1, len(self.stack) - 200), -1):
            if self.stack[place].name == name:
                while len(self.stack) > place:
                    opened = self.stack.pop()
                    opened.close(self, opened)
                return

    def sign(self, sign: str) -> None:
        source = self.source
        if sign == "\\":
            source.touches("*")
            if source.peek() == "[":
                source.option()
            if self.tables and self.stack and self.stack[-1].name in commands.TABLES:
                self.put(ROW)
            elif self.tables:  # a break inside a cell
                self.space()
            else:
                self.line()
        elif sign in "([":
            self.mathematics(")" if sign == "(" else "]", is_display=sign == "[")
        elif sign in ACCENTS:
            self.accent(sign)
        elif sign in SIGNS:
            if SIGNS[sign] == " ":
                self.space()
            else:
                self.put(SIGNS[sign])

    def accent(self, accent: str) -> None:
        letters = self.source.argument()
        plain = letters.strip().lstrip("\\")
        self.put(accented(accent, NAMES.get(plain, letters) if letters[:1] == "\\" else letters))

    def command(self, name: str) -> None:
        source = self.source
        if handler := HANDLERS.get(name):
            handler(self)
        elif name in commands.DROPPED:
            source.skip(commands.DROPPED[name])
            if name in ("vskip", "hskip") and source.peek() in "-+.0123456789":
                source.match(_DIMENSION)
        elif name in commands.HEADINGS:
            heading(self, name)
        elif name in commands.STYLES:
            self.open_argument(close_style, commands.STYLES[name])
        elif name in commands.DECLARATIONS:
            declare(self, commands.DECLARATIONS[name])
        elif name in commands.CITATIONS or name in commands.TEXT_CITATIONS:
            cite(self, in_text=name in commands.TEXT_CITATIONS)
        elif name in commands.REFERENCES:
            source.takes("*")
            self.put(", ".join(f"[{key.strip()}]" for key in source.argument().split(",")))
        elif name in commands.STEPS and self.is_inside("algorithm"):
            self.line()
            self.put(commands.STEPS[name])
        elif name in NAMES:
            if NAMES[name] == " ":
                self.space()
            else:
                self.put(NAMES[name])
        elif name in ACCENTS:
            self.accent(name)
        elif name.startswith("end") and self.stack:
            self.close_environment(name[3:])
        elif source.peek_sign() == "[":
            self.unknown_option()

    def unknown_option(self) -> None:
        r"""``\thing[…]{…}`` drops its option; ``\thing [text]`` has none."""
        option = self.source.option()
        if option is not None and self.source.peek() not in "{[":
            self.source.push(f"[{option}]")

    def is_inside(self, prefix: str) -> bool:
        return any(opened.name.startswith(prefix) for opened in self.stack[-12:])

    def dollar(self) -> None:
        is_display = self.source.touches("$")
        self.mathematics("$$" if is_display else "$", is_display=is_display)

    def mathematics(self, closer: str, *, is_display: bool, environment: str = "") -> None:
        formula, is_closed = read_mathematics(self.source, closer, is_display=is_display)
        if not self.in_body or not formula:
            return
        if not is_closed and not is_display:
            self.put(formula)
        elif is_display and not self.tables:
            inner = commands.MATH_ENVIRONMENTS.get(environment, "")
            if inner:
                formula = f"\\begin{{{inner}}}\n{formula}\n\\end{{{inner}}}"
            self.line()
            self.put(f"$${formula}$$")
            self.line()
        else:
            self.put(f"${' '.join(formula.split())}$")
