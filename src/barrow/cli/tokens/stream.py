"""`barrow tokens stream`: settings to a saved stream, and what it will read."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.options import AsJson
from barrow.cli.terminal import print_table

if TYPE_CHECKING:
    from barrow.stream import Stream


def stream(
    store: Annotated[Path, typer.Argument(help="A token store.", show_default=False)],
    assignments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="seq_len=N batch=N seed=N [KEY=VALUE]…",
            help="Length of a row, rows of a batch, seed; and others, such as packing=fit, "
            'weights={"A":2,"B":1}, epochs={"A":1.5,"B":1}, max_epochs=4 or mlm={}.',
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to save it.", show_default=False)] = None,
    step: Annotated[
        int | None,
        typer.Option(
            help="Tell what was read before this step.", show_default="the end, or one epoch"
        ),
    ] = None,
    schedule: Annotated[
        Path | None,
        typer.Option(help="A JSON file of phases, instead of seq_len, batch and a mixture."),
    ] = None,
    mixture: Annotated[
        Path | None,
        typer.Option(help="Weights of domains: the folder of a mixture search, or a mixture.json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Plan the batches of a run, save the plan, and print what it reads."""
    from barrow import config
    from barrow.stream import Schedule, Stream, StreamSettings

    settings = config.override(StreamSettings(), assignments or ())
    if mixture is not None:
        from barrow.mix import read_mixture

        if settings.weights is not None:
            raise typer.BadParameter("pass --mixture or weights, not both")
        settings = dataclasses.replace(settings, weights=read_mixture(mixture))
    if schedule is not None:
        phases = config.from_json(Schedule, schedule.read_text(), where=schedule)
        settings = dataclasses.replace(settings, schedule=phases)
    made = Stream(settings.open(store))
    if out is not None:
        made.save(out)
    plan = describe(made, step)
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode(plan).decode())
    else:
        _print(plan)


def describe(stream: Stream[Any], step: int | None) -> dict[str, Any]:
    """What a stream reads of each domain before a step, by default in one epoch of all."""
    order = stream.order
    epochs = {name: order.first_epoch(name) for name in order.domains}
    longest = max((steps for steps in epochs.values() if steps is not None), default=0)
    at = (stream.num_steps or longest) if step is None else step
    progress = order.progress(at)
    total = sum(one.rows for one in progress.values())
    return {
        "num_steps": stream.num_steps,
        "step": at,
        "domains": [
            {
                "domain": name,
                "size": order.sizes[name],
                "rows": one.rows,
                "share": one.rows / total if total else 0.0,
                "epochs": one.epochs,
                "steps_per_epoch": epochs.get(name),
            }
            for name, one in progress.items()
        ],
    }


def _print(plan: dict[str, Any]) -> None:
    print_table(
        ("domain", "rows", "share", "epochs", "steps of its first epoch"),
        (
            (
                row["domain"],
                f"{row['rows']:,}",
                f"{row['share']:.2%}",
                f"{row['epochs']:.3f}",
                "never" if row["steps_per_epoch"] is None else f"{row['steps_per_epoch']:,}",
            )
            for row in plan["domains"]
        ),
    )
    end = plan["num_steps"]
    typer.echo(
        f"before step {plan['step']:,}; the stream "
        + ("has no end" if end is None else f"has {end:,} steps")
    )
