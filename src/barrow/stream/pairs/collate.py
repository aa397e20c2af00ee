"""Numbers of pairs to a batch: read, decode, crop and resize images, choose and encode texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.images import LIMITS, Limits, centre_square, decode, random_box, square
from barrow.images.load import on_threads
from barrow.stream.order.permutation import GOLDEN, derive, mixed
from barrow.stream.pairs.index import PairIndex
from barrow.stream.pairs.settings import PairSettings
from barrow.stream.pairs.texts import TextEncoder
from barrow.stream.part import Part

Numbers = npt.NDArray[np.int64]
PLACED = ("images", "texts", "mask")


@dataclass(frozen=True)
class PairCollate:
    """Pairs of an index to a `PairBatch`. Crop, caption and template of a row are draws of (seed,
    step, row).
    """

    index: PairIndex
    settings: PairSettings
    texts: TextEncoder
    limits: Limits = LIMITS
    threads: int | None = None

    def __call__(self, pairs: Numbers, part: Part) -> PairBatch:
        """The part of a batch that some rows make up."""
        captions, said = self.captions(pairs, part)
        return PairBatch(
            images=self._images(pairs, part),
            texts=self.texts(said),
            mask=pairs >= 0,
            pairs=pairs,
            captions=captions,
        )

    def captions(self, pairs: Numbers, part: Part) -> tuple[Numbers, list[str]]:
        """Which caption of each row's pair is taken, and the text made of it."""
        which = self._draws("pair caption", part)
        template = self._draws("pair template", part)
        templates = self.settings.templates
        numbers = np.full(len(pairs), -1, np.int64)
        said = [""] * len(pairs)
        for row in np.flatnonzero(pairs >= 0).tolist():
            known = self.index.captions(int(pairs[row]))
            is_first = self.settings.caption == "first"
            numbers[row] = 0 if is_first else int(which[row] * len(known))
            said[row] = known[numbers[row]]
            if templates:
                chosen = templates[int(template[row] * len(templates))]
                said[row] = chosen.replace("{}", said[row])
        return numbers, said

    def _images(self, pairs: Numbers, part: Part) -> npt.NDArray[np.uint8]:
        settings, size = self.settings, self.settings.resolution
        assert size is not None  # which `Pairs` checked
        out = np.zeros((len(pairs), size, size, 3), np.uint8)
        real = np.flatnonzero(pairs >= 0).tolist()
        drawn = [self._draws(f"pair {what}", part) for what in ("area", "left", "top")]

        def one(number: int) -> None:
            row = real[number]
            pair = int(pairs[row])
            name = self.index.name(pair)
            image = decode(self.index.read(pair), name=name, limits=self.limits)
            options: Any = {"resolution": size, "background": settings.background, "name": name}
            if settings.crop == "centre":
                out[row] = centre_square(image, **options)
                return
            area, left, top = (float(draw[row]) for draw in drawn)
            box = random_box(*image.size, draws=(area, left, top), min_area=settings.min_area)
            out[row] = square(image, box, **options)

        on_threads(one, len(real), threads=self.threads)
        return out

    def _draws(self, purpose: str, part: Part) -> npt.NDArray[np.float64]:
        return draws(purpose, seed=self.settings.seed, step=part.step, rows=part.rows)


def draws(purpose: str, *, seed: int, step: int, rows: range) -> npt.NDArray[np.float64]:
    """A number in [0, 1) for each row: a hash of (seed, step, row), so any slice draws as the
    whole.
    """
    key = np.uint64(derive(purpose, seed, step))
    places = np.arange(rows.start, rows.stop, dtype=np.uint64)
    words = mixed(mixed(places * np.uint64(GOLDEN)) ^ key)
    return (words >> np.uint64(11)).astype(np.float64) / 2.0**53


@dataclass(frozen=True, eq=False)
class PairBatch:
    """B images of R × R pixels, and a text for each.

    `images` is uint8 [B, R, R, 3] (`barrow.images.normalise` makes model inputs of it, on the
    device), `texts` int32 [B, context] ids. `mask` is true for a pair; the end of a last, partial
    batch is padding: black images, texts of no words. `pairs` has the number of each pair in the
    index and `captions` which of its captions was taken; −1 in padding.
    """

    images: npt.NDArray[np.uint8]
    texts: npt.NDArray[np.int32]
    mask: npt.NDArray[np.bool_]
    pairs: npt.NDArray[np.int64]
    captions: npt.NDArray[np.int64]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What goes to a device, by name."""
        return {name: getattr(self, name) for name in PLACED}

    @property
    def num_pairs(self) -> int:
        """Pairs without padding."""
        return int(np.count_nonzero(self.mask))
