"""Words that cost a reader a second look stay out of errors and help texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import barrow

SOURCE = Path(barrow.__file__).parent
# Instead: repair; reported; must be …, got …; is not a …; separate; resume; is in; is at.
BAD = re.compile(
    r"\b(mend(s|ed|ing)?|told|unlike|(?<!there )is none|parted|go(es|ing) on|lies|stands)\b",
    re.IGNORECASE,
)


def shown(tree: ast.Module) -> Iterator[ast.Constant]:
    """The strings of what is raised and of every ``help=``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            whole: ast.AST = node.exc
        elif isinstance(node, ast.keyword) and node.arg == "help":
            whole = node.value
        else:
            continue
        for inner in ast.walk(whole):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                yield inner


def bad(path: Path) -> list[str]:
    text = path.read_text()
    strings = shown(ast.parse(text)) if BAD.search(text) else ()
    return [f"{path}:{s.lineno}: {s.value}" for s in strings if BAD.search(str(s.value))]


def test_strings_that_users_read() -> None:
    names = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    assert len(names) > 500
    found = [line for name in sorted(names) for line in bad(names[name])]
    assert not found, "\n".join(found)


def test_what_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text('"""It lies."""\nraise ValueError(f"a, unlike {b}")\nf(help="Goes\\n on.")\n')
    assert bad(path) == [f"{path}:2: a, unlike "]
    path.write_text('raise E("stands" if a else b) from None\noption(help="What is mended.")\n')
    assert bad(path) == [f"{path}:1: stands", f"{path}:2: What is mended."]
