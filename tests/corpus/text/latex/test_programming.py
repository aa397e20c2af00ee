from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"\makeatletter\def\a{\@ifnextchar[{yes}{no}}\a[ \a x", "yes[ nox"),
        (r"\makeatletter\def\a{\@ifstar{s}{n}}\a* \a x", "s nx"),
        (r"\def\foo{x}\csname foo\endcsname", "x"),
        (r"\ifdef{\foo}{a}{b}", "b"),
        (r"\ifthenelse{\equal{a}{b}}{x}{y}", "y"),
        (r"$\mathchoice{a}{b}{c}{d}$", "$b$"),
        (r"\ifstrempty{}{a}{b}", "a"),
        (r"{\bgroup a\egroup} b", "a b"),
        (r"a\endinput b", "a"),
        (r"\input{gone} a", "a"),
    ],
)
def test_what_is_read_next(markdown: Callable[..., str], body: str, expected: str) -> None:
    assert markdown(body) == expected
