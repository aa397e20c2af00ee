"""Settings that a Python file makes."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TypeVar

import typer

from barrow.errors import ConfigError, NotFound

Settings = TypeVar("Settings")


def made_by(path: Path, name: str, kind: type[Settings]) -> Settings:
    """What the function `name` of a file returns; an error in the file is said with its place."""
    import runpy

    if not path.is_file():
        raise NotFound(f"{path} does not exist")
    try:
        function = runpy.run_path(str(path)).get(name)
        made = function() if callable(function) else None
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        where = f"{path}, line {lines[-1]}" if lines else str(path)
        raise ConfigError(f"{where}: {type(error).__name__}: {error}") from error
    if not isinstance(made, kind):
        raise typer.BadParameter(f"{path} has no function {name}() that returns a {kind.__name__}")
    return made
