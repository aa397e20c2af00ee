"""Arguments that the verbs of images and text share."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.model.models import locate_model
from barrow.errors import NotFound

if TYPE_CHECKING:
    from barrow.models.clip import Clip, Preprocess
    from barrow.models.clip.zero_shot import Floats

Model = Annotated[
    str,
    typer.Option(
        help="An OpenAI .pt file, a Hugging Face folder, an open_clip folder or file, a run; or "
        "one of the nine by name (ViT-B/32, RN50, …), with random weights.",
        show_default=False,
    ),
]
Vocabulary = Annotated[
    Path | None,
    typer.Option(
        "--tokenizer",
        help="The tokenizer's vocabulary (bpe_simple_vocab_16e6.txt.gz, or a folder).",
        show_default="beside the weights, the cache, ~/.cache/clip, installed packages",
    ),
]
Seed = Annotated[int, typer.Option(help="Of random weights.")]
Truncate = Annotated[
    bool, typer.Option("--truncate", help="Cut texts longer than the model takes.")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE.html", help="Write a page to look at.", show_default=False),
]


def find_images(given: list[Path]) -> list[Path]:
    """Files as they are, and all images in folders, by name."""
    from barrow.images.decode import SUFFIXES, is_image

    found: list[Path] = []
    for path in given:
        if not path.exists():
            raise NotFound(f"{path} does not exist")
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if is_image(p))
            if not inside:
                raise NotFound(f"{path} holds no image ({', '.join(SUFFIXES)})")
            found += inside
        else:
            found.append(path)
    return found


def lines_of(given: str) -> list[str] | None:
    """The lines of a file; None if the argument is not a file but the text itself."""
    try:
        is_file = Path(given).is_file()
    except (OSError, ValueError):  # longer than a file's name may be, or with bytes of none
        is_file = False
    if is_file:
        try:
            text = Path(given).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{given} is not UTF-8; expected a text file, one per line") from None
        return [line.strip() for line in text.splitlines() if line.strip()]
    if given.endswith(".txt") and "," not in given and " " not in given:
        raise NotFound(f"{given} does not exist")
    return None


def embed_images(model: Clip, preprocess: Preprocess, files: list[Path]) -> Floats:
    """Embeddings of image files; only a batch of them is in memory as pixels."""
    import numpy as np

    parts = [files[start : start + model.batch] for start in range(0, len(files), model.batch)]
    return np.concatenate(
        [model.encode_image(preprocess(part), names=[str(file) for file in part]) for part in parts]
    )


def open_model(
    model: str, *, tokenizer: Path | None, seed: int, trust: Collection[str] | None
) -> tuple[Clip, Preprocess]:
    """The model that a verb's arguments describe; random weights are reported on stderr."""
    from barrow.models import clip
    from barrow.models.clip.variants import VARIANTS
    from barrow.models.compile_cache import keep_compiled
    from barrow.weights.hub.cache import cache_folder

    keep_compiled(cache_folder(os.environ) / "compiled")
    is_name = model in VARIANTS and not Path(model).exists()
    opened, preprocess = clip.load(
        model if is_name else None,
        weights=None if is_name else locate_model(model),
        bpe=tokenizer,
        seed=seed,
        trust=trust or (),
    )
    if is_name:
        typer.echo(f"{opened.origin}: what follows means nothing", err=True)
    return opened, preprocess
