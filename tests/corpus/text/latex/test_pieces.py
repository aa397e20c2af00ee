"""What converting LaTeX is made of: tokens, arguments, macros, accents, blocks."""

from __future__ import annotations

import pytest

from barrow.corpus.text.latex.commands import DROPPED, ENVIRONMENT_ARGUMENTS, STRUCTURE, TABLES
from barrow.corpus.text.latex.definitions import (
    Allowance,
    Definitions,
    TooMuchExpansion,
    filled,
    parameters,
)
from barrow.corpus.text.latex.output import (
    CELL,
    ITEM,
    ROW,
    Output,
    list_block,
    quote_block,
    table_block,
)
from barrow.corpus.text.latex.source import Source
from barrow.corpus.text.latex.symbols import accented, typeset
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


def source(text: str) -> Source:
    return Source(text, {"f": "F"}.get, Definitions(), len(text))


def test_arguments() -> None:
    stream = source(r" {a{b}} [c{]}] \d x {open")
    assert stream.argument() == "a{b}"
    assert stream.option() == "c{]}"
    assert stream.option() is None
    assert [stream.argument() for _ in range(4)] == [r"\d", "x", "", "o"]


def test_tokens_come_from_macros_and_files() -> None:
    stream = source(r"\def\a{b}\a\input{f}c")
    values = []
    while token := stream.next():
        values.append(token[1])
    assert values == ["b", "F", "c"]


def test_filled() -> None:
    assert filled(r"a#1b#2##", ["x", "y"]) == "axby#"
    assert filled(r"\foo#1", ["x"]) == r"\foo x"
    assert filled("#3", ["x"]) == ""


def test_parameters() -> None:
    assert parameters("#1#2") == ("", ("", ""))
    assert parameters(r"[#1]:#2\end") == ("[", ("]:", r"\end"))
    assert parameters("") == ("", ())


def test_allowance() -> None:
    allowance = Allowance(100)
    allowance.spend(50)
    with pytest.raises(TooMuchExpansion):
        allowance.spend(50)


def test_arguments_are_spelt_rightly() -> None:
    for spec in [*DROPPED.values(), *ENVIRONMENT_ARGUMENTS.values(), *TABLES.values()]:
        assert set(spec) <= set("*omp")
    assert "section" in STRUCTURE


@pytest.mark.parametrize(
    ("accent", "letters", "expected"),
    [("'", "e", "é"), ('"', "o", "ö"), ("c", "c", "ç"), ("`", "\\i", "ì"), ("H", "o", "ő"),
     ("v", "s", "š"), ("~", "", "~"), ("=", "ab", "āb")],
)  # fmt: skip
def test_accents(accent: str, letters: str, expected: str) -> None:
    assert accented(accent, letters) == expected


def test_typeset() -> None:
    assert typeset("``a'' -- b---c `d'") == "\"a\" – b—c 'd'"


def test_lists() -> None:
    assert list_block(f"{ITEM} a\n\n{ITEM}b ", "-") == "- a\n- b"
    assert list_block(f"{ITEM}a\n\nc{ITEM}b", "1.") == "1. a\n\n   c\n\n2. b"
    assert list_block(f"before {ITEM}a", "-") == "before\n\n- a"


def test_quotes() -> None:
    assert quote_block("a\n\nb\n") == "> a\n>\n> b"


def test_tables() -> None:
    assert table_block(f"a{CELL} b\n{ROW}{ROW}c{CELL}d{ROW}") == "| a | b |\n|---|---|\n| c | d |"
    assert table_block(f"a{ROW}b") == "a\n\nb"
    assert table_block(ROW) == ""


def test_blanks_and_code() -> None:
    output = Output()
    for text in ("  a ", " b", "\n"):
        output.text(text)
    output.code_block("\tx\n\n\ny ")
    output.text(" c")
    assert output.finished() == "a b\n\n```\n    x\n\n\ny\n```\n\nc"
