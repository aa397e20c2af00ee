"""What is known about the documents of one part of a corpus, without their texts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save

from barrow.config import parse_json
from barrow.corpus.dedup.minhash import NUM_BANDS
from barrow.files import write_part


@dataclass(frozen=True)
class Facts:
    """Arrays with an element, or a row, for each document.

    `kept`: no filter rejected it. `changed`: a rewriter changed the text. `domain` and `language`
    are indices into `domains` and `languages`. `size` is in UTF-8 bytes; `quality` is the
    classifier's score. `identity` are the two halves of the document's id. `content` is the hash
    that exact duplicates share, `bands` those that near-duplicates share one of. `cluster` is what
    near-duplicates share: the first half of the id of the best of them; 0 for all other documents.
    """

    kept: npt.NDArray[np.bool_]
    changed: npt.NDArray[np.bool_]
    domain: npt.NDArray[np.uint16]
    language: npt.NDArray[np.uint16]
    size: npt.NDArray[np.int64]
    quality: npt.NDArray[np.float32]
    identity: npt.NDArray[np.uint64]
    content: npt.NDArray[np.uint64]
    bands: npt.NDArray[np.uint64]
    cluster: npt.NDArray[np.uint64]
    domains: list[str]
    languages: list[str]

    def __len__(self) -> int:
        return len(self.kept)

    @classmethod
    def blank(cls, num_documents: int) -> Facts:
        """Empty facts of so many documents."""
        return cls(
            kept=np.ones(num_documents, np.bool_),
            changed=np.zeros(num_documents, np.bool_),
            domain=np.zeros(num_documents, np.uint16),
            language=np.zeros(num_documents, np.uint16),
            size=np.zeros(num_documents, np.int64),
            quality=np.zeros(num_documents, np.float32),
            identity=np.zeros((num_documents, 2), np.uint64),
            content=np.zeros((num_documents, 2), np.uint64),
            bands=np.zeros((num_documents, NUM_BANDS), np.uint64),
            cluster=np.zeros(num_documents, np.uint64),
            domains=[],
            languages=[],
        )


_NAMES = ("domains", "languages")
_ARRAYS = tuple(field.name for field in fields(Facts) if field.name not in (*_NAMES, "cluster"))


def save_facts(facts: Facts, path: str | PathLike[str]) -> None:
    """Write the arrays as safetensors; the names are in its metadata."""
    arrays = {name: getattr(facts, name) for name in _ARRAYS}
    # Few documents are in a cluster: only those are written.
    rows = np.flatnonzero(facts.cluster)
    arrays |= {"clustered": rows.astype(np.uint32), "clusters": facts.cluster[rows]}
    # One entry: safetensors writes several in any order, and not twice in the same.
    names = json.dumps({name: getattr(facts, name) for name in _NAMES})
    write_part(Path(path), save(arrays, {"names": names}))


def load_facts(path: str | PathLike[str]) -> Facts:
    """All of a part's facts."""
    with safe_open(path, "numpy") as file:
        values: dict[str, Any] = {name: file.get_tensor(name) for name in _ARRAYS}
        values |= parse_json(file.metadata()["names"], path)
        values["cluster"] = np.zeros(len(values["kept"]), np.uint64)
        values["cluster"][file.get_tensor("clustered")] = file.get_tensor("clusters")
    return Facts(**values)


def load_columns(path: str | PathLike[str], names: Iterable[str]) -> dict[str, npt.NDArray[Any]]:
    """Some of a part's arrays; only their bytes are read."""
    with safe_open(path, "numpy") as file:
        return {name: file.get_tensor(name) for name in names}


def load_band(path: str | PathLike[str], band: int) -> npt.NDArray[np.uint64]:
    """One column of the band hashes."""
    with safe_open(path, "numpy") as file:
        column: npt.NDArray[np.uint64] = file.get_slice("bands")[:, band : band + 1][:, 0]
    return column


def load_names(path: str | PathLike[str]) -> tuple[list[str], list[str]]:
    """The names of domains and languages."""
    with safe_open(path, "numpy") as file:
        names = parse_json(file.metadata()["names"], path)
    return names["domains"], names["languages"]
