"""A result as people read it: the table, the card, and what has to be said beside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from barrow.cli.terminal import print_table, printable

if TYPE_CHECKING:
    from barrow.score.result import Result, Row

_COLUMNS = ("BPB", "95 %", "documents", "bytes", "tokens", "tok/byte", "ppl/tok", "ppl/byte", "s")


def print_result(result: Result, path: Path | None) -> None:
    """The table per domain and overall; the card in one line; cautions; where it was written."""
    rows = [(row.name, *_cells(row)) for row in result.domains]
    rows.append(("overall", *_cells(result.overall)))
    if result.weighted is not None:
        rows.append(("weighted", f"{result.weighted.bpb:.4f}", *[""] * (len(_COLUMNS) - 1)))
    typer.echo(f"{printable(result.model.name)}: bits per byte, {printable(_kind(result))}")
    print_table(("domain", *_COLUMNS), rows, width=130)
    typer.echo(printable(str(result.card)))
    for line in cautions(result):
        typer.echo(printable(line))
    if path is not None:
        typer.echo(f"written to {printable(str(path))}")


def cautions(result: Result) -> list[str]:
    """What a reader of the figures must know."""
    lines = []
    if result.card.likelihood == "pseudo":
        lines.append(
            "pseudo-likelihood: each token was guessed from both sides, so this is not comparable "
            "with bits per byte of causal models"
        )
    projection = result.settings.get("projection", {})
    changed = sum(num for how, num in projection.items() if how != "bytes")
    if changed:
        lines.append(
            f"{changed:,} documents are not what their tokens spell: the tokenizer changes text, "
            "and what it drops is not charged"
        )
    if result.contamination is not None:
        found = result.contamination
        share = "< 0.01%" if 0 < found["share"] < 1e-4 else f"{found['share']:.2%}"
        lines.append(
            f"contamination: {found['documents']:,} of {result.overall.documents:,} documents "
            f"share {found['ngram']} words in a row with {found['train']} "
            f"({share} of all such runs)"
        )
    return lines


def _kind(result: Result) -> str:
    model = result.model
    size = "" if model.num_params is None else f", {model.num_params:,} parameters"
    dtype = "" if model.dtype is None else f", {model.dtype}"
    return f"{result.card.likelihood} ({model.kind}{size}{dtype})"


def _cells(row: Row) -> list[str]:
    interval = "" if row.low is None else f"{row.low:.4f}–{row.high:.4f}"
    return [
        _number(row.bpb, ".4f"),
        interval,
        f"{row.documents:,}",
        f"{row.bytes:,}",
        f"{row.tokens:,}" if row.tokens else "–",
        _number(row.tokens_per_byte, ".4f") if row.tokens else "–",
        _number(row.token_perplexity, ",.2f"),
        _number(row.byte_perplexity, ",.3f"),
        f"{row.seconds:,.1f}",
    ]


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
