from __future__ import annotations

from pathlib import Path

import pytest
import typer

from barrow.cli.python_file import made_by
from barrow.errors import ConfigError, NotFound


def test_what_the_function_returns(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def run():\n    return 'well'\n")
    assert made_by(file, "run", str) == "well"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def run():\n    return {}['width']\n", r"mine\.py, line 2: KeyError: 'width'$"),
        ("\n\n1 / 0\n", r"mine\.py, line 3: ZeroDivisionError: division by zero$"),
        ("import nowhere_at_all\n", r"mine\.py, line 1: ModuleNotFoundError: .*nowhere_at_all"),
        ("def run(:\n", r"mine\.py: SyntaxError: .*line 1"),
        ("def run(x):\n    return x\n", r"mine\.py: TypeError: run\(\) missing"),
        # The line of the file that led to it, not of the library that raised it.
        ("import json\n\njson.loads('{')\n", r"mine\.py, line 3: JSONDecodeError"),
    ],
)
def test_an_error_in_the_file_is_said_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(ConfigError, match=words) as error:
        made_by(file, "run", str)
    assert error.value.__cause__ is not None  # what --debug shows


@pytest.mark.parametrize("text", ["def run():\n    return 3\n", "run = 'well'\n", ""])
def test_something_else(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(typer.BadParameter, match=r"no function run\(\) that returns a str"):
        made_by(file, "run", str)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nowhere\.py does not exist"):
        made_by(tmp_path / "nowhere.py", "run", str)
