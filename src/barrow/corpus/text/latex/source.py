"""The tokens of a paper: files and macros expanded in place, conditionals evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable

from barrow.corpus.text.latex.definitions import DEFINING, Allowance, Definitions, Macro, filled
from barrow.corpus.text.latex.programming import NO_CONDITION, PROGRAMMING, decide
from barrow.corpus.text.latex.tokens import NAME, SIGN, TOKEN, after_blanks, group_end

Token = tuple[int, str, str]  # kind; name, sign or text; source

_OPTION = re.compile(r"\\.|[{}\]]", re.DOTALL)
_MAX_OPTION = 20_000
_MAX_FRAMES = 10_000
_SILENT = frozenset([
    "expandafter", "relax", "protect", "global", "long", "outer", "noexpand", "unexpanded",
    "makeatletter", "makeatother", "leavevmode", "ignorespaces", "unskip", "fi", "or",
    "immediate", "allowbreak", "nobreak", "normalfont", "rmfamily", "upshape",
])  # fmt: skip
ACTIVE = frozenset([*DEFINING, *PROGRAMMING, *_SILENT])  # and conditionals


class _Frame:
    __slots__ = ("is_file", "position", "text")

    def __init__(self, text: str, *, is_file: bool) -> None:
        self.text = text
        self.position = 0
        self.is_file = is_file


class Source:
    """Tokens of a text, its files and macros, with an explicit stack of what is being read."""

    def __init__(
        self, text: str, find: Callable[[str], str | None], definitions: Definitions, size: int
    ) -> None:
        self.frames = [_Frame(text, is_file=True)]
        self.find = find
        self.definitions = definitions
        self.allowance = Allowance(20 * size + 2_000_000)
        self.in_math = False

    def next(self, pattern: re.Pattern[str] = TOKEN) -> Token | None:
        """The next token that is not a macro, definition or conditional."""
        macros, frames = self.definitions.macros, self.frames
        while frames:  # as in `raw`, without its call: this is the loop of all text
            frame = frames[-1]
            found = pattern.match(frame.text, frame.position)
            if found is None:
                frames.pop()
                continue
            frame.position = found.end()
            kind = found.lastindex or 0
            name = found[kind]
            if kind > SIGN:
                return kind, name, name
            if kind == SIGN:
                return kind, name, f"\\{name}"
            macro = macros.get(name)
            if macro is not None:
                if macro.alias:
                    return (NAME, macro.alias, f"\\{macro.alias} ")
                self._expand(macro)
            elif name not in ACTIVE and name[:2] != "if":
                return kind, name, found[0]
            elif name in DEFINING:
                self.definitions.define(name, self)
            elif name in _SILENT:
                pass
            elif name in PROGRAMMING:
                PROGRAMMING[name](self)
            elif name not in NO_CONDITION:
                decide(self, name)
            else:
                return kind, name, found[0]
        return None

    def raw(self) -> Token | None:
        """The next token, unexpanded."""
        frames = self.frames
        while frames:
            frame = frames[-1]
            found = TOKEN.match(frame.text, frame.position)
            if found is None:
                frames.pop()
                continue
            frame.position = found.end()
            kind = found.lastindex or 0
            return kind, found[kind], found[0]
        return None

    def push(self, text: str, *, is_file: bool = False) -> None:
        """Read this first, then continue."""
        self.allowance.spend(len(text))
        frames = self.frames
        while frames and frames[-1].position >= len(frames[-1].text):
            frames.pop()  # so that tail-recursive macros do not pile up
        if len(frames) > _MAX_FRAMES:
            self.allowance.spend(1 << 60)
        if text:
            frames.append(_Frame(text, is_file=is_file))

    def leave_file(self) -> bool:
        """Drop the rest of the file being read; false if that was the paper itself."""
        while self.frames:
            if self.frames.pop().is_file:
                break
        return bool(self.frames)

    # Arguments --------------------------------------------------------------------------------

    def ahead(self) -> _Frame | None:
        """The next input that is not a blank; blanks are skipped, but not a paragraph's end."""
        frames = self.frames
        while frames:
            frame = frames[-1]
            if " " < frame.text[frame.position : frame.position + 1] < "\x7f":  # not a blank
                return frame
            place = after_blanks(frame.text, frame.position)
            if place < len(frame.text):
                if frame.text.count("\n", frame.position, place) < 2:
                    frame.position = place
                return frame
            frames.pop()
        return None

    def peek(self) -> str:
        """The next character that is not a blank; empty at the end."""
        frame = self.ahead()
        return frame.text[frame.position] if frame else ""

    def takes(self, sign: str) -> bool:
        """Whether that sign comes next; if so it is consumed."""
        frame = self.ahead()
        if frame is None or not frame.text.startswith(sign, frame.position):
            return False
        frame.position += len(sign)
        return True

    def touches(self, sign: str) -> bool:
        """The same without blanks before it."""
        frame = self.frames[-1] if self.frames else None
        if frame is None or not frame.text.startswith(sign, frame.position):
            return False
        frame.position += len(sign)
        return True

    def argument(self) -> str:
        """A group without its braces, or one token; nothing where a group is not closed."""
        frame = self.ahead()
        if frame is None:
            return ""
        text, start = frame.text, frame.position
        if text[start] == "{":
            end = group_end(text, start)
            self.allowance.spend((end if end >= 0 else len(text)) - start)
            if end < 0:
                frame.position = start + 1
                return ""
            frame.position = end
            return text[start + 1 : end - 1]
        if text[start] == "}":
            return ""
        if text[start] == "\\" and (found := TOKEN.match(text, start)):
            frame.position = found.end()
            return found[0].rstrip() if found.lastindex == NAME else found[0]
        frame.position = start + 1
        return text[start]

    def rest_of_group(self) -> str:
        """The rest of a group whose brace has just been read."""
        self.frames[-1].position -= 1
        return self.argument()

    def option(self) -> str | None:
        """An argument in brackets, if there is one."""
        frame = self.ahead()
        if frame is None or frame.text[frame.position] != "[":
            return None
        start, depth = frame.position + 1, 0
        for found in _OPTION.finditer(frame.text, start, start + _MAX_OPTION):
            sign = found[0]
            if sign == "{":
                depth += 1
            elif sign == "}":
                depth -= 1
                if depth < 0:
                    break
            elif sign == "]" and not depth:
                self.allowance.spend(found.end() - start)
                frame.position = found.end()
                return frame.text[start : found.start()]
        self.allowance.spend(_MAX_OPTION)
        return None

    def until(self, delimiter: str) -> str | None:
        """Everything before a delimiter, which is consumed; None if it does not come."""
        frame = self.frames[-1] if self.frames else None
        if frame is None:
            return None
        end = frame.text.find(delimiter, frame.position)
        self.allowance.spend((end if end >= 0 else len(frame.text)) - frame.position)
        if end < 0:
            return None
        found = frame.text[frame.position : end]
        frame.position = end + len(delimiter)
        return found

    def skip(self, spec: str) -> None:
        """Skip arguments: ``*`` a star, ``o`` one in brackets, ``m`` one in braces."""
        for kind in spec:
            if kind == "*":
                self.takes("*")
            elif kind == "o":
                self.option()
            elif kind == "p":
                if self.touches("("):
                    self.until(")")
            elif kind == "m":
                self.argument()

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What a pattern matches here, which is consumed."""
        frame = self.ahead()
        if frame is None or (found := pattern.match(frame.text, frame.position)) is None:
            return None
        frame.position = found.end()
        return found

    def sign(self) -> str:
        """Consume the next character, whatever it is."""
        while self.frames:
            frame = self.frames[-1]
            if frame.position < len(frame.text):
                frame.position += 1
                return frame.text[frame.position - 1]
            self.frames.pop()
        return ""

    def peek_sign(self) -> str:
        """The next character, whatever it is; a blank at the end."""
        for frame in reversed(self.frames[-50:]):
            if frame.position < len(frame.text):
                return frame.text[frame.position]
        return " "

    # Macros and conditionals ------------------------------------------------------------------

    def _expand(self, macro: Macro) -> None:
        if macro.prefix:
            self.takes(macro.prefix)
        arguments: list[str] = []
        for delimiter in macro.delimiters:
            if not arguments and macro.default is not None:
                option = self.option()
                arguments.append(macro.default if option is None else option)
            elif delimiter:
                found = (self.until(delimiter) or "").strip()
                whole = found.startswith("{") and group_end(found, 0) == len(found)
                arguments.append(found[1:-1] if whole else found)
            else:
                arguments.append(self.argument())
        self.push(filled(macro.body, arguments))

    def begin(self, name: str) -> bool:
        """Open an environment that the author defined; false if there is none."""
        macro = self.definitions.beginnings.get(name)
        if macro is not None:
            self._expand(macro)
        return macro is not None

    def input(self, name: str) -> None:
        """Read a file in place; a missing one is skipped."""
        text = self.find(name)
        if text is not None:
            self.push(text, is_file=True)

    def load_package(self, name: str) -> None:
        r"""Take the plain definitions of a package, without internal ones (``\@…``)."""
        text = self.find(name)
        if text is None:
            return
        self.allowance.spend(len(text))
        definitions = Definitions()
        package = Source(text, lambda _: None, definitions, len(text))
        while package.next():
            pass
        for command, macro in definitions.macros.items():
            if "@" not in command and "@" not in macro.body:
                self.definitions.macros.setdefault(command, macro)

    def choose(self, condition: bool) -> None:
        """Continue with the first or the second of two arguments."""
        first, second = self.argument(), self.argument()
        self.push(first if condition else second)
