"""SPDX licence expressions: MIT OR (GPL-2.0 WITH Classpath-exception-2.0 AND Apache-2.0)."""

from __future__ import annotations

import re
from collections.abc import Callable

_PART = re.compile(r"[()]|[^\s()]+")
_BINDING = {"or": 1, "and": 2}
# A longer expression is taken as one name.
_MAX_SIZE = 10_000


def expression_holds(expression: str, is_allowed: Callable[[str], bool]) -> bool:
    """Whether a licence expression can be satisfied with names that are allowed.

    Of a choice (OR) one must be, of several that apply (AND) each; AND binds more tightly. A
    licence with an exception is one name, ``A WITH B``. Anything else is one name as written. Names
    are in lower case.
    """
    whole = " ".join(expression.lower().split())
    if len(whole) <= _MAX_SIZE:
        result = _evaluate(_PART.findall(whole), is_allowed)
        if result is not None:
            return result
    return is_allowed(whole)


def is_expression(text: str) -> bool:
    """Whether names are put together as an expression."""
    parts = _PART.findall(text.lower())
    return len(text) <= _MAX_SIZE and _evaluate(parts, lambda _: True) is not None


def _evaluate(parts: list[str], is_allowed: Callable[[str], bool]) -> bool | None:
    """The value of an expression, with two stacks; None if it is invalid."""
    values: list[bool] = []
    operators: list[str] = []
    at = 0
    wants_name = True
    while at < len(parts):
        part = parts[at]
        at += 1
        if part == "(" and wants_name:
            operators.append(part)
        elif part == ")" and not wants_name:
            while operators and operators[-1] != "(":
                _apply(operators.pop(), values)
            if not operators:
                return None
            operators.pop()
        elif part in _BINDING and not wants_name:
            while operators and _BINDING.get(operators[-1], 0) >= _BINDING[part]:
                _apply(operators.pop(), values)
            operators.append(part)
            wants_name = True
        elif wants_name and part not in (*_BINDING, "with", ")"):
            name = part
            if parts[at : at + 1] == ["with"] and at + 1 < len(parts):
                name = f"{part} with {parts[at + 1]}"
                at += 2
            values.append(is_allowed(name))
            wants_name = False
        else:
            return None
    if wants_name or "(" in operators:
        return None
    while operators:
        _apply(operators.pop(), values)
    return values[0]


def _apply(operator: str, values: list[bool]) -> None:
    second, first = values.pop(), values.pop()
    values.append((first or second) if operator == "or" else (first and second))
