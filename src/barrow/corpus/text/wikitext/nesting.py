"""Pairs of brackets, found and replaced in linear time whatever their nesting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from barrow.corpus.text.wikitext.marks import gone_after

# MediaWiki itself expands templates to a depth of 40; what is deeper is dropped.
MAX_DEPTH = 40


class Bracket(NamedTuple):
    """One bracket of a text."""

    start: int
    end: int
    is_opening: bool


def _runs(text: str, brackets: str) -> Iterator[tuple[int, int]]:
    """Where at least two of the same bracket are in a row."""
    # Searching for a string is many times faster than for a pattern.
    twice = [bracket * 2 for bracket in brackets]
    rows = [re.compile(f"{re.escape(bracket)}++") for bracket in brackets]
    opening, closing = (text.find(both) for both in twice)
    while opening >= 0 or closing >= 0:
        is_opening = closing < 0 or 0 <= opening < closing
        start = opening if is_opening else closing
        end = start + 2
        if text.startswith(text[start], end) and (row := rows[not is_opening].match(text, end)):
            end = row.end()
        yield start, end
        if is_opening:
            opening = text.find(twice[0], end)
        else:
            closing = text.find(twice[1], end)


def pairs(text: str, kind: str) -> tuple[list[Bracket], list[int]]:
    """Brackets of two characters each, and for each the number of its partner; -1 if it has none.

    `kind` is ``{}`` or ``[]``; brackets may be in runs, ``{{{{``. A third brace, ``{{{name}}}``,
    goes with its neighbours, unless it ends a single one. A third square bracket is an ordinary
    character: the one that ends a single one, ``[[a|[b]]]``, else the outermost.
    """
    found: list[Bracket] = []
    partners: list[int] = []
    waiting: list[int] = []
    last = 0
    for start, end in _runs(text, kind):
        first = text[start]
        is_opening = first == kind[0]
        if (end - start) % 2:
            if first == "[" or (
                not is_opening and text.count(kind[0], last, start) > text.count(first, last, start)
            ):
                start += 1
            elif first == "]":
                end -= 1
        for at in range(start, end - 1, 2):
            number = len(found)
            found.append(Bracket(at, end if at + 3 == end else at + 2, is_opening))
            partner = -1
            if is_opening:
                waiting.append(number)
            elif waiting:
                partner = waiting.pop()
                partners[partner] = number
            partners.append(partner)
        last = end
    return found, partners


def replace_pairs(
    text: str,
    kind: str,
    is_kept: Callable[[str, int, int], bool],
    render: Callable[[str], str],
    unpaired: Callable[[str, int, int], int],
) -> str:
    """Text in which each pair of brackets of a kind, ``{}`` or ``[]``, is replaced.

    The innermost come first. `is_kept`, given the text and where the contents begin and end,
    decides whether they are kept; if so, `render` gives their replacement. After an opening bracket
    that is not closed, text is dropped up to the place that `unpaired` gives for the beginning of
    the next bracket.
    """
    brackets, partners = pairs(text, kind)
    parts: list[str] = []
    opened: list[int] = []  # where in `parts` the contents of the open pairs begin
    at = number = 0
    while number < len(brackets):
        start, end, is_opening = brackets[number]
        partner = partners[number]
        number += 1
        parts.append(text[at:start])
        at = end
        if not is_opening:
            if partner >= 0:
                begin = opened.pop()
                contents = "".join(parts[begin:])
                del parts[begin:]
                parts.append(render(contents))
        elif partner < 0:
            parts.append(gone_after(text[max(0, start - 1) : start]))
            limit = brackets[number].start if number < len(brackets) else len(text)
            at = unpaired(text, end, limit)
        elif len(opened) < MAX_DEPTH and is_kept(text, end, brackets[partner].start):
            opened.append(len(parts))
        else:
            parts.append(gone_after(text[max(0, start - 1) : start]))
            at = brackets[partner].end
            number = partner + 1
    parts.append(text[at:])
    return "".join(parts)
