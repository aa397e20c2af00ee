"""Words that cost a reader a second look stay out of errors, help texts, docstrings and names."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import barrow

SOURCE = Path(barrow.__file__).parent
# Instead: repair; reported; must be …, got …; is not a …; sharded; resume; is in; after; placed.
BAD = re.compile(
    r"\b(mend(s|ed|ing)?|told|unlike|(?<!there )(?-i:is none)|parted|go(es|ing) on|lies|stands"
    r"|behind|laid|anew|whereof|held[ _-]out|SPEC [A-Z]+-\d+)\b",
    re.IGNORECASE,
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def shown(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines and strings of what is raised, of every ``help=``, and of docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            whole: ast.AST = node.exc
        elif isinstance(node, ast.keyword) and node.arg == "help":
            whole = node.value
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            whole = node.body[0]
        else:
            continue
        for inner in ast.walk(whole):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                yield inner.lineno, inner.value


def written(text: str) -> Iterator[tuple[int, str]]:
    """Lines and strings of names and comments."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NAME, tokenize.COMMENT):
            yield token.start[0], token.string


def bad(path: Path) -> list[str]:
    text = path.read_text()
    if not BAD.search(text.replace("_", " ")):
        return []
    strings = sorted([*shown(ast.parse(text)), *written(text)])
    found = [(line, string) for line, string in strings if BAD.search(string.replace("_", " "))]
    return [f"{path}:{line}: {string}" for line, string in found]


def test_what_users_and_readers_see() -> None:
    names = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    assert len(names) > 500
    found = [line for name in sorted(names) for line in bad(names[name])]
    assert not found, "\n".join(found)


def test_what_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text('"""It lies."""\nraise ValueError(f"a, unlike {b}")\nf(help="Goes\\n on.")\n')
    assert bad(path) == [f"{path}:1: It lies.", f"{path}:2: a, unlike "]
    path.write_text('raise E("stands" if a else b) from None\noption(help="What is mended.")\n')
    assert bad(path) == [f"{path}:1: stands", f"{path}:2: What is mended."]
    path.write_text('told = "it lies"  # behind\nis_parted = {"stands"}\n')
    assert bad(path) == [f"{path}:{w}" for w in ("1: # behind", "1: told", "2: is_parted")]
