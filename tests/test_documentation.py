"""Pages say what is there: links, names in Python, verbs and options on the command line."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from barrow.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("", "docs/**/", "benchmarks/results/")
    for path in ROOT.glob(f"{folder}*.md")
)


def blocks(page: str, *kinds: str) -> list[str]:
    """What stands between fences of some kinds."""
    text = (ROOT / page).read_text()
    return [code for kind, code in re.findall(r"```(\w*)\n(.*?)```", text, re.S) if kind in kinds]


@cache
def anchors(path: Path) -> set[str]:
    """What the headings of a page are called in links, as GitHub makes it of them."""
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.strip()).lower() for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES)
def test_links(page: str) -> None:
    path = ROOT / page
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        goal = path.parent / file if file else path
        assert goal.exists(), link
        assert not anchor or anchor in anchors(goal.resolve()), link


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_python(page: str) -> None:
    """Every block can be parsed, and what it imports from barrow is there."""
    for code in blocks(page, "python"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("barrow"):
                module = importlib.import_module(str(node.module))
                for name in (alias.name for alias in node.names if alias.name != "*"):
                    found = hasattr(module, name)
                    assert found or importlib.import_module(f"{module.__name__}.{name}")
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.startswith("barrow"):
                        importlib.import_module(alias.name)


def calls(page: str) -> Iterator[list[str]]:
    """The arguments of every call of barrow in a page's blocks for a shell."""
    for block in blocks(page, "sh", "console", "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|;|\s\|\s", line.removeprefix("$ ")):
                if not re.match(r"\s*(?:[A-Z_]+=\S+\s+)*barrow ", part):
                    continue
                words = shlex.split(part, comments=True)
                words = words[words.index("barrow") + 1 :]
                if words[:1] == ["launch"]:  # after its options, each with a value, is another call
                    own = next(n for n in range(1, len(words), 2) if not words[n].startswith("-"))
                    yield words[:own]
                    words = [] if words[own].endswith(".py") else words[own:]
                yield words


@pytest.mark.parametrize("page", [page for page in PAGES if any(calls(page))])
def test_commands(page: str) -> None:
    """Every verb and every option exists."""
    for given in calls(page):
        command: Any = typer.main.get_command(app)
        words = list(given)
        while words and hasattr(command, "commands") and not words[0].startswith("-"):
            assert words[0] in command.commands, given
            command = command.commands[words.pop(0)]
        known = {
            option for param in command.params for option in (*param.opts, *param.secondary_opts)
        }
        for word in words:
            if re.match(r"--?[a-zA-Z]", word):
                assert word.partition("=")[0] in known | {"--help", "-h"}, given


@pytest.mark.parametrize("path", sorted((ROOT / "tests/outside").glob("mystuff/[!_]*.py")))
def test_extending_shows_the_package_that_is_tested(path: Path) -> None:
    """A file of it has a section of its own, and is small."""
    text = path.read_text()
    assert f"```python\n{text}```" in (ROOT / "docs/extending.md").read_text()
    assert len(text.splitlines()) <= (80 if path.name == "model.py" else 30)


def test_extending_shows_the_recipe_that_is_tested() -> None:
    text = (ROOT / "tests/outside/corpus_recipe.py").read_text()
    assert f"```python\n{text}```" in (ROOT / "docs/extending.md").read_text()
