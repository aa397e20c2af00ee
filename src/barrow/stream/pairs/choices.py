"""What may be said about a stream of pairs in one line of `key=value`, and the stream it means."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from barrow.stream.pairs.index import PairIndex
from barrow.stream.pairs.settings import CaptionKind, CropKind
from barrow.stream.pairs.stream import PairStream, natural_mixture
from barrow.stream.pairs.texts import TextEncoder
from barrow.stream.schedule import Mixture


@dataclass(frozen=True)
class PairChoices:
    """Flat settings: one phase, whose mixture is by `weights` or `epochs` of the index's sources.

    Without either, pairs of all sources are read in proportion to their number. `resolution` is the
    model's where it is None. The rest is as in `PairSettings`.
    """

    batch: int | None = None
    seed: int = 0
    resolution: int | None = None
    weights: dict[str, float] | None = None
    epochs: dict[str, float] | None = None
    max_epochs: dict[str, float] | float | None = None
    crop: CropKind = "random"
    min_area: float = 1.0
    background: tuple[int, int, int] | None = None
    caption: CaptionKind = "random"
    templates: tuple[str, ...] = ()
    kind: Literal["pairs"] = "pairs"


def make_pairs(
    index: PairIndex | str | os.PathLike[str],
    choices: PairChoices,
    *,
    texts: TextEncoder,
    resolution: int | None = None,
    threads: int | None = None,
) -> PairStream:
    """The stream of an index that choices mean; `resolution` is that of the model."""
    from barrow.stream.pairs.index import open_index

    opened = index if isinstance(index, PairIndex) else open_index(index)
    if choices.weights is not None or choices.epochs is not None:
        mixture = Mixture(choices.weights, choices.epochs, max_epochs=choices.max_epochs)
    else:
        mixture = natural_mixture(opened, max_epochs=choices.max_epochs)
    wanted = [size for size in (choices.resolution, resolution) if size is not None]
    if len(set(wanted)) > 1:
        raise ValueError(f"resolution is {wanted[0]} in the choices, and the model's {wanted[1]}")
    if not wanted or choices.batch is None:
        raise ValueError("say batch=… and resolution=…: pairs of a step, and pixels of a side")
    return PairStream(
        opened,
        texts=texts,
        seed=choices.seed,
        batch=choices.batch,
        resolution=wanted[0],
        mixture=mixture,
        crop=choices.crop,
        min_area=choices.min_area,
        background=choices.background,
        caption=choices.caption,
        templates=choices.templates,
        threads=threads,
    )
