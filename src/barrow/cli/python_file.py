"""Recipes that are Python files."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TypeVar

import typer

from barrow import config
from barrow.errors import ConfigError, NotFound

Made = TypeVar("Made")


def made_by(path: Path, function: str, kind: type[Made]) -> Made:
    """Call a function of a Python file; its errors are reported with file and line."""
    if not path.is_file():
        raise NotFound(f"{path} does not exist")
    try:
        found = getattr(config.import_file(path), function, None)
        made = found() if callable(found) else None
    except Exception as error:
        raise ConfigError(f"{_place(path, error)}: {type(error).__name__}: {error}") from error
    if not isinstance(made, kind):
        raise typer.BadParameter(
            f"{path} has no function {function}() that returns a {kind.__name__}"
        )
    return made


def _place(path: Path, error: Exception) -> str:
    """The file, and its last line in the traceback."""
    file = str(path.resolve())
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{path}, line {error.lineno}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return f"{path}, line {lines[-1]}" if lines else str(path)
