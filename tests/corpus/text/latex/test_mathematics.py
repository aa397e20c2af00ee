r"""A formula with nothing to expand is copied in one piece, as if it were read by tokens."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barrow.corpus.text.latex.definitions import Definitions, Macro
from barrow.corpus.text.latex.mathematics import _read, _tidy, read_mathematics
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
    *("\\switch", "\\lines", "\\until"),
]


def _source(text: str) -> Source:
    definitions = Definitions()
    macros = {"R": Macro("\\mathbb{R}"), "x": Macro("x"), "norm": Macro("\\|#1\\|", ("",))}
    macros |= {"switch": Macro("1\\def\\switch{2}"), "lines": Macro("a\n\nb")}
    macros |= {"until": Macro("(#1)", ("$",))}
    definitions.macros |= macros
    return Source(text, lambda _: None, definitions, len(text))


@example("\\ifx xy a", "$")
@example("\\let\\R=\\x \\R", "$")
@example("\\switch", "$")
@example("\\lines", "$$")
@given(st.lists(st.sampled_from(_PIECES), max_size=14).map("".join), st.sampled_from([*_CLOSERS]))
def test_a_formula_is_copied_as_it_is_read(formula: str, closer: str) -> None:
    """PILE-4: also the second time, when what it expands to is known."""
    text = formula + _CLOSERS[closer] + " and text"
    ours, theirs = _source(text).definitions, _source(text).definitions
    for _ in range(3):
        copying = Source(text, lambda _: None, ours, len(text))
        reading = Source(text, lambda _: None, theirs, len(text))
        reading.in_math = True
        copied = read_mathematics(copying, closer, is_display=len(closer) > 1)
        read, is_closed = _read(reading, closer, is_display=len(closer) > 1)
        assert copied == (_tidy(read), is_closed)
        assert [(f.text, f.position) for f in copying.frames] == [
            (f.text, f.position) for f in reading.frames
        ]


def test_formulas_are_expanded_again_after_a_definition() -> None:
    """PILE-4."""
    source = _source("\\R+1$\\R+1$\\renewcommand\\R{Q}|\\R+1$\\R+1$$")
    found = [read_mathematics(source, "$", is_display=False)[0] for _ in range(2)]
    source.next()
    found += [read_mathematics(source, "$", is_display=False)[0] for _ in range(2)]
    assert found == ["\\mathbb{R}+1", "\\mathbb{R}+1", "Q+1", "Q+1"]


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
