from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from barrow.cli.python_file import made_by
from barrow.errors import ConfigError, NotFound


def test_what_the_function_returns(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("NUM = 3\ndef run():\n    return NUM\n")
    assert made_by(tmp_path / "a.py", "run", int) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def run():\n    return 1 / 0\n", "a.py, line 2: ZeroDivisionError: division by zero"),
        ("import no_such_thing\n", "a.py, line 1: ModuleNotFoundError: No module named"),
        ("x = 1\ndef run(:\n", "a.py, line 2: SyntaxError"),
        ("def run():\n    int('x')\n\n\nrun()\n", "a.py, line 2: ValueError: invalid literal"),
        ("open('/no/such')\ndef run(): ...\n", "a.py, line 1: FileNotFoundError"),
        ("def run(x):\n    return x\n", r"a\.py: TypeError: run\(\) missing"),
        # The line of the file that led to it, not of the library that raised it.
        ("import json\n\njson.loads('{')\n", "a.py, line 3: JSONDecodeError"),
    ],
)
def test_what_it_raises_names_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.py").write_text(text)
    with pytest.raises(ConfigError, match=words) as error:
        made_by(tmp_path / "a.py", "run", int)
    assert error.value.__cause__ is not None  # what --debug shows


def test_verbs_tell_it_in_a_line(barrow: Callable, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def run():\n    raise KeyError('x')\nrecipe = run\n")
    for told in (
        barrow("train", file, "--store", "x", "--out", "y"),
        barrow("build", file, "--root", tmp_path, "--out", "y"),
    ):
        assert told.code == 1
        assert "a.py, line 2: KeyError: 'x'" in told.err
        assert "Traceback" not in told.err


def test_no_file_and_no_such_function(barrow: Callable, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere.py does not exist"):
        made_by(tmp_path / "nowhere.py", "run", int)
    (tmp_path / "a.py").write_text("recipe = 3\n")
    code, _, err = barrow("build", tmp_path / "a.py", "--root", tmp_path, "--out", "y")
    assert code == 2
    assert "has no function recipe() that returns a Recipe" in err
