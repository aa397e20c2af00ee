"""`barrow align adapter`, `merge` and `card`: what a run learned, for others, and its cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def adapter(
    run: Annotated[Path, typer.Argument(help="A run with adapters.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The folder for PEFT.", show_default=False)],
) -> None:
    """Write the adapters of a run as PEFT's files."""
    from barrow.align.finish import write_adapter

    write_adapter(run, out)
    typer.echo(
        f"Next: peft's PeftModel.from_pretrained(model, '{out}')   ·   barrow generate {out}"
    )


def merge(
    model: Annotated[
        Path, typer.Argument(help="A run, or a folder of PEFT's adapters.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The folder of the model.", show_default=False)],
) -> None:
    """Write a model with its adapters merged, as a Hugging Face folder with its chat template."""
    from barrow.align.finish import write_model

    write_model(model, out)
    typer.echo(f"Next: barrow serve {out}   (transformers opens it too)")


def card(
    run: Annotated[Path, typer.Argument(help="A finished run.", show_default=False)],
    corpus: Annotated[
        str, typer.Option(help="Validation documents, by domain.", show_default=False)
    ] = "",
    limit: Annotated[int | None, typer.Option(help="Only so many documents.")] = None,
    prompts: Annotated[int, typer.Option(min=1, help="Prompts that are answered.")] = 8,
    max_tokens: Annotated[int, typer.Option(min=1, help="Of an answer.")] = 64,
) -> None:
    """What a run cost: bits per byte by domain, divergence, length, repetition, samples; a page."""
    from barrow.align.card.card import PAGE, lines, make_card
    from barrow.train.run_folder import RunFolder

    # Rewards and losses of others are not needed, and not imported.
    described = RunFolder(run).read(trust=None)
    made = make_card(described, run, corpus=corpus, num=prompts, max_tokens=max_tokens, limit=limit)
    for line in lines(made):
        typer.echo(line)
    typer.echo(f"the card: {run / PAGE}")
