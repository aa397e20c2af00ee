"""Licence expressions, against Python's own Boolean expressions (PILE-5)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.licences.expressions import expression_holds

ALLOWED = {"mit", "apache-2.0", "gpl-2.0 with classpath-exception-2.0"}


def holds(expression: str) -> bool:
    return expression_holds(expression, ALLOWED.__contains__)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("gpl-3.0", False),
        ("MIT OR GPL-3.0", True),
        ("MIT AND GPL-3.0", False),
        ("GPL-3.0 OR MIT AND Apache-2.0", True),
        ("MIT OR GPL-3.0 AND GPL-2.0", True),
        ("(MIT OR GPL-3.0) AND GPL-2.0", False),
        ("((MIT))", True),
        ("GPL-2.0 WITH Classpath-exception-2.0", True),
        ("GPL-2.0 with  Classpath-exception-2.0 and MIT", True),
        ("GPL-2.0", False),
        # What is no expression is one name.
        ("MIT License", False),
        ("MIT AND", False),
        ("(MIT", False),
        ("MIT)", False),
        ("()", False),
        ("OR MIT", False),
        ("MIT WITH", False),
        ("", False),
        ("(" * 50_000 + "MIT" + ")" * 50_000, False),
    ],
)
def test_examples(expression: str, expected: bool) -> None:
    assert holds(expression) is expected


def test_deep_brackets_do_not_recurse() -> None:
    assert holds("(" * 4000 + "MIT" + ")" * 4000)


def test_what_is_no_expression_is_asked_for_as_it_stands() -> None:
    asked: list[str] = []
    expression_holds("See  the\nWebsite", lambda name: bool(asked.append(name)))
    assert asked[-1] == "see the website"


EXPRESSIONS = st.recursive(
    st.sampled_from(["MIT", "X"]),
    lambda inner: st.builds(
        lambda a, word, b, brackets: f"({a} {word} {b})" if brackets else f"{a} {word} {b}",
        inner, st.sampled_from(["AND", "OR", "and", "or"]), inner, st.booleans(),
    ),
    max_leaves=12,
)  # fmt: skip


@given(EXPRESSIONS)
def test_any_expression_is_evaluated_as_python_would(expression: str) -> None:
    python = re.sub("X", "False", re.sub("MIT", "True", expression))
    assert holds(expression) is eval(python.replace("AND", "and").replace("OR", "or"))


@given(st.text("MITX ()ANDOR with", max_size=40))
def test_any_text_has_an_answer(text: str) -> None:
    assert holds(text) in (True, False)
