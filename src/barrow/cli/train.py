"""`barrow train`: a recipe and a token store to a model."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.finetune import remember_programs
from barrow.cli.model.models import locate_model
from barrow.cli.options import Trust
from barrow.cli.python_file import made_by
from barrow.cli.terminal import warnings_in_words
from barrow.files import local_path

if TYPE_CHECKING:
    from barrow.train import Run

_INTERRUPTED = 130
# Settings that the data decide unless they are given.
_FITTED = ("model.vocab_size=", "model.text.vocab_size=")


def train(
    recipe: Annotated[
        str,
        typer.Argument(
            help="gpt2.tiny, gpt2.small, gpt2.medium, llama.tiny, llama.1b, roberta.tiny, "
            "roberta.distil, clip.tiny or clip.b32; a saved run.json; a .py file with a function "
            "run(); or the folder of a run, to go on with it.",
            show_default=False,
        ),
    ],
    assignments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="store=STORE|pairs=INDEX out=DIR [held_out=…] [init=MODEL] [KEY=VALUE]…",
            help="A token store (for CLIP an index of image–text pairs) to train on, another to "
            "evaluate with, where the run goes, a model to begin with (a run, a folder or a file), "
            "and changes to the recipe, such as steps=200 or optimizer.schedule.peak=1e-3.",
            show_default=False,
        ),
    ] = None,
    track: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Send the metrics there too: tensorboard, wandb, mlflow, or module:Name of your "
            "own (with --trust); may be repeated.",
        ),
    ] = None,
    trust: Trust = None,
) -> None:
    """Train a model, or go on with a run that was stopped."""
    from dataclasses import replace

    import jax

    from barrow import config
    from barrow.parallel.processes import open_peers
    from barrow.train import Interrupted, fit
    from barrow.train.start import initial_family
    from barrow.train.tasks.own_data import Batches
    from barrow.train.tasks.task import task_of
    from barrow.train.trackers import NAMES, make_tracker, terminal

    for name in track or ():
        if ":" not in name and name not in NAMES:
            raise typer.BadParameter(f"no tracker {name!r}: {', '.join(NAMES)}, or module:Name")
    kept = remember_programs()
    trusted = [*(trust or ()), *([recipe] if recipe.endswith(".py") else [])]
    with open_peers("run").watched() as others:
        described = load_run(recipe, trust=trusted)
        out, changes = _split(recipe, assignments or [])
        run = config.override(described, changes, trust=trusted)
        is_own = isinstance(run.data, Batches)
        if not (run.store or run.pairs or is_own):
            raise typer.BadParameter(
                "say what to train on: store=STORE, a token store, or for CLIP pairs=INDEX"
            )
        if run.init and not _is_saved(recipe):
            run = replace(run, init=str(locate_model(run.init)))
        is_fitted = _is_saved(recipe) or is_own or any(c.startswith(_FITTED) for c in changes)
        if not is_fitted:
            run = task_of(run).fitted()
        if run.init and not _is_saved(recipe) and not any(c.startswith("model.") for c in changes):
            run = replace(run, model=initial_family(run.init, trust=trusted))
        others_told = [make_tracker(name, out, trust=trusted) for name in track or ()]
        trackers = [terminal(sys.stderr), *others_told]
        others.agree("described", {})  # who failed here is not waited for in the run
    try:
        with warnings_in_words():
            fit(run, out, trackers=trackers)
    except Interrupted as stopped:
        typer.echo(str(stopped), err=True)
        raise typer.Exit(_INTERRUPTED) from None
    if jax.process_index() == 0:  # of several processes, one tells
        _print_end(run, out)
        typer.echo(f"Compiled programs are kept in {kept}", err=True)


def _split(recipe: str, assignments: list[str]) -> tuple[Path, list[str]]:
    """Where the run goes, and changes to the recipe; the folder of a run is its own place."""
    places = [a.removeprefix("out=") for a in assignments if a.startswith("out=")]
    if not any(places) and not Path(recipe).is_dir():
        raise typer.BadParameter("say where the run goes: out=DIR")
    changes = [a for a in assignments if not a.startswith("out=")]
    return local_path(places[-1] if places else recipe), changes


def _is_saved(recipe: str) -> bool:
    return recipe.endswith(".json") or Path(recipe).is_dir()


def load_run(name: str, *, trust: Collection[str] = ()) -> Run:
    """A run by its recipe's name, from a saved JSON file, a Python file, or the folder of a run.

    Of a saved one, `trust` says what code outside barrow may be imported (`config.from_dict`).
    """
    import importlib

    from barrow.errors import nearest
    from barrow.recipes import TRAINING
    from barrow.train import Run
    from barrow.train.run_folder import RunFolder, read_run

    if name.endswith(".json"):
        return read_run(Path(name), trust=trust)
    if name.endswith(".py"):
        return made_by(Path(name), "run", Run)
    if Path(name).is_dir():
        return RunFolder(Path(name)).read(trust=trust)
    known: dict[str, Any] = {}
    for part in TRAINING:
        runs = importlib.import_module(f"barrow.recipes.{part}").RUNS
        known |= {f"{part}.{size}": make for size, make in runs.items()}
    if name not in known:
        hint = nearest(name, known)
        raise typer.BadParameter(f"there is no folder and no recipe {name!r}; {hint}")
    made = known[name]()
    assert isinstance(made, Run)
    return made


def _print_end(run: Run, out: Path) -> None:
    """The last losses beside what knowing nothing but frequencies would give."""
    import math

    from barrow.train.run_folder import RunFolder
    from barrow.train.tasks.task import opened, task_of
    from barrow.train.trackers import read_log

    logged = read_log(RunFolder(out).log)
    named = (("held_out_loss", "held-out loss"), ("loss", "loss of the last step"))
    key, words = named[0] if any(named[0][0] in line for line in logged) else named[1]
    task = task_of(run)
    # A run that was over already has no line if its log was lost.
    for loss in [line[key] for line in logged if key in line][-1:]:
        bits = f" ({loss / math.log(2):.4f} bits)" if task.measure.startswith("nats") else ""
        typer.echo(f"{words}: {loss:.4f} {task.measure}{bits}")
    data, held_out = opened(task)
    # Among fewer pairs a guess is easier, and a held-out index may have fewer than a batch.
    is_held_out = key == "held_out_loss" and task.unit == "pair"
    baseline = (held_out if held_out is not None and is_held_out else data).baseline()
    if baseline:
        typer.echo(baseline)
    typer.echo(f"Next: {run.model.usage.format(run=out)}   ·   barrow explain {out} --step 0")
