"""`barrow model zeroshot`: classify images by the names of classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from barrow.cli.options import AsJson, Trust
from barrow.cli.terminal import printable

if TYPE_CHECKING:
    from barrow.models.clip import ZeroShot


def zeroshot(
    images: Annotated[
        list[Path], typer.Argument(metavar="IMAGES...", help="Files, and folders of them.")
    ],
    classes: Annotated[
        str, typer.Option(help="Names, commas between them; or a file, one per line.")
    ],
    model: Model,
    templates: Annotated[
        str,
        typer.Option(
            help="plain, seven or eighty sentences to put names into; or a file, one per line, "
            "with {} for the name; or one sentence."
        ),
    ] = "plain",
    tokenizer: Vocabulary = None,
    top: Annotated[int, typer.Option(min=1, help="Classes shown for each image.")] = 5,
    truncate: Truncate = False,
    seed: Seed = 0,
    trust: Trust = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Classify images by the names of classes.

    Where every image is in a folder named as one of the classes, the accuracy is printed too.
    """
    files = find_images(images)
    names = _classes(classes)
    sentences = _templates(templates)
    opened, preprocess = open_model(model, tokenizer=tokenizer, seed=seed, trust=trust)
    found = opened.zero_shot(
        embed_images(opened, preprocess, files), names, sentences, truncate=truncate
    )
    if out is not None:
        about = f"{len(names):,} classes, templates {templates}; weights: {opened.origin}"
        write_page(out, "Images and their classes", about, files, found, num=top)
    truth = [file.parent.name for file in files]
    accuracy = found.accuracy(truth) if set(truth) <= set(names) else None
    if as_json:
        import json

        result: Any = [
            {
                "image": str(file),
                "classes": [
                    {"name": name, "probability": share, "similarity": similarity}
                    for name, share, similarity in found.top(number, top)
                ],
            }
            for number, file in enumerate(files)
        ]
        if accuracy is not None:
            result = {"accuracy": accuracy, "images": result}
        typer.echo(json.dumps(result, indent=1, ensure_ascii=False))
        return
    for number, file in enumerate(files):
        typer.echo(printable(str(file)))
        for name, share, similarity in found.top(number, top):
            typer.echo(f"  {share:7.2%}  {similarity:7.2f}  {printable(name)}")
    if accuracy is not None:
        typer.echo(f"accuracy: {accuracy:.2%} of {len(files):,} images, by their folders' names")


def write_page(
    path: Path, title: str, about: str, files: list[Path], found: ZeroShot, *, num: int
) -> None:
    """The page of images and their classes or texts."""
    from barrow.files import write_bytes
    from barrow.models.clip.page import Shown, page

    shown = [
        Shown(str(file), file.read_bytes(), found.top(number, num))
        for number, file in enumerate(files)
    ]
    several = f"{len(files):,} images" if len(files) > 1 else "1 image"
    legend = "Bars: probability among them all; last: similarity, scale times cosine."
    write_bytes(path, page(title, f"{several}, {about}. {legend}", shown).encode())


def _templates(given: str) -> tuple[str, ...]:
    from barrow.models.clip.templates import TEMPLATES

    if given in TEMPLATES:
        return TEMPLATES[given]
    if "{}" in given:
        return (given,)
    lines = lines_of(given)
    if lines is None:
        raise typer.BadParameter(
            f"--templates is {', '.join(TEMPLATES)}, a file, or a sentence with {{}}, got {given!r}"
        )
    return tuple(lines)


def _classes(given: str) -> list[str]:
    lines = lines_of(given)
    names = [n.strip() for n in given.split(",") if n.strip()] if lines is None else lines
    if len(names) < 2:
        got = f"only {names[0]!r}, which every image would be" if names else "none"
        raise typer.BadParameter(
            f"--classes is two names or more, with commas between, or a file of them; got {got}"
        )
    return names
