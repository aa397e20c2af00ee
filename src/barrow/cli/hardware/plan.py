"""`barrow plan`: how a run can be divided over devices, and what each way takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.options import AsJson, Overrides, Trust, changes
from barrow.cli.terminal import print_table
from barrow.cli.train import load_run

if TYPE_CHECKING:
    from barrow.plan.search import Candidate
    from barrow.plan.times import Hardware

_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SHOWN = 8


def plan(
    recipe: Annotated[
        str,
        typer.Argument(
            help="As for barrow train: a recipe, a run.json, a .py file, or the folder of a run.",
            show_default=False,
        ),
    ],
    overrides: Overrides = None,
    devices: Annotated[
        int | None, typer.Option(help="How many there are.", show_default="as here")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Of each, such as 80GiB.", show_default="as the kind has"),
    ] = None,
    device: Annotated[
        str, typer.Option(help="Their kind: B200, H200, H100, A100, L40S, L4, V100 or T4.")
    ] = "H100",
    is_here: Annotated[
        bool, typer.Option("--here", help="The devices of this machine; the default.")
    ] = False,
    compiled: Annotated[
        int | None,
        typer.Option(
            "--compile",
            min=0,
            help="Compile so many of the best, for exact memory.",
            show_default="3 for the devices of this machine, else 0",
        ),
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="The token store, for the size of the vocabulary.")
    ] = None,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """List the ways to divide a run over devices: memory, time, and why others do not fit.

    barrow plan llama.1b --devices 8 --memory 80GiB
    """
    import json
    from dataclasses import replace

    from barrow import config
    from barrow.errors import ConfigError
    from barrow.plan import Plan, candidate, for_same_bits, no_fit, search, would_fit
    from barrow.stream import StreamSettings
    from barrow.stream.pairs import PairSettings
    from barrow.train.tasks.task import task_of

    trusted = [*(trust or ()), *([recipe] if recipe.endswith(".py") else [])]
    run = config.override(load_run(recipe, trust=trusted), changes(overrides), trust=trusted)
    if store is not None:
        run = task_of(replace(run, store=store)).fitted()
    if not isinstance(run.data, StreamSettings | PairSettings):
        raise typer.BadParameter("a run with batches of its own cannot be planned")
    hardware = _hardware(devices, memory, device, is_here=is_here)
    if compiled is None:  # a compiler for other devices says little about these
        compiled = 3 if hardware.is_here else 0
    subject = hardware.subject(run)
    found = search(subject, hardware)
    fitting = [one for one in found if one.fits]
    fitting = [*_compiled(fitting[:compiled], run, hardware), *fitting[compiled:]]
    short = [one for one in found if not one.fits]
    short += [one for one in fitting if not one.fits]
    fitting = [one for one in fitting if one.fits]
    own = Plan.of(run, hardware.devices)
    try:
        as_it_is = candidate(subject, own, hardware)
    except (ConfigError, ValueError) as error:
        as_it_is, why = None, str(error)
    fixes = {one.plan: would_fit(subject, one.plan, hardware) for one in short[:_SHOWN]}
    if as_json:
        shown = [_in_json(one, fixes.get(one.plan)) for one in (*fitting, *short)]
        typer.echo(json.dumps({"devices": hardware.devices, "plans": shown}, indent=2))
    else:
        _print(fitting, short, fixes)
        if as_it_is is None:
            typer.echo(f"as the recipe is: {why}")
        else:
            words = ""
            if not as_it_is.fits:
                fix = would_fit(subject, own, hardware)
                words = f": {_over(as_it_is)} too many{fix and f'; would fit with {fix}'}"
                words += for_same_bits(subject, own)
            typer.echo(f"as the recipe is: {as_it_is}{words}")
    if not fitting:
        raise ConfigError(no_fit(subject, short[0], hardware))


def bytes_of(text: str) -> int:
    """A size with its unit, such as 80GiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(\w+)", text.strip())
    if found is None or found[2] not in _UNITS:
        raise typer.BadParameter(
            f"--memory must be a number with a unit ({', '.join(_UNITS)}), got {text!r}; pass "
            f"{text.strip() if text.strip().isdigit() else 80}GiB"
        )
    return int(float(found[1]) * _UNITS[found[2]])


def _hardware(devices: int | None, memory: str | None, kind: str, *, is_here: bool) -> Hardware:
    from barrow.plan import Hardware, here, known, memory_of

    if devices is not None and devices < 1:
        raise typer.BadParameter(f"--devices must be ≥ 1, got {devices}")
    if is_here or (devices is None and memory is None):
        if devices is not None or memory is not None:
            raise typer.BadParameter("pass --here, or --devices and --memory, not both")
        return here()
    if devices is None:
        raise typer.BadParameter("pass --devices with --memory, such as 8 and 80GiB")
    size = memory_of(kind) if memory is None else bytes_of(memory)
    return Hardware(devices, size, known(kind))


def _compiled(best: list[Candidate], run: Any, hardware: Hardware) -> list[Candidate]:
    """With the compiler's memory: of these devices, else of as many virtual ones of the CPU."""
    from dataclasses import replace

    from barrow.plan import Request, ask

    is_virtual = not hardware.is_here
    found = []
    for one in best:
        if one.plan.mesh.offload == "none":
            request = Request(one.plan.applied(run))
            answer = ask(request, devices=hardware.devices if is_virtual else None)
            if answer.memory is not None:
                one = replace(one, memory=answer.memory)
        found.append(one)
    return found


def _print(fitting: list[Candidate], short: list[Candidate], fixes: dict[Any, str]) -> None:
    from barrow.plan.search import FORMULA_ERROR

    kinds = ("parameters", "gradients", "optimizer", "activations", "temporaries")
    columns = ("plan", *kinds, "GiB", "of", "ms a step", "by")
    rows = [
        (
            str(one.plan),
            *(f"{size / (1 << 30):.2f}" for size in one.memory.by_kind.values()),
            f"{one.memory.total / (1 << 30):.2f}",
            f"{one.limit / (1 << 30):.1f}",
            f"{1000 * one.time.total:,.0f}",
            "compiler" if one.memory.is_compiled else "formula",
        )
        for one in fitting[:_SHOWN]
    ]
    if rows:
        print_table(columns, rows, whole=("plan",), width=160)
        typer.echo(f"the formula may be off by {FORMULA_ERROR:.0%}; --compile asks the compiler")
    if len(fitting) > _SHOWN:
        typer.echo(f"and {len(fitting) - _SHOWN} more that fit")
    if short:
        typer.echo("do not fit:")
        lines = [
            (str(one.plan), f"{one.memory.total / (1 << 30):.2f}", _over(one), fixes[one.plan])
            for one in short[:_SHOWN]
        ]
        names = ("plan", "GiB", "too many", "would fit with")
        print_table(names, lines, left=("plan", "would fit with"), whole=("plan",), width=160)
    if len(short) > _SHOWN:
        typer.echo(f"and {len(short) - _SHOWN} more that do not")


def _over(one: Candidate) -> str:
    return f"{one.excess / (1 << 30):.2f} GiB"


def _in_json(one: Candidate, fix: str | None) -> dict[str, Any]:
    from dataclasses import asdict

    from barrow import config

    return {
        **config.to_dict(one.plan),
        "words": str(one.plan),
        "fits": one.fits,
        "memory": {**one.memory.by_kind, "total": one.memory.total, "limit": one.limit},
        "is_compiled": one.memory.is_compiled,
        "seconds": {**asdict(one.time), "total": one.time.total},
        "would_fit_with": fix,
    }
