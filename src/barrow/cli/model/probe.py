"""`barrow model probe`: a linear probe on image embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.model.clip_options import Model, Seed, embed_images, open_model
from barrow.cli.options import AsJson, Trust

if TYPE_CHECKING:
    from barrow.models.clip.probe import Labels

# Images of a class, so that each part has one.
_LEAST = 3


def probe(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="A folder with a folder of images for each class."),
    ],
    model: Model,
    test: Annotated[float, typer.Option(help="The part that is tested on.")] = 0.2,
    validation: Annotated[
        float, typer.Option(help="The part of the rest that the strength is chosen on.")
    ] = 0.2,
    split_seed: Annotated[int, typer.Option(help="Decides which images are in which part.")] = 0,
    seed: Seed = 0,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """Logistic regression on image embeddings: its accuracy on images that it has not seen."""
    import numpy as np

    from barrow.models.clip.probe import choose_probe, fit_probe, split

    names, files, labels = _labelled(data)
    of_train, of_validation, of_test = split(
        labels, test=test, validation=validation, seed=split_seed
    )
    opened, preprocess = open_model(model, tokenizer=None, seed=seed, trust=trust)
    features = embed_images(opened, preprocess, files)
    rest = features[of_validation], labels[of_validation]
    chosen, reached = choose_probe(
        features[of_train], labels[of_train], rest, num_classes=len(names)
    )
    both = np.concatenate([of_train, of_validation])
    final = fit_probe(
        features[both], labels[both], num_classes=len(names), strength=chosen.strength
    )
    accuracy = final.accuracy(features[of_test], labels[of_test])
    counts = np.bincount(labels[of_test], minlength=len(names))
    result = {
        "classes": len(names),
        "images": len(files),
        "train": len(both),
        "test": len(of_test),
        "strength": chosen.strength,
        "validation_accuracy": reached,
        "accuracy": accuracy,
        "largest_class": float(counts.max() / counts.sum()),
        "weights": opened.origin,
    }
    if as_json:
        import json

        typer.echo(json.dumps(result, indent=1, ensure_ascii=False))
        return
    typer.echo(f"{len(files):,} images of {len(names):,} classes; {len(of_test):,} tested on")
    typer.echo(f"C = {chosen.strength:.3g}, chosen on {len(of_validation):,} ({reached:.1%} right)")
    typer.echo(f"accuracy {accuracy:.1%}; always the largest class: {result['largest_class']:.1%}")


def _labelled(data: Path) -> tuple[list[str], list[Path], Labels]:
    import numpy as np

    from barrow.errors import NotFound
    from barrow.images.decode import is_image

    if not data.is_dir():
        raise NotFound(f"{data} is not a folder; pass one with a folder of images for each class")
    names: list[str] = []
    files: list[Path] = []
    labels: list[int] = []
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        inside = sorted(p for p in folder.rglob("*") if is_image(p))
        if 0 < len(inside) < _LEAST:
            raise NotFound(
                f"{folder} has fewer than {_LEAST} images ({len(inside)}): a class needs one to "
                "train, one to choose and one to test with"
            )
        if inside:
            labels += [len(names)] * len(inside)
            names.append(folder.name)
            files += inside
    if len(names) < 2:
        raise NotFound(
            f"{data} has images in {len(names)} folders; expected two or more, one for each class"
        )
    return names, files, np.array(labels)
