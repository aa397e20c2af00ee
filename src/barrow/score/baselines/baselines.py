"""`uniform`, `unigram` and `ngram:N`: opened by name, trained on a train split, cached."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import barrow.archive
from barrow.archive import Archive, read_catalog
from barrow.archive.storage import CATALOG_NAME, ByteRanges, exists, is_folder, join
from barrow.score.baselines.byte_models import Ngram, Uniform, Unigram
from barrow.score.baselines.ngram_counts import MAX_ORDER, NgramCounts, count_ngrams
from barrow.score.models.model import Model
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.safetensors_write import write_safetensors

DEFAULT_ORDER = 5

# Part of the names of cached counts: increased when counting changes.
_FORMAT = "barrow-ngram-1"
_NAME = re.compile(r"(uniform|unigram|ngram)(?::(.*))?", re.DOTALL)


def is_baseline(name: str) -> bool:
    """Whether a model's name is that of a baseline."""
    return _NAME.fullmatch(name) is not None


def open_baseline(
    name: str,
    *,
    train: str | os.PathLike[str] | None = None,
    cache: Path | None = None,
) -> Model:
    """A baseline by its name.

    `train` is the archive to train on; for a corpus, its train split. `cache` is a folder that
    keeps counts under the hash of their text, usually beside the scores.
    """
    kind, order = _parsed(name)
    if kind == "uniform":
        return Uniform()
    if train is None:
        raise ValueError(
            f"{name} needs a train split: score a corpus that has one, or pass a corpus to train on"
        )
    text = training_text(train)
    counts = _kept_counts(text, order, cache)
    if not counts.num_bytes:
        raise ValueError(f"{text.name} has no text to train {name} on")
    about = {"train": text.name, "train_digest": text.digest}
    if kind == "ngram":
        return Ngram(counts, about=about)
    found = np.zeros(256, np.int64)
    found[counts.keys.astype(np.intp)] = counts.counts
    return Unigram(found, about=about)


def _parsed(name: str) -> tuple[str, int]:
    """Kind, and bytes of its n-grams."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"a baseline must be uniform, unigram or ngram:N, got {name!r}")
    kind, order = found[1], found[2]
    if kind != "ngram":
        if order is not None:
            raise ValueError(f"{kind} takes no number, got {name!r}")
        return kind, 1
    if order is None:
        return kind, DEFAULT_ORDER
    if not re.fullmatch(r"[1-9]", order) or int(order) > MAX_ORDER:
        raise ValueError(f"N of ngram:N must be from 1 to {MAX_ORDER}, as ngram:5, got {name!r}")
    return kind, int(order)


def _kept_counts(text: TrainingText, order: int, cache: Path | None) -> NgramCounts:
    if cache is None:
        return count_ngrams(text.archive.blocks(), order)
    path = cache / f"ngram-{order}-{text.digest[:16]}.safetensors"
    known = {"format": _FORMAT, "order": str(order), "digest": text.digest}
    if path.exists():
        kept = open_safetensors(path)
        metadata = kept.metadata or {}
        if known.items() <= metadata.items():
            return NgramCounts(
                order,
                np.array(kept["keys"]),
                np.array(kept["counts"]),
                int(metadata["bytes"]),
                int(metadata["dropped"]),
            )
    counts = count_ngrams(text.archive.blocks(), order)
    known |= {"bytes": str(counts.num_bytes), "dropped": str(counts.num_dropped)}
    write_safetensors(path, {"keys": counts.keys, "counts": counts.counts}, metadata=known)
    return counts


_READ = 1 << 24


@dataclass(frozen=True, eq=False)
class TrainingText:
    """`digest` is the sha256 of what decides the documents of `archive`: those of its files."""

    name: str
    archive: Archive
    digest: str


def training_text(path: str | os.PathLike[str]) -> TrainingText:
    """The documents at a path: an archive, a file, or a corpus, whose train split is meant."""
    name = os.fspath(path)
    archive = barrow.archive.open(name)
    if is_folder(name) and exists(join(name, CATALOG_NAME)):
        digests = [shard.sha256 for shard in read_catalog(name).shards]
    else:
        digests = [_sha256(file) for file in archive.paths]
    return TrainingText(name, archive, hashlib.sha256("\n".join(digests).encode()).hexdigest())


def _sha256(path: str) -> str:
    file = ByteRanges(path)
    found = hashlib.sha256()
    for start in range(0, file.size, _READ):
        found.update(file.read(start, _READ))
    return found.hexdigest()
