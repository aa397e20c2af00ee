"""`barrow tokenize`: an archive to a token store."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.options import Address, AsJson, EngineChoice, EngineOption, TextKey, Workers
from barrow.cli.progress import staged_progress
from barrow.cli.terminal import print_table

if TYPE_CHECKING:
    from barrow.tokens import TokenStore


class SplitChoice(StrEnum):
    """Which archive of a corpus."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def tokenize(
    corpus: Annotated[
        str,
        typer.Argument(help="A corpus, or a shard, folder, glob or URL.", show_default=False),
    ],
    tokenizer: Annotated[
        str,
        typer.Option(help="A tokenizer's file or folder, or 'bytes'.", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="The folder of the store; one that is there is brought up to date.",
            show_default=False,
        ),
    ],
    split: Annotated[SplitChoice, typer.Option(help="Of a corpus.")] = SplitChoice.TRAIN,
    workers: Workers = 2,
    engine: EngineOption = EngineChoice.LOCAL,
    address: Address = None,
    text_key: TextKey = "text",
    as_json: AsJson = False,
) -> None:
    """Turn documents into ids, ready to be trained on."""
    import barrow.tokens
    from barrow.engine import Engine

    loaded = barrow.tokens.load(tokenizer)
    with staged_progress() as progress:
        store = barrow.tokens.tokenize(
            corpus,
            tokenizer=loaded,
            out=out,
            split=split.value,
            text_key=text_key,
            engine=Engine("ray" if engine is EngineChoice.RAY else "local", workers, address),
            progress=progress,
        )
    print_store(store, as_json=as_json)


def print_store(store: TokenStore, *, as_json: bool) -> None:
    """Documents, tokens and bytes by domain: a table, or JSON."""
    rows = [
        _row(domain.name, domain.documents, domain.tokens, domain.text_bytes)
        for domain in sorted(store.manifest.domains, key=lambda domain: -domain.tokens)
    ]
    total = _row("total", *(sum(row[key] for row in rows) for key in _COUNTS))
    if as_json:
        import msgspec

        about = {
            "tokenizer": store.tokenizer_hash,
            "vocab_size": store.vocab_size,
            "dtype": store.dtype.name,
            "shards": sum(len(domain.shards) for domain in store.manifest.domains),
        }
        result = {**{key: total[key] for key in total if key != "domain"}, **about, "domains": rows}
        typer.echo(msgspec.json.encode(result).decode())
        return
    print_table(
        ("domain", "documents", "tokens", "share", "bytes", "bytes per token"),
        (
            (
                row["domain"],
                f"{row['documents']:,}",
                f"{row['tokens']:,}",
                f"{row['tokens'] / total['tokens']:.2%}",
                f"{row['bytes']:,}",
                f"{row['bytes_per_token']:.3f}",
            )
            for row in (*rows, total)
        ),
    )


_COUNTS = ("documents", "tokens", "bytes")


def _row(domain: str, documents: int, tokens: int, text_bytes: int) -> dict[str, Any]:
    return {
        "domain": domain,
        "documents": documents,
        "tokens": tokens,
        "bytes": text_bytes,
        "bytes_per_token": text_bytes / tokens if tokens else 0.0,
    }
