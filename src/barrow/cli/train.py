"""`barrow train`: a recipe and a token store to a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.finetune import remember_programs
from barrow.cli.model.models import locate_model
from barrow.cli.options import Overrides, Show, Trust, changes, print_keys
from barrow.cli.python_file import made_by
from barrow.files import local_path

if TYPE_CHECKING:
    from barrow.parallel.processes import Peers
    from barrow.train import Run

_INTERRUPTED = 130
# Settings that are options.
_OPTIONS = {"store": "store", "pairs": "pairs", "validation": "validation", "init": "init"}
_OPTIONS |= {"tokenizer": "tokenizer", "out": "out"}
# Settings that the data decide unless they are given.
_FITTED = ("model.vocab_size=", "model.text.vocab_size=")


def train(
    recipe: Annotated[
        str,
        typer.Argument(
            help="gpt2.tiny, gpt2.small, gpt2.medium, llama.tiny, llama.1b, roberta.tiny, "
            "roberta.distil, clip.tiny or clip.b32; a saved run.json; a .py file with a function "
            "run(); or the folder of a run, to resume it.",
            show_default=False,
        ),
    ],
    overrides: Overrides = None,
    store: Annotated[
        str | None, typer.Option(help="The token store to train on.", show_default=False)
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(help="For CLIP: the index of image–text pairs.", show_default=False),
    ] = None,
    validation: Annotated[
        str | None, typer.Option(help="The store, or index, to evaluate with.", show_default=False)
    ] = None,
    init: Annotated[
        str | None,
        typer.Option(
            help="The model to begin with: a run, a folder or a file.", show_default=False
        ),
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="Of the texts of pairs; a store has its own.")
    ] = None,
    mixture: Annotated[
        Path | None,
        typer.Option(
            help="Weights of domains: the folder of a mixture search, or a mixture.json.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder of the run; not needed to resume one.", show_default=False),
    ] = None,
    track: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Send the metrics there too: tensorboard, wandb, mlflow, or module:Name of your "
            "own (with --trust); may be repeated.",
        ),
    ] = None,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile",
            help="Profile some steps: profile.html and profile.json in the run's folder say where "
            "time and memory go.",
        ),
    ] = False,
    profile_steps: Annotated[
        int | None,
        typer.Option(help="With --profile: so many steps.", show_default="5"),
    ] = None,
    autotune: Annotated[
        bool,
        typer.Option(help="Measure the best plans for the devices, and keep the fastest."),
    ] = False,
    trust: Trust = None,
    show: Show = False,
) -> None:
    """Train a model, or resume a run that was stopped; --show lists every KEY of KEY=VALUE."""
    from dataclasses import replace

    import jax

    from barrow import config
    from barrow.errors import ConfigError
    from barrow.launch import join
    from barrow.parallel.processes import open_peers
    from barrow.plan import advice
    from barrow.plan.worker import OUT_OF_MEMORY
    from barrow.train import Interrupted, fit
    from barrow.train.profile import Profile
    from barrow.train.program import mesh_of, pipeline_of
    from barrow.train.start import initial_family
    from barrow.train.tasks.own_data import Batches
    from barrow.train.tasks.task import task_of
    from barrow.train.trackers import NAMES, make_tracker, terminal

    for name in track or ():
        if ":" not in name and name not in NAMES:
            raise typer.BadParameter(f"no tracker {name!r}: {', '.join(NAMES)}, or module:Name")
    if profile_steps is not None and not profile:
        raise typer.BadParameter("pass --profile with --profile-steps")
    profiled = Profile(steps=5 if profile_steps is None else profile_steps) if profile else None
    if autotune:  # leave memory of the devices to the processes that measure
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    join()
    kept = remember_programs()
    trusted = [*(trust or ()), *([recipe] if recipe.endswith(".py") else [])]
    with open_peers("run").watched() as others:
        described = load_run(recipe, trust=trusted)
        changed = changes(overrides, **{name: f"--{option}" for name, option in _OPTIONS.items()})
        if show:
            shown = config.override(described, changed, trust=trusted)
            print_keys(config.describe(shown), besides=_OPTIONS)
            return
        if out is None and not Path(recipe).is_dir():
            raise typer.BadParameter("pass --out DIR: where the run goes")
        folder = local_path(recipe if out is None else out)
        given = (store, pairs, validation, init, tokenizer)
        places: dict[str, Any] = {n: v for n, v in zip(_OPTIONS, given, strict=False) if v}
        run = config.override(replace(described, **places), changed, trust=trusted)
        if mixture is not None:
            run = with_mixture(run, mixture)
        is_own = isinstance(run.data, Batches)
        if not (run.store or run.pairs or is_own):
            raise typer.BadParameter("pass --store STORE, or for CLIP --pairs INDEX")
        if run.init and not _is_saved(recipe):
            run = replace(run, init=str(locate_model(run.init)))
        is_fitted = _is_saved(recipe) or is_own or any(c.startswith(_FITTED) for c in changed)
        if not is_fitted:
            run = task_of(run).fitted()
        if run.init and not _is_saved(recipe) and not any(c.startswith("model.") for c in changed):
            run = replace(run, model=initial_family(run.init, trust=trusted))
        named = [make_tracker(name, folder, trust=trusted) for name in track or ()]
        trackers = [terminal(sys.stderr), *named]
        if not is_own:
            task_of(run).data()  # what is missing is said before a plan is
        others.agree("described", {})  # who failed here is not waited for in the run
        # Not before: the devices of all processes are needed.
        given_keys = [one.partition("=")[0] for one in changed]
        run = _planned(
            run,
            folder,
            others,
            is_given=any(key.split(".")[0] == "mesh" for key in given_keys),
            is_fixed="step.accumulate" in given_keys or _is_saved(recipe),
            tune=autotune,
        )
    try:
        schedule = pipeline_of(run, mesh_of(run))
        if schedule is not None and jax.process_index() == 0:
            typer.echo(str(schedule), err=True)
        if profiled is not None:
            profiled = replace(profiled, ceiling=_ceiling(run))
        fit(run, folder, trackers=trackers, profile=profiled)
    except Interrupted as stopped:
        if profiled is not None:
            _print_profile(folder)
        typer.echo(str(stopped), err=True)
        raise typer.Exit(_INTERRUPTED) from None
    except jax.errors.JaxRuntimeError as error:
        if OUT_OF_MEMORY not in str(error) or is_own:
            raise
        raise ConfigError(f"the devices ran out of memory. {advice(run)}") from error
    if profiled is not None:
        _print_profile(folder)
    if jax.process_index() == 0:  # of several processes, one tells
        _print_end(run, folder)
        typer.echo(f"Compiled programs are kept in {kept}", err=True)


def _planned(run: Run, folder: Path, others: Peers, *, tune: bool, **how: Any) -> Run:
    """The run, divided over the devices: the first process chooses for all."""
    import jax

    from barrow import config
    from barrow.errors import ConfigError
    from barrow.plan import Plan, planned

    if others.num > 1 and tune:
        raise ConfigError("--autotune needs a single process; pass mesh.fsdp=… and others instead")
    jax.devices()  # in every process: the first would wait for the others' without end
    if others.process == 0:
        run = planned(run, folder, write=lambda line: typer.echo(line, err=True), tune=tune, **how)
    if others.num == 1:
        return run
    if others.process == 0:
        plan = Plan(run.mesh, run.step.accumulate, run.remat)
        others.tell("plan", config.to_dict(plan))
    return config.from_dict(Plan, others.wait("plan", 0)).applied(run)


def with_mixture(run: Run, path: Path) -> Run:
    """The run with the weights of a mixture."""
    from dataclasses import replace

    from barrow.mix import read_mixture
    from barrow.stream import StreamSettings

    if not isinstance(run.data, StreamSettings) or run.data.schedule is not None:
        raise typer.BadParameter("--mixture needs a token store and no schedule")
    for name in ("weights", "epochs", "tokens"):
        if getattr(run.data, name) is not None:
            raise typer.BadParameter(f"pass --mixture or data.{name}, not both")
    return replace(run, data=replace(run.data, weights=read_mixture(path)))


def _is_saved(recipe: str) -> bool:
    return recipe.endswith(".json") or Path(recipe).is_dir()


def load_run(name: str, *, trust: Collection[str] = ()) -> Run:
    """A run by its recipe's name, from a saved JSON file, a Python file, or the folder of a run.

    Of a saved one, `trust` says what code outside barrow may be imported (`config.from_dict`).
    """
    import importlib

    from barrow.errors import nearest, nearest_path
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
        hint = nearest_path(name) or nearest(name, known)
        raise typer.BadParameter(f"there is no folder and no recipe {name!r}; {hint}")
    made = known[name]()
    assert isinstance(made, Run)
    return made


def _ceiling(run: Run) -> float | None:
    """FLOP/s of a device that `barrow env --measure` stored, in the run's precision."""
    import jax
    import numpy as np

    from barrow.launch.constants import stored

    known = stored(jax.devices()[0].device_kind, jax.local_device_count())
    dtype = np.dtype(run.step.precision.dtype).name
    return None if known is None else known.flops.get(dtype)


