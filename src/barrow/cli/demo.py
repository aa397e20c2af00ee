"""`barrow demo`: the main job, small, on text every machine has."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.build import print_report
from barrow.cli.progress import staged_progress
from barrow.cli.stats import measure, print_composition
from barrow.cli.tokenize import print_store

if TYPE_CHECKING:
    from barrow.tokens import TokenStore

# Enough merges for good tokens of a few megabytes of text, few enough for a small model.
_VOCAB_SIZE = 4096


def demo(
    out: Annotated[Path, typer.Argument(help="Folder for the corpus.")] = Path("build/pocket"),
) -> None:
    """Build a small corpus of several domains, tokenize it, and print what it is made of."""
    import barrow.archive
    from barrow.corpus import build
    from barrow.corpus.progress import Progress
    from barrow.engine import Engine
    from barrow.recipes import pocket

    started = time.perf_counter()
    raw = out.with_name(f"{out.name}-raw")
    left_out = pocket.missing_extras()
    for folder, extra in left_out.items():
        typer.echo(f"without {folder}: its reader needs pip install 'barrow[{extra}]'")
    pocket.prepare(raw, left_out=left_out)
    with staged_progress() as (on_plan, on_bytes):
        report = build(
            pocket.recipe(left_out=left_out),
            root=raw,
            out=out,
            engine=Engine(num_workers=2),
            progress=Progress(on_plan, on_bytes),
        )
    for problem in barrow.archive.verify(out, deep=True).problems:
        raise problem
    print_report(report)
    typer.echo("")
    print_composition(measure(barrow.archive.open(out)))
    seconds = time.perf_counter() - started
    typer.echo(f"raw files made, read, written and verified in {seconds:.1f} s → {out}\n")
    started = time.perf_counter()
    store = _tokenized(out)
    print_store(store, as_json=False)
    seconds = time.perf_counter() - started
    typer.echo(f"tokenizer learnt and corpus tokenized in {seconds:.1f} s → {store.folder}")
    typer.echo(f"Next: barrow head {out}   ·   barrow trace {out} 0   ·   barrow rejects {out}")
    run = out.with_name(f"{out.name}-run")
    typer.echo("      pip install 'barrow[train]', then")
    typer.echo(f"      barrow train gpt2.tiny store={store.folder} out={run}")


def _tokenized(corpus: Path) -> TokenStore:
    """The store of a corpus's train split, by a tokenizer learnt from it; both beside it."""
    import barrow.archive
    import barrow.tokens
    from barrow.engine import Engine
    from barrow.tokens.progress import Progress

    archive = barrow.archive.open(corpus)
    sample = barrow.tokens.draw_sample(archive, num_bytes=8_000_000)
    tokenizer = barrow.tokens.train(sample.texts(archive), vocab_size=_VOCAB_SIZE)
    tokenizer.save(corpus.with_name(f"{corpus.name}-tokenizer"))
    with staged_progress() as (on_plan, on_bytes):
        return barrow.tokens.tokenize(
            corpus,
            tokenizer=tokenizer,
            out=corpus.with_name(f"{corpus.name}-tokens"),
            engine=Engine(num_workers=2),
            progress=Progress(on_plan, on_bytes),
        )
