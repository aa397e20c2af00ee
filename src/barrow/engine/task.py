"""A stage is one kind of work on files; a task is one piece of it.

A stage is one file: its settings (a frozen dataclass), the files it reads (a frozen dataclass of
`File`, or a tuple of them), the files it writes (an `Outputs`), and one function::

    @dataclass(frozen=True)
    class Settings:
        min_words: int

    @dataclass(frozen=True)
    class Inputs:
        documents: File
        removals: tuple[File, ...]

    class Seeds(Outputs):
        hashes = Output("hashes.safetensors")

    def find_seeds(settings: Settings, inputs: Inputs, out: Seeds) -> None: ...

    SEEDS = Stage("corpus.seeds", 1, find_seeds, Seeds)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from barrow import config


@dataclass(frozen=True)
class File:
    """A file or folder that a task reads: its path or URL, and a name of its content (its hash, or
    the task that wrote it and its name there).
    """

    location: str | Path
    key: str

    @property
    def path(self) -> Path:
        """Where it is on this machine."""
        return Path(self.location)

    def __fspath__(self) -> str:
        return str(self.location)


@dataclass(frozen=True)
class Outputs:
    """The folder that a task writes; subclasses name the files in it, each an `Output`.

    `threads` is how many the task may use: more than one where workers would have nothing to do.
    """

    folder: Path
    key: str
    threads: int = 1

    def file(self, name: str) -> File:
        """The file of that name."""
        return File(self.folder / name, f"{self.key}/{name}")

    @classmethod
    def temporary(cls) -> list[str]:
        """The names of the files that are removed once the result of all stages is published."""
        found = (value for kind in cls.__mro__ for value in vars(kind).values())
        return [value.name for value in found if isinstance(value, Output) and value.temporary]


class Output:
    """The name of a file among `Outputs`; of an instance, the file.

    A `temporary` file is an input of other tasks and nothing else reads it: it may be removed, and
    is written again when a task needs it.
    """

    def __init__(self, name: str, *, temporary: bool = False) -> None:
        self.name = name
        self.temporary = temporary

    def __get__(self, outputs: Outputs, _: type[Outputs]) -> File:
        return outputs.file(self.name)


Settings = TypeVar("Settings")
Inputs = TypeVar("Inputs")
Out = TypeVar("Out", bound=Outputs, covariant=True)


@dataclass(frozen=True)
class Stage(Generic[Settings, Inputs, Out]):
    """``function(settings, inputs, out)`` writes the files of `out`, and nothing else.

    The output depends on the arguments alone. `name` and `version` are part of the task key: raise
    the version when the output changes for the same arguments, and never change the name, even if
    the function moves.
    """

    name: str
    version: int
    function: Callable[[Settings, Inputs, Any], None]
    outputs: type[Out]

    def task(self, label: str, settings: Settings, inputs: Inputs, *, size: int = 1) -> Task[Out]:
        """A task; `label` and `size` (its weight) are for the progress display."""
        return Task(label, self, settings, inputs, size)


@dataclass(frozen=True)
class Task(Generic[Out]):
    """A stage with its settings and inputs; its output does not depend on `threads`."""

    label: str
    stage: Stage[Any, Any, Out]
    settings: Any = None
    inputs: Any = None
    size: int = 1
    threads: int = 1

    @cached_property
    def key(self) -> str:
        """The name of its output: a hash of all it depends on, without machine paths."""
        identity = [
            self.stage.name,
            self.stage.version,
            config.identity(self.settings),
            _contents(self.inputs),
        ]
        canonical = json.dumps(identity, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:32]

    def perform(self, folder: Path) -> None:
        """Write the files into a folder."""
        out = self.stage.outputs(folder, self.key, self.threads)
        self.stage.function(self.settings, self.inputs, out)


def files_in(inputs: Any) -> Iterator[File]:
    """All files among the inputs of a task."""
    if isinstance(inputs, File):
        yield inputs
    elif isinstance(inputs, tuple):
        for one in inputs:
            yield from files_in(one)
    elif inputs is not None:
        for field in fields(inputs):
            yield from files_in(getattr(inputs, field.name))


def _contents(inputs: Any) -> Any:
    """Inputs with content names in place of files."""
    if isinstance(inputs, File):
        return inputs.key
    if isinstance(inputs, tuple):
        return [_contents(one) for one in inputs]
    if inputs is None:
        return None
    return {field.name: _contents(getattr(inputs, field.name)) for field in fields(inputs)}
