"""A random share of the documents, the same ones on every run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xxhash

from barrow.archive.document import identity_of
from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.texts import Texts
from barrow.corpus.mixture import Places, below, places
from barrow.errors import ConfigError

_PURPOSE = 1 << 32  # no other draws of a build are made for it


@dataclass(frozen=True)
class Sample(Filter):
    """Keeps a random `share` of the documents, drawn by their ids and `seed`.

    A larger share contains a smaller one. Copies of a text are kept or rejected together, so that
    duplicates are as frequent in the sample as in the whole.

    - `share`: of the documents, > 0 and ≤ 1
    - `seed`: another one draws other documents
    """

    share: float
    seed: int = 42

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ConfigError(f"share must be > 0 and ≤ 1, got {self.share}")

    @property
    def reasons(self) -> tuple[str, ...]:
        return ("not-sampled",)

    def decide(self, texts: Texts) -> Decisions:
        drawn = draws(texts, self.seed, _PURPOSE)
        decisions = Decisions.keep_all(len(texts))
        decisions.reject(1, ~below(drawn, self.share), drawn / 2.0**64)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        del reason
        return f"drew {value:.4f}, not less than {self.share}"


def draws(texts: Texts, seed: int, purpose: int) -> Places:
    """Uniform numbers of 64 bits, by the half of each id that its text decides."""
    halves = [identity_of(meta.get("id"))[0] for meta in texts.metas]
    for i, half in enumerate(halves):
        if not half:  # not yet a document of a build
            text = texts.text[texts.offsets[i] : texts.offsets[i + 1]]
            halves[i] = xxhash.xxh64_intdigest(text.tobytes())
    return places(np.array(halves, np.uint64), seed, purpose)
