"""Paragraphs of prose, told from the code and markup around them in docstrings and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ROLE = re.compile(r":[a-z:+-]{2,20}:`~?([^`<>]+)(?:<[^`<>]*>)?`")
_LINK = re.compile(r"`([^`<>]+?)\s*<[^`<>]*>`_{1,2}")
_TICKS = re.compile(r"`+~?_?|\*\*(?=\w)|(?<=\w)\*\*(?=\W|$)")
_RULE = re.compile(r"\s*([=\-~^*#+_.])\1{2,}\s*")
_BULLET = re.compile(r"(?:[-*+o]|\(?[0-9a-z][.)])\s+")
_DIRECTIVE = re.compile(r"\.\. |:[a-z]+[^:]*: |@[a-z]|#|/\*|\*/")
_NOT_PROSE = re.compile(
    r">>>|[{}\\$|\x00-\x1f\x7f]|=\s*[(\[]|--{2,}|\[[0-9]+\]_|^In \[|noqa|pylint|://|</?[a-z]+>|>>\s*sys|\br'"
)
# What licences begin with stands at the head of many files, and among the package papers.
_LEGAL = re.compile(r"copyright|licen[cs]e|all rights reserved|warrant", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[a-z0-9)\"'][.!?]) +(?=[A-Z\"'(])")
_SHORTEST, _LONGEST = 40, 1500
_MIN_LETTERS = 0.78
_MIN_WORDS = 7


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of prose in a docstring or comment, each on one line.

    Indented text below a line that names what it describes (a parameter) is a paragraph of its own.
    What is mostly signs, or shorter than seven words, is no prose.
    """
    for block in re.split(r"\n[ \t]*\n", text):
        for part in _parts(block.split("\n")):
            paragraph = _plain(part)
            if _is_prose(paragraph):
                yield paragraph


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; abbreviations within may cut one short."""
    return _SENTENCE.split(paragraph)


def _parts(lines: list[str]) -> Iterator[str]:
    """Runs of lines of the same indent, without underlined headings.

    An item of a list begins its own.
    """
    is_rule = [_RULE.fullmatch(line) is not None for line in (*lines, "")]
    lines = [line for k, line in enumerate(lines) if not is_rule[k] and not is_rule[k + 1]]
    run: list[str] = []
    depth = -1
    for line in lines:
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        bullet = _BULLET.match(stripped)
        if run and (bullet or indent != depth):
            yield " ".join(run)
            run = []
        depth = indent + (bullet.end() if bullet else 0)
        run.append(stripped[bullet.end() :] if bullet else stripped)
    if run:
        yield " ".join(run)


def _plain(text: str) -> str:
    """Without the marks of reStructuredText, with one blank between words."""
    text = _ROLE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _TICKS.sub("", text)
    return " ".join(text.replace("::", ":").split())


def _is_prose(text: str) -> bool:
    if not _SHORTEST <= len(text) <= _LONGEST or not text.isascii():
        return False
    if not text[0].isalpha() or _DIRECTIVE.match(text) or _NOT_PROSE.search(text):
        return False
    letters = sum(map(str.isalpha, text)) + text.count(" ")
    words = [word for word in text.split() if word.strip(".,;:!?()'\"").isalpha()]
    is_said = len(words) >= max(_MIN_WORDS, 0.6 * (text.count(" ") + 1))
    return is_said and letters >= _MIN_LETTERS * len(text) and not _LEGAL.search(text)
