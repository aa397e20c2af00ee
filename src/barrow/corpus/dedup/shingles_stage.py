"""The shingles of the documents of one part that are in some candidate pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.corpus.build.parts import PartFiles
from barrow.corpus.dedup.minhash import shingle_hashes
from barrow.corpus.dedup.numbering import load_arrays, save_arrays
from barrow.corpus.dedup.passages.part_texts import part_texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Words, word_hashes
from barrow.engine import File, Output, Outputs, Stage


@dataclass(frozen=True)
class Settings:
    """A part: its first document in the file, its number among all, and how many there are."""

    start: int
    offset: int
    size: int


@dataclass(frozen=True)
class Inputs:
    """The texts of a part, and the candidate pairs."""

    part: PartFiles
    pairs: File


class Shingles(Outputs):
    """Hashes of shingles, by document."""

    hashes = Output("hashes.safetensors", temporary=True)


def shingle(settings: Settings, inputs: Inputs, out: Shingles) -> None:
    """Hash the shingles of the texts that are needed, as filters left them."""
    needed = load_arrays(inputs.pairs)["needed"] - settings.offset
    rows = needed[(needed >= 0) & (needed < settings.size)]
    wanted = np.zeros(settings.size, np.bool_)
    wanted[rows] = True
    scratch = Scratch()
    shingles: list[Words] = []
    for texts in part_texts(inputs.part, settings.start, wanted):
        found = shingle_hashes(word_hashes(texts.text, texts.offsets, scratch), scratch)
        shingles.append(Words(found.hashes.copy(), found.offsets))
    sizes = np.concatenate([np.diff(words.offsets) for words in shingles])
    save_arrays(
        out.hashes,
        numbers=rows + settings.offset,
        hashes=np.concatenate([words.hashes for words in shingles]),
        offsets=np.r_[0, np.cumsum(sizes)].astype(np.int64),
    )


SHINGLES = Stage("corpus.shingles", 1, shingle, Shingles)
