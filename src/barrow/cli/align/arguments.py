"""Arguments of the verbs of alignment, and what they have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.finetune import remember_programs
from barrow.cli.model.models import locate_model
from barrow.cli.options import changes, print_keys
from barrow.files import local_path

if TYPE_CHECKING:
    from barrow.train import Run

_INTERRUPTED = 130
# Settings that are arguments.
_ARGUMENTS = {"data.path": "DATA"}
# Short names of settings.
_SHORT = {"loss": "objective.loss", "algorithm": "objective.algorithm"}

Init = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="Where it starts: a run, a Hugging Face folder, PEFT's adapters, a .gguf file.",
        show_default=False,
    ),
]
DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A .jsonl or .parquet file, or an archive.", show_default=False
    ),
]
Out = Annotated[
    str,
    typer.Option(
        metavar="RUN",
        help="The folder of the run; a run that was stopped there is resumed.",
        show_default=False,
    ),
]
Validation = Annotated[
    str, typer.Option(metavar="FILE", help="Validation data.", show_default=False)
]


Corpus = Annotated[
    str,
    typer.Option(
        metavar="CORPUS",
        help="Validation documents: what the run cost in bits per byte, by domain, at its end.",
        show_default=False,
    ),
]


def overridden(settings: Any, given: list[str] | None, trust: list[str] | None) -> Any:
    """Settings with a device's usual precision, and with changes."""
    from dataclasses import replace

    from barrow import config
    from barrow.train import StepSettings, default_precision

    settings = replace(settings, step=StepSettings(precision=default_precision()))
    long = []
    for one in changes(given, **_ARGUMENTS):
        key, sign, value = one.partition("=")
        long.append(f"{_SHORT.get(key, key)}{sign}{value}")
    return config.override(settings, long, trust=trust or ())


def show_keys(settings: Any) -> None:
    """Print the keys of settings."""
    from barrow import config

    print_keys(config.describe(settings), besides=_ARGUMENTS)


def train(
    make: Callable[[str], Run],
    init: str,
    out: str,
    *,
    summary: Callable[[Run], list[str]],
    corpus: str = "",
) -> None:
    """Make a run and train it; say what was read, and what to type next."""
    from barrow.align.finish import finish
    from barrow.train import Interrupted, fit
    from barrow.train.trackers import terminal

    if not out:
        raise typer.BadParameter("pass --out RUN")
    folder = local_path(out)
    remember_programs()
    place = locate_model(init)
    run = make(str(Path(place).resolve()) if Path(place).exists() else str(place))
    for line in summary(run):
        typer.echo(line, err=True)
    try:
        fit(run, folder, trackers=[terminal(sys.stderr)])
    except Interrupted as stopped:
        typer.echo(str(stopped), err=True)
        raise typer.Exit(_INTERRUPTED) from None
    for line in finish(run, folder, corpus=corpus):
        typer.echo(line)