def _print_profile(out: Path) -> None:
    """What a step's time is made of, and what to change."""
    import json

    import jax

    if jax.process_index() != 0 or not (out / "profile.json").is_file():
        return  # a warning has said why
    found = json.loads((out / "profile.json").read_text(encoding="utf-8"))
    parts = ", ".join(f"{kind} {1000 * s:.1f}" for kind, s in found["split"].items())
    typer.echo(f"a step: {1000 * found['step_seconds']:.1f} ms ({parts}); {out}/profile.html")
    for words in found["advice"]:
        typer.echo(f"  {words}")


def _print_end(run: Run, out: Path) -> None:
    """The last losses beside what knowing nothing but frequencies would give."""
    import math

    from barrow.train.run_folder import RunFolder
    from barrow.train.tasks.task import opened, task_of
    from barrow.train.trackers import read_log

    logged = read_log(RunFolder(out).log)
    named = (("validation_loss", "validation loss"), ("loss", "loss of the last step"))
    key, words = named[0] if any(named[0][0] in line for line in logged) else named[1]
    task = task_of(run)
    # A run that was over already has no line if its log was lost.
    for loss in [line[key] for line in logged if key in line][-1:]:
        bits = f" ({loss / math.log(2):.4f} bits)" if task.measure.startswith("nats") else ""
        typer.echo(f"{words}: {loss:.4f} {task.measure}{bits}")
    data, validation = opened(task)
    # Among fewer pairs a guess is easier, and a validation index may have fewer than a batch.
    is_validation = key == "validation_loss" and task.unit == "pair"
    baseline = (validation if validation is not None and is_validation else data).baseline()
    if baseline:
        typer.echo(baseline)
    typer.echo(
        f"Next: {run.model.usage.format(run=out)}   ·   barrow tokens lineage {out} --step 0"
    )
