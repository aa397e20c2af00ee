"""`barrow model similar`: similarities of images and texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.model.clip_options import (
    Model,
    Out,
    Seed,
    Truncate,
    Vocabulary,
    embed_images,
    find_images,
    lines_of,
    open_model,
)
from barrow.cli.model.zeroshot import write_page
from barrow.cli.options import AsJson, Trust
from barrow.cli.terminal import printable

# Texts of each image on the page, the nearest first.
_SHOWN = 10


def similar(
    images: Annotated[
        Path, typer.Argument(metavar="IMAGES", help="An image, or a folder of them.")
    ],
    texts: Annotated[
        list[str], typer.Argument(metavar="TEXTS...", help="Texts; or a file, one per line.")
    ],
    model: Model,
    tokenizer: Vocabulary = None,
    truncate: Truncate = False,
    seed: Seed = 0,
    trust: Trust = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Similarity of every image with every text: the model's scale (about 100) times the cosine."""
    from barrow.models.clip.zero_shot import classified

    files = find_images([images])
    sentences = _sentences(texts)
    opened, preprocess = open_model(model, tokenizer=tokenizer, seed=seed, trust=trust)
    found = opened.similarity(embed_images(opened, preprocess, files), sentences, truncate=truncate)
    if out is not None:
        result = classified(found, sentences)
        about = f"{len(sentences):,} texts; weights: {opened.origin}"
        write_page(out, "Images and texts", about, files, result, num=_SHOWN)
    if as_json:
        import json

        rows = [
            {"image": str(file), "similarities": dict(zip(sentences, row, strict=True))}
            for file, row in zip(files, found.tolist(), strict=True)
        ]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    for file, row in zip(files, found.tolist(), strict=True):
        typer.echo(printable(str(file)))
        for value, sentence in sorted(zip(row, sentences, strict=True), key=lambda e: -e[0]):
            typer.echo(f"  {value:7.2f}  {printable(sentence)}")


def _sentences(given: list[str]) -> list[str]:
    lines = lines_of(given[0]) if len(given) == 1 else None
    texts = given if lines is None else lines
    found = list(dict.fromkeys(text.strip() for text in texts if text.strip()))
    if not found:
        raise typer.BadParameter("TEXTS is one text or more, or a file of them; got none")
    return found
