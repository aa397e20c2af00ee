r"""Lines and paragraphs, beside ``str.splitlines`` and ``re.split`` (PILE-8)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.statistics.characters import TERMINAL, character_classes
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch

PIECES = [
    "a line.\n",
    "a line.",
    "\n",
    "\n\n",
    "- item\n",
    "\u2022 item\n",
    " \u00a0",
    "\t",
    "wait...\n",
    "end\u2026 \n",
]
PIECES += [
    "\r\n",
    "\r",
    "\x85",
    "\u2028",
    "\v",
    "日本語。",
    "é",
    "a longer line than eight bytes?",
    "b",
]
PIECES += ["यह है |\n", "| है |\n", "है|\n", "|\n", "ক|", "x |\n", "ก|\n", "෿|\n"]
PIECES += ["\u3000\n", "paragraph one\nof two lines\n\n", "  - indented\n", ".", "..."]
texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def repeated(parts: list[str]) -> tuple[int, int]:
    before: set[str] = set()
    again = []
    for part in parts:
        if part in before:
            again.append(part)
        before.add(part)
    return len(again), sum(map(len, again))


def ends_a_sentence(line: str) -> bool:
    """A vertical bar after a letter of an Indian script is typed for its full stop."""
    if line.endswith("|") and not line.lstrip().startswith("|"):
        return "\u0900" <= line[:-1].rstrip(" ")[-1:] <= "\u0dff"
    return bool(character_classes()[ord(line[-1])] & TERMINAL)


def check(text: str, before: str = "", after: str = "") -> None:
    lines = Texts.of_strings([before, text, after], [{}] * 3, Scratch()).statistics.lines
    found = {
        name: getattr(lines, name) for name in lines._fields if name not in ("lengths", "offsets")
    }
    parts = re.split("\n+", text)
    filled = [line for line in text.split("\n") if line.strip()]
    paragraphs = re.split("\n{2,}", text.strip())
    stripped = [line.strip() for line in text.splitlines()]
    assert {name: int(count[1]) for name, count in found.items()} == {
        "lines": len(stripped),
        "bullet_lines": sum(line.startswith(("-", "\u2022")) for line in stripped),
        "ellipsis_lines": sum(line.endswith(("...", "\u2026")) for line in stripped),
        "parts": len(parts),
        "repeated_parts": repeated(parts)[0],
        "repeated_characters": repeated(parts)[1],
        "repeated_blank_characters": repeated([part for part in parts if not part.strip()])[1],
        "filled_lines": len(filled),
        "terminal_lines": sum(map(ends_a_sentence, filled)),
        "paragraphs": len(paragraphs),
        "repeated_paragraphs": repeated(paragraphs)[0],
        "repeated_paragraph_characters": repeated(paragraphs)[1],
    }
    first, last = lines.offsets[1], lines.offsets[2]
    assert lines.lengths[first:last].tolist() == [len(line) for line in filled]


@given(
    texts, st.sampled_from(["", "\n", "a line.", " "]), st.sampled_from(["", "\n", ".\n", "\u00a0"])
)
def test_lines_are_those_of_python(text: str, before: str, after: str) -> None:
    check(text, before, after)


@given(st.text("ab \n\r\u2028é.-", max_size=60))
def test_any_text(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\n\n\n",
        " ",
        "\na\n",
        "a\n\na",
        "a\n\n\n\na\n\n b",
        "  a\n\na  ",
        "a\nb\n\na\nb\n\nb\na",
        "a \n\na",
        "x" * 1000 + "\n" + "x" * 1000,
        "same line\n" * 500,
        "".join(f"line {n}\n\n" for n in range(300)) * 2,
    ],
)
def test_edges(text: str) -> None:
    check(text)
    check(text, "text before\n", "\ntext after")
