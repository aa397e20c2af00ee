r"""A formula with nothing to expand is copied in one piece, as if it were read by tokens."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barrow.corpus.text.latex.definitions import Definitions, Macro
from barrow.corpus.text.latex.mathematics import _copy, _read, read_mathematics
from barrow.corpus.text.latex.source import Source
from barrow.corpus.text.latex.tokens import group_end
from barrow.corpus.text.whitespace import tidy

_CLOSERS = {"$": "$", "$$": "$$", ")": "\\)", "]": "\\]", "equation": "\\end{equation}"}
_PIECES = [
    *("x", " ", "\n", "\n\n", "{", "}", "{a}", "$", "\\$", "\\\\", "\\{", "\\}", "\\]", "\\)", "&"),
    *("~", "#", "é", "^2", "_", "\\alpha", "\\alpha ", "\\frac", "\\text", "\\R", "\\x", "\\norm"),
    *(
        "\\iff",
        "\\ifx",
        "\\fi",
        "\\label",
        "\\color",
        "\\section",
        "\\begin{cases}",
        "\\end{cases}",
    ),
    *("\\begin{equation}", "\\end{equation}", "\\begin {array}", "\\let", "@", "\\alpha@", "\\"),
]


def _source(text: str) -> Source:
    definitions = Definitions()
    macros = {"R": Macro("\\mathbb{R}"), "x": Macro("x"), "norm": Macro("\\|#1\\|", ("",))}
    definitions.macros |= macros
    return Source(text, lambda _: None, definitions, len(text))


@example("\\ifx xy a", "$")
@given(st.lists(st.sampled_from(_PIECES), max_size=14).map("".join), st.sampled_from([*_CLOSERS]))
def test_a_formula_is_copied_as_it_is_read(formula: str, closer: str) -> None:
    """PILE-4."""
    text = formula + _CLOSERS[closer] + " and text"
    copying, reading = _source(text), _source(text)
    copied = _copy(copying, closer)
    if copied is not None:
        read, is_closed = _read(reading, closer, is_display=len(closer) > 1)
        assert (copied, True) == (read, is_closed)
        assert copying.frames[-1].position == reading.frames[-1].position


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        ("a_{n} \\frac{1}{2}", "a_{n} \\frac{1}{2}"),
        ("\\alpha\\x + \\frac\\x 2", "\\alpha x+ \\frac x2"),
        ("\\norm{\\R} \\le {\\norm x}", "\\|\\mathbb{R}\\| \\le {\\|x\\|}"),
        ("a} + {b}", "a + {b}"),
        ("\\alphaé \\textß", "\\alpha é \\text ß"),
        ("\\text{if $a$ then \\R}", "\\text{if $a$ then \\mathbb{R}}"),
        ("a \\color{red} b \\label{x}", "a  b \\label{x}"),
        ("{a{b{c{d{e{f{\\R}}}}}}}", "{a{b{c{d{e{f{\\mathbb{R}}}}}}}}"),
    ],
)
def test_what_is_expanded_or_dropped_in_a_formula(formula: str, read: str) -> None:
    assert read_mathematics(_source(formula + "$ c"), "$", is_display=False) == (read, True)


@given(st.text("{}\\a", max_size=30))
def test_the_end_of_a_group(text: str) -> None:
    text, depth, expected, is_escaped = "{" + text, 0, -1, False
    for place, sign in enumerate(text):
        depth += 0 if is_escaped else (sign == "{") - (sign == "}")
        is_escaped = not is_escaped and sign == "\\"
        if not depth:
            expected = place + 1
            break
    assert group_end(text, 0) == expected


def test_blanks_at_the_ends_of_lines() -> None:
    assert tidy("a \t\u2003\n\u3000\n b\xa0") == "a\n\n b"
