from __future__ import annotations

import pytest

from barrow.corpus.text.latex.tokens import TOKEN, after_blanks, group_end, without_comments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a % b\n  c", "a c"),
        ("a\n% b\nc", "a\nc"),
        ("a %b\n\nc", "a \n\nc"),
        (r"100\% sure % no", r"100\% sure "),
        (r"a \\% no", r"a \\"),
        (
            "\\begin{verbatim}\n% kept\n\\end{verbatim}% no",
            "\\begin{verbatim}\n% kept\n\\end{verbatim}",
        ),
        (r"\verb|%| b % no", r"\verb|%| b "),
        (r"\url{http://x/a%20b} % no", r"\url{http://x/a%20b} "),
        (r"\begin{verbatim} % no end", r"\begin{verbatim} "),
    ],
)
def test_comments(text: str, expected: str) -> None:
    assert without_comments(text) == expected


def test_tokens() -> None:
    text = "\\emph  {a b}\n\n$x$ \\% \\foo\nbar"
    found = [(m.lastindex, m[m.lastindex or 0]) for m in TOKEN.finditer(text)]
    assert found == [
        *((1, "emph"), (5, "{"), (3, "a b"), (5, "}"), (4, "\n\n"), (5, "$"), (3, "x"), (5, "$")),
        *((3, " "), (2, "%"), (3, " "), (1, "foo"), (3, "bar")),
    ]


def test_group_end() -> None:
    assert group_end("x{a{b}\\}c}d", 1) == 10
    assert group_end("{a", 0) == -1
    assert after_blanks("a \n b", 1) == 4
