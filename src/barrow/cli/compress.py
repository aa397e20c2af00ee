"""`barrow compress`: a smaller model, and what it costs by domain."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.model.models import at_step, locate_model
from barrow.cli.options import AsJson, Overrides, StepOption, TextKey, TokenizerOption, Trust
from barrow.cli.terminal import print_table, printable

if TYPE_CHECKING:
    from barrow.compress.card import Card


_INTERRUPTED = 130


class BitsChoice(StrEnum):
    """What weights become."""

    INT8 = "int8"
    INT4 = "int4"
    FP8 = "fp8"
    STORED = "stored"


class MethodChoice(StrEnum):
    """How scales are chosen."""

    NEAREST = "nearest"
    MSE = "mse"
    PERCENTILE = "percentile"
    GPTQ = "gptq"


def compress(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A decoder or an encoder: a run or checkpoint, a Hugging Face folder, a .gguf or "
            "llama2.c file, what `model get` fetched.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder of the new model.", show_default=False)],
    overrides: Overrides = None,
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="CORPUS",
            help="Text to calibrate with, of all domains; others of its documents are measured.",
            show_default="the corpus of the token store, if there is one",
        ),
    ] = None,
    to: Annotated[
        BitsChoice,
        typer.Option(help="What weights become; stored: as the .gguf file has them."),
    ] = BitsChoice.INT8,
    method: Annotated[
        MethodChoice | None,
        typer.Option(help="How scales are chosen.", show_default="mse; int4: gptq"),
    ] = None,
    group: Annotated[int, typer.Option(help="Inputs that share a scale of int4.")] = 64,
    dynamic: Annotated[
        bool, typer.Option("--dynamic", help="Activations become int8 too, while the model runs.")
    ] = False,
    smooth: Annotated[
        float | None,
        typer.Option(help="With --dynamic: move this much of their range to the weights, 0 to 1."),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(
            metavar="SHARES",
            help="Instead of quantizing, remove these: heads=0.25,channels=0.25, layers, weights.",
            show_default=False,
        ),
    ] = None,
    recover: Annotated[
        str | None,
        typer.Option(
            metavar="STORE",
            help="With --prune: train again on this store, by the original's probabilities.",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Of --recover: how many.")] = 500,
    distill: Annotated[
        str | None,
        typer.Option(
            metavar="RECIPE",
            help="Instead of quantizing, train a student with as many layers as this recipe's "
            "model; KEY=VALUE changes the recipe.",
            show_default=False,
        ),
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="With --distill: the token store.", show_default=False)
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="max-domain-dbpb=0.01",
            help="Search the smallest mix of int4, int8 and float that loses at most this.",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="CORPUS",
            help="Measure on this corpus.",
            show_default="the test split of --calibrate, or every other document",
        ),
    ] = None,
    documents: Annotated[
        int, typer.Option(min=1, help="Documents of each domain that are measured.")
    ] = 64,
    rows: Annotated[int, typer.Option(min=1, help="Rows of tokens that calibrate.")] = 64,
    length: Annotated[int, typer.Option(min=1, help="Tokens of such a row.")] = 512,
    labels: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Labelled rows, to measure a model with labels on."),
    ] = None,
    speeds: Annotated[
        bool, typer.Option("--speed/--no-speed", help="Measure the speed here.")
    ] = True,
    tokenizer: TokenizerOption = None,
    text_key: TextKey = "text",
    step: StepOption = None,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """Make a model smaller: quantize, prune or distill it; a card has the cost by domain."""
    from barrow.compress.compressed import Measuring
    from barrow.models.compile_cache import keep_compiled
    from barrow.weights.hub.cache import cache_folder

    if sum(one is not None for one in (prune, distill, budget)) > 1:
        raise typer.BadParameter("pass one of --prune, --distill and --budget")
    if recover is not None and prune is None:
        raise typer.BadParameter("--recover trains what --prune left: pass --prune SHARES")
    if store is not None and distill is None:
        raise typer.BadParameter("--store is for --distill; --recover names its own")
    calibrate = calibrate or _corpus_of(recover or store)
    if calibrate is None and distill is None:
        raise typer.BadParameter("pass --calibrate CORPUS: text of all domains")
    if overrides and distill is None and recover is None:
        raise typer.BadParameter(f"KEY=VALUE is for --distill and --recover, got {overrides[0]}")
    keep_compiled(cache_folder(os.environ) / "compiled")
    common: dict[str, Any] = {
        "measuring": Measuring(measure, documents, rows, length, labels, speeds, text_key),
        "tokenizer": tokenizer,
        "trust": trust or (),
        "say": lambda text: typer.echo(printable(text), err=True),
    }
    path = locate_model(at_step(model, step))
    if distill is not None:
        card = _distilled(path, out, distill, store, calibrate, overrides or [], common)
    elif prune is not None:
        assert calibrate is not None
        card = _pruned(path, out, prune, calibrate, (recover, steps), overrides or [], common)
    elif budget is not None:
        from barrow.compress.budget import parse_budget, within_budget

        assert calibrate is not None
        card = within_budget(path, out, parse_budget(budget), calibrate, **common)
    elif to is BitsChoice.STORED:
        from barrow.compress.compressed import as_stored

        assert calibrate is not None
        card = as_stored(path, out, calibrate, **common)
    else:
        from barrow.compress.compressed import compress as make
        from barrow.compress.scheme import Scheme, default_scheme

        assert calibrate is not None
        bits: Any = to.value
        chosen = default_scheme(bits).method if method is None else method.value
        scheme = Scheme(bits, chosen, group, dynamic, smooth)
        card = make(path, out, scheme, calibrate, **common)
    if card is None:
        typer.echo(f"Next: barrow score {out} CORPUS")
        return
    show_card(card, out, as_json=as_json)


def _corpus_of(store: str | None) -> str | None:
    """What a token store was made from, if it is still there."""
    if store is None:
        return None
    from barrow.tokens import open_store

    path = open_store(store).manifest.corpus.path
    return path if Path(path).exists() else None


def _distilled(
    path: Path,
    out: Path,
    recipe: str,
    store: str | None,
    calibrate: str | None,
    overrides: list[str],
    common: dict[str, Any],
) -> Card | None:
    from dataclasses import replace

    from barrow.cli.train import load_run
    from barrow.compress.smaller import distil_model
    from barrow.train.trackers import terminal

    run = load_run(recipe, trust=common["trust"])
    if store is None and not run.store:
        raise typer.BadParameter("pass --store STORE: the tokens to distill on")
    run = replace(run, store=store or run.store)
    with _stopped():
        return distil_model(
            path,
            out,
            run,
            calibrate=calibrate,
            overrides=overrides,
            trackers=[terminal(sys.stderr)],
            **common,
        )


def _pruned(
    path: Path,
    out: Path,
    shares: str,
    calibrate: str,
    recover: tuple[str | None, int],
    overrides: list[str],
    common: dict[str, Any],
) -> Card:
    from barrow.compress.prune import parse_pruning
    from barrow.compress.smaller import prune_model, recovery
    from barrow.train.start import initial_family
    from barrow.train.trackers import terminal

    store, steps = recover
    run = None
    if store is not None:
        run = recovery(initial_family(str(path), trust=common["trust"]), store, steps=steps)
    with _stopped():
        return prune_model(
            path,
            out,
            parse_pruning(shares),
            calibrate,
            recover=run,
            overrides=overrides,
            trackers=[terminal(sys.stderr)],
            **common,
        )


@contextmanager
def _stopped() -> Iterator[None]:
    """Ctrl-C in a run exits as `barrow train` does; the same command resumes."""
    from barrow.train import Interrupted

    try:
        yield
    except Interrupted as stopped:
        typer.echo(str(stopped), err=True)
        raise typer.Exit(_INTERRUPTED) from None


def show_card(card: Card, out: Path, *, as_json: bool) -> None:
    """Print a card, as JSON or as tables."""
    if as_json:
        from barrow.config import to_json

        typer.echo(to_json(card), nl=False)
        return
    share = card.bytes_after / card.bytes_before
    typer.echo(
        printable(
            f"{card.original} → {out}: {card.scheme}; {card.bytes_before:,} → "
            f"{card.bytes_after:,} bytes ({share:.3f}×)"
        )
    )
    if card.speeds:
        typer.echo(printable(f"\nspeed here ({card.hardware}), tokens a second"))
        print_table(
            ("rows × tokens", "before", "after", "ratio"),
            [
                (s.what, f"{s.before:,.0f}", f"{s.after:,.0f}", f"{s.ratio:.2f}×")
                for s in card.speeds
            ],
        )
    if card.comparison is not None:
        typer.echo("\nbits per byte, after − before above 0 where the new model is worse")
        rows = (*card.comparison.domains, card.comparison.overall)
        print_table(
            ("domain", "documents", "before", "after", "after − before", "95 % interval"),
            [
                (
                    row.name,
                    f"{row.documents:,}",
                    _number(row.second, ".4f"),
                    _number(row.first, ".4f"),
                    _number(row.difference, "+.4f"),
                    ""
                    if row.low is None or row.high is None
                    else f"{row.low:+.4f} to {row.high:+.4f}",
                )
                for row in rows
            ],
        )
    if card.task:
        typer.echo("\nlabelled rows")
        print_table(
            ("metric", "before", "after", "after − before"),
            [
                (name, f"{one:.4f}", f"{other:.4f}", f"{other - one:+.4f}")
                for name, (one, other) in card.task.items()
            ],
        )
    for note in card.notes:
        typer.echo(printable(f"note: {note}"))


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
