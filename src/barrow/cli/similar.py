"""`barrow similar`: how near images and texts are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.clip_options import (
    Bpe,
    Model,
    Page,
    Seed,
    Truncate,
    Weights,
    find_images,
    open_model,
    warnings_in_words,
)
from barrow.cli.options import AsJson
from barrow.cli.terminal import printable
from barrow.cli.zeroshot import write_page


def similar(
    images: Annotated[Path, typer.Argument(help="An image, or a folder of them.")],
    texts: Annotated[
        list[str], typer.Argument(metavar="TEXTS...", help="Texts; or a file, one a line.")
    ],
    model: Model = None,
    weights: Weights = None,
    bpe: Bpe = None,
    truncate: Truncate = False,
    seed: Seed = 0,
    page: Page = None,
    as_json: AsJson = False,
) -> None:
    """Similarity of every image with every text: the model's scale (about 100) times the cosine."""
    from barrow.models.clip_zero_shot import classified

    files = find_images([images])
    sentences = _sentences(texts)
    opened, preprocess = open_model(model, weights, bpe, seed)
    with warnings_in_words():
        found = opened.similarity(
            preprocess(files), sentences, names=[str(f) for f in files], truncate=truncate
        )
    if page is not None:
        told = classified(found, sentences)
        write_page(page, f"{len(sentences)} texts", opened.origin, files, told)
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
    if len(given) == 1 and Path(given[0]).is_file():
        given = Path(given[0]).read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(text.strip() for text in given if text.strip()))
