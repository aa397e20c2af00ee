"""`barrow model embed`: vectors of texts into a safetensors file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from barrow.cli.model.open import ModelOption, Truncate, open_encoder
from barrow.cli.options import AsJson, DtypeOption, TextKey, TokenizerOption, Trust
from barrow.cli.progress import progress_bar


class PoolChoice(StrEnum):
    """How the hidden states of a text become one vector."""

    MEAN = "mean"
    CLS = "cls"
    MAX = "max"


class FormatChoice(StrEnum):
    """What the input is."""

    AUTO = "auto"
    TXT = "txt"
    JSONL = "jsonl"


def embed(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="A text file, a line a text; jsonl of any make; an archive; - is stdin.",
            show_default=False,
        ),
    ],
    model: ModelOption,
    out: Annotated[Path, typer.Option(help="The .safetensors file.", show_default=False)],
    layer: Annotated[
        int, typer.Option(help="Hidden state: 0 goes into the first layer, -1 is the last.")
    ] = -1,
    pool: Annotated[
        PoolChoice, typer.Option(help="Mean or max over all tokens, or the first.")
    ] = PoolChoice.MEAN,
    form: Annotated[
        FormatChoice, typer.Option("--format", help="txt for stdin and .txt, else by contents.")
    ] = FormatChoice.AUTO,
    text_key: TextKey = "text",
    truncate: Truncate = False,
    batch_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens in a batch.", show_default="4096 on a CPU, else 16384"),
    ] = None,
    ahead: Annotated[int, typer.Option(min=1, help="Texts sorted by length at a time.")] = 8192,
    tokenizer: TokenizerOption = None,
    dtype: DtypeOption = None,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """Embed texts: one vector each, in the order of the input."""
    from barrow.models.roberta.embedding_file import embed_to_file

    encoder, params, reader = open_encoder(
        model, tokenizer=tokenizer, dtype=dtype, layer=layer, trust=trust
    )
    size = Path(source).stat().st_size if Path(source).is_file() else None
    with progress_bar("Embedding", size if source.endswith((".txt", ".jsonl")) else None) as moved:
        done = embed_to_file(
            out,
            texts_of(source, form, text_key),
            model=encoder,
            params=params,
            tokenizer=reader,
            layer=layer,
            pool=pool.value,
            truncate=truncate,
            tokens=batch_tokens,
            ahead=ahead,
            on_bytes=moved,
        )
    result = {
        "out": str(out),
        "rows": done.num_rows,
        "width": encoder.config.width,
        "tokens": done.num_tokens,
        "truncated": done.num_truncated,
    }
    if as_json:
        import json

        typer.echo(json.dumps(result))
        return
    cut = f", {done.num_truncated:,} truncated" if truncate else ""
    typer.echo(f"{done.num_rows:,} × {result['width']} ({done.num_tokens:,} tokens{cut}) → {out}")


def texts_of(source: str, form: FormatChoice, text_key: str) -> Iterator[tuple[str, str]]:
    """Ids and texts of an input; a text without an id has its number."""
    if source == "-":
        stream = sys.stdin.buffer
        yield from _records(stream, text_key) if form is FormatChoice.JSONL else _lines(stream)
    elif form is FormatChoice.TXT or (form is FormatChoice.AUTO and source.endswith(".txt")):
        with Path(source).open("rb") as file:
            yield from _lines(file)
    else:
        import barrow.archive

        for number, document in enumerate(barrow.archive.open(source, text_key=text_key)):
            yield _id(document.meta, number), document.text


def _lines(stream: BinaryIO) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(stream):
        try:
            yield str(number), line.rstrip(b"\r\n").decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"line {number + 1} is not UTF-8: {error}") from None


def _records(stream: BinaryIO, text_key: str) -> Iterator[tuple[str, str]]:
    import msgspec

    for number, line in enumerate(stream):
        try:
            record = msgspec.json.decode(line)
        except msgspec.DecodeError as error:
            raise ValueError(f"line {number + 1} is not JSON: {error}") from None
        text = record.get(text_key) if isinstance(record, dict) else None
        if not isinstance(text, str):
            raise ValueError(f"line {number + 1} has no text under {text_key!r}; see --text-key")
        meta = record.get("meta")
        yield _id(record | (meta if isinstance(meta, dict) else {}), number), text


def _id(meta: dict[str, Any], number: int) -> str:
    return str(meta["id"]) if isinstance(meta.get("id"), str | int) else str(number)
