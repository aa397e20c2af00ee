"""Settings of image–text pairs: with index and encoder, all that batches depend on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from barrow.errors import ConfigError
from barrow.images import LIMITS, Limits
from barrow.stream.settings import OrderSettings

if TYPE_CHECKING:
    from barrow.stream.pairs.index import PairIndex
    from barrow.stream.pairs.pairs import Pairs
    from barrow.stream.pairs.texts import TextEncoder

CropKind = Literal["random", "centre"]
CaptionKind = Literal["random", "first"]


@dataclass(frozen=True, kw_only=True)
class PairSettings(OrderSettings):
    """What a stream of pairs is made of, beside its index; domains are the index's sources.

    - `schedule`: its seq_len is ignored.
    - `kind`: says in JSON that these are pairs.
    - `resolution`: pixels of a side; None where a model decides it.
    - `crop`: a "random" square of each image, different in every epoch, or the "centre".
    - `min_area`: of a random square, as a share of the largest.
    - `background`: the colour of transparent pixels; None for the colour stored in them.
    - `caption`: which one of an image's captions, "random" or the "first".
    - `templates`: a caption replaces ``{}`` in one of them, drawn each time.
    """

    resolution: int | None = None
    crop: CropKind = "random"
    min_area: float = 1.0
    background: tuple[int, int, int] | None = None
    caption: CaptionKind = "random"
    templates: tuple[str, ...] = ()
    kind: Literal["pairs"] = "pairs"

    def __post_init__(self) -> None:
        if self.resolution is not None and self.resolution < 1:
            raise ConfigError(f"resolution: expected 1 or more pixels, got {self.resolution}")
        if not 0 < self.min_area <= 1:
            raise ConfigError(f"min_area must be > 0 and ≤ 1, got {self.min_area}")
        if self.crop not in ("random", "centre"):
            raise ConfigError(f"crop must be random or centre, got {self.crop!r}")
        if self.crop == "centre" and self.min_area != 1:
            raise ConfigError("min_area needs crop 'random'; leave it out")
        if self.caption not in ("random", "first"):
            raise ConfigError(f"caption must be random or first, got {self.caption!r}")
        for template in self.templates:
            if template.count("{}") != 1:
                raise ConfigError(
                    "a template needs one {} for the caption, as in 'a photo of a "
                    f"{{}}.', got {template!r}"
                )
        if self.background is not None and (
            len(self.background) != 3 or not all(0 <= value <= 255 for value in self.background)
        ):
            raise ConfigError(
                f"background: expected red, green and blue from 0 to 255, got {self.background}"
            )

    def open(
        self,
        index: PairIndex | str | os.PathLike[str],
        *,
        texts: TextEncoder,
        limits: Limits = LIMITS,
        threads: int | None = None,
    ) -> Pairs:
        """The pairs of an index, captions encoded by `texts`. `threads` decode, one for each core
        by default.
        """
        from barrow.stream.pairs.index import open_index
        from barrow.stream.pairs.pairs import Pairs

        if isinstance(index, str | os.PathLike):
            index = open_index(index)
        return Pairs(index, self, texts, limits, threads)
