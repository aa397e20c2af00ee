"""Pieces of real text: what a Python file says in its docstrings and comments."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from tests.samples.prose import paragraphs, sentences

_DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_COMMENTS = re.compile(r"^[ \t]*#[^!\n].*(?:\n[ \t]*#.*)+", re.MULTILINE)
_MARK = re.compile(r"^[ \t]*#+:? ?", re.MULTILINE)
_LINES_OF_CODE = range(2, 13)
_LONG = 700


@dataclass(frozen=True)
class Piece:
    """What is said about one thing: its name, prose in paragraphs, and perhaps its code."""

    name: str
    paragraphs: tuple[str, ...]
    code: str = ""

    @property
    def size(self) -> int:
        """Characters of prose."""
        return sum(map(len, self.paragraphs))


@dataclass(frozen=True)
class Article:
    """Some pieces that make a document."""

    pieces: tuple[Piece, ...]

    @property
    def title(self) -> str:
        """What its first piece is about, in words."""
        return spoken(self.pieces[0].name)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        return tuple(paragraph for piece in self.pieces for paragraph in piece.paragraphs)

    @property
    def sentences(self) -> list[str]:
        return [said for paragraph in self.paragraphs for said in sentences(paragraph)]


def spoken(name: str) -> str:
    """A dotted name as a heading: ``email.utils.parse_date`` is `Parse date (email.utils)`."""
    module, _, last = name.rpartition(".")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", last).replace("_", " ").split()
    title = " ".join(words).lower().capitalize() or "About"
    return f"{title} ({module})" if module else title


def pieces_of(source: str, module: str) -> Iterator[Piece]:
    """The docstrings of a file, in its order, then its comments of two lines and more.

    Long ones are cut at paragraphs. A file that this Python cannot parse has none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the file's own, about its escapes
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    lines = source.splitlines()
    for name, node in _definitions(tree, module):
        yield from _cut(name, paragraphs(ast.get_docstring(node) or ""), _code(node, lines))
    for comment in _COMMENTS.finditer(source):
        # A comment that begins in small letters goes on from the code, or is code.
        found = (said for said in paragraphs(_MARK.sub("", comment[0])) if said[0].isupper())
        yield from _cut(module, found, "")


def _cut(name: str, found: Iterator[str], code: str) -> Iterator[Piece]:
    """Paragraphs as pieces of some 700 characters; the code goes with the first."""
    held: list[str] = []
    for paragraph in found:
        held.append(paragraph)
        if sum(map(len, held)) >= _LONG:
            yield Piece(name, tuple(held), code)
            held, code = [], ""
    if held:
        yield Piece(name, tuple(held), code)


def _definitions(
    tree: ast.Module, module: str
) -> Iterator[tuple[str, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Everything that may have a docstring, with its dotted name, outer before inner."""
    waiting: list[tuple[str, ast.AST]] = [(module, tree)]
    while waiting:
        name, node = waiting.pop()
        if isinstance(node, _DEFINITIONS):
            yield name, node
            inner = [child for child in node.body if isinstance(child, _DEFINITIONS)]
            named = [(f"{name}.{child.name}", child) for child in inner]
            waiting += reversed(named)


def _code(node: ast.AST, lines: list[str]) -> str:
    """A short function without its docstring; nothing for what is long, or no function."""
    if not isinstance(node, ast.FunctionDef) or len(node.body) < 2 or node.end_lineno is None:
        return ""
    head = lines[node.lineno - 1 : node.body[0].lineno - 1]
    body = lines[node.body[1].lineno - 1 : node.end_lineno]
    if len(head) + len(body) not in _LINES_OF_CODE:
        return ""
    code = textwrap.dedent("\n".join((*head, *body)))
    # A dollar would begin a formula where formats have them.
    return code if code.isascii() and code.startswith("def ") and "$" not in code else ""
