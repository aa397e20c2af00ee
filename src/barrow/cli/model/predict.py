"""`barrow model predict`: labels of rows by a fine-tuned model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.finetune import print_metrics, remember_programs
from barrow.cli.model.models import locate_model
from barrow.files import atomic_file


def predict(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A .jsonl, .csv or .tsv file, or an archive.",
            show_default=False,
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            metavar="RUN|DIR",
            help="A run of `finetune`, or a Hugging Face folder with a head of labels.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="A .jsonl file.", show_default="standard output")
    ] = None,
    text_key: Annotated[
        str | None,
        typer.Option(
            help="Key of the text, of tags that of the words.", show_default="text; tokens"
        ),
    ] = None,
    label_key: Annotated[
        str | None,
        typer.Option(
            help="Key of the label, of tags that of the tags.", show_default="label; tags"
        ),
    ] = None,
    pair_key: Annotated[
        str, typer.Option(help="Key of a second text, where rows have one.")
    ] = "text_pair",
    max_length: Annotated[
        int | None,
        typer.Option(help="Tokens of a row at most.", show_default="all that the model takes"),
    ] = None,
    truncate: Annotated[
        bool, typer.Option("--truncate", help="Cut rows past that length; their number is printed.")
    ] = False,
) -> None:
    """Label rows; where all rows have labels, print metrics too."""
    from barrow.models.roberta.labelled_rows import Limit
    from barrow.stream.labelled.examples import TAG_KEYS, Keys, read_examples
    from barrow.train.finetune.folder import finetuned_folder
    from barrow.train.finetune.predict import Tally, open_finetuned, predictions

    remember_programs()
    opened = open_finetuned(finetuned_folder(locate_model(model)))
    usual = TAG_KEYS if opened.kind == "tag" else Keys()
    given = {"text": text_key, "label": label_key, "pair": pair_key}
    keys = replace(usual, **{name: key for name, key in given.items() if key is not None})
    tally = Tally(opened.kind, opened.labels)
    examples = read_examples(data, opened.kind, keys=keys, need_labels=False)
    with _written(out) as write:
        for _, result in predictions(
            opened, examples, limit=Limit(max_length, truncate), tally=tally
        ):
            write(json.dumps(result, ensure_ascii=False) + "\n")
    where = "" if out is None else f" → {out}"
    cut = f", {tally.num_cut:,} truncated" if truncate else ""
    typer.echo(f"{tally.num_rows:,} rows{cut}{where}", err=True)
    if tally.num_rows and tally.num_judged == tally.num_rows:
        print_metrics(tally.metrics(), err=out is None)


@contextmanager
def _written(out: Path | None) -> Iterator[Callable[[str], object]]:
    """A file, written atomically; or standard output."""
    if out is None:
        yield sys.stdout.write
        return
    if out.is_dir():
        raise typer.BadParameter(f"--out is a file, and {out} a folder")
    with atomic_file(out) as file:
        yield lambda text: file.write(text.encode())
