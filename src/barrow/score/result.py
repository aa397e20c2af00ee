"""What `barrow score` writes: OUT/scores.json, and OUT/documents.safetensors."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow import config
from barrow.errors import ScoreError
from barrow.files import make_folder, portable, write_bytes
from barrow.score.card import Card, card_from_dict
from barrow.score.models.model import ModelInfo
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.safetensors_write import write_safetensors

FORMAT = "barrow-score-1"
FILE = "scores.json"


@dataclass(frozen=True)
class Row:
    """The figures of a domain, or of all documents.

    bpb = nats / (bytes · ln 2); `low` and `high` bound it with 95 % by resampling documents, and
    are None with fewer than two documents of text. Without bytes there is no bpb; without tokens
    (compressors) no perplexity per token.
    """

    name: str
    documents: int
    bytes: int
    tokens: int
    nats: float
    bpb: float | None
    low: float | None
    high: float | None
    tokens_per_byte: float | None
    token_perplexity: float | None
    byte_perplexity: float | None
    seconds: float


@dataclass(frozen=True)
class Weighted:
    """The mean of the domains' bits per byte by weights, which sum to 1."""

    bpb: float
    weights: dict[str, float]


@dataclass(frozen=True, eq=False)
class Documents:
    """One row for each document, in corpus order.

    domain      int16: which of `domains`
    bytes       int64: UTF-8 bytes of the text
    tokens      int64: tokens scored
    nats        float64
    text        uint8 [n, 16]: the first bytes of the text's sha256, to pair documents by
    kind_bytes  int64 [n, kinds]: bytes of each kind of text; `kinds` are their names
    kind_nats   float64 [n, kinds]; NaN where only totals are known
    """

    domains: tuple[str, ...]
    kinds: tuple[str, ...]
    domain: npt.NDArray[np.int16]
    bytes: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]
    nats: npt.NDArray[np.float64]
    text: npt.NDArray[np.uint8]
    kind_bytes: npt.NDArray[np.int64]
    kind_nats: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.nats)


@dataclass(frozen=True, eq=False)
class Result:
    """A scored model. `documents` is None if there are no figures per document."""

    model: ModelInfo
    card: Card
    domains: tuple[Row, ...]
    overall: Row
    weighted: Weighted | None = None
    contamination: Mapping[str, Any] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    documents: Documents | None = None

    def as_dict(self) -> dict[str, Any]:
        """What scores.json holds."""
        return {
            "format": FORMAT,
            "model": config.to_dict(self.model),
            "card": self.card.as_dict(),
            "domains": [config.to_dict(row) for row in self.domains],
            "overall": config.to_dict(self.overall),
            "weighted": None if self.weighted is None else config.to_dict(self.weighted),
            "contamination": config.to_dict(self.contamination),
            "versions": config.to_dict(self.versions),
            "settings": config.to_dict(self.settings),
            "seconds": self.seconds,
        }


def result_path(path: str | os.PathLike[str]) -> Path:
    """The file of a result: scores.json of its folder, or the file itself."""
    path = Path(path)
    return path / FILE if path.is_dir() else path


def documents_path(path: str | os.PathLike[str]) -> Path:
    """The documents of a result, beside its file."""
    return result_path(path).with_name("documents.safetensors")


def write_result(folder: str | os.PathLike[str], result: Result) -> Path:
    """Write a result to a folder, its documents first; the path of its scores.json."""
    path = Path(folder) / FILE
    make_folder(path.parent)
    if result.documents is not None:
        held = result.documents
        names = ("domain", "bytes", "tokens", "nats", "text", "kind_bytes", "kind_nats")
        metadata = {
            "format": FORMAT,
            "card": result.card.hash,
            "model": result.model.identity,
            "domains": json.dumps(held.domains, ensure_ascii=False),
            "kinds": json.dumps(held.kinds, ensure_ascii=False),
        }
        arrays = {name: getattr(held, name) for name in names}
        write_safetensors(documents_path(path), arrays, metadata=metadata, beside={})
    table = result.as_dict()
    for key in ("model", "contamination"):
        table[key] = portable(table[key], path.parent)
    text = json.dumps(table, indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(path, (text + "\n").encode())
    return path


def read_result(path: str | os.PathLike[str]) -> Result:
    """A result by its folder or file, without its documents (see `read_documents`)."""
    path = result_path(path)
    data = config.parse_json(path.read_bytes(), path, error=ScoreError)
    return result_from_dict(data, name=str(path))


def result_from_dict(data: Any, *, name: str = "the result") -> Result:
    """What `Result.as_dict` gave; `name` is for messages."""
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        raise ScoreError(
            f"{name} is not a result of `barrow score`: expected the format {FORMAT!r}, "
            f"got {found!r}"
        )
    try:
        result = Result(
            model=config.from_dict(ModelInfo, data["model"]),
            card=card_from_dict(data["card"]),
            domains=tuple(config.from_dict(Row, row) for row in data["domains"]),
            overall=config.from_dict(Row, data["overall"]),
            weighted=None
            if data["weighted"] is None
            else config.from_dict(Weighted, data["weighted"]),
            contamination=data["contamination"],
            versions=data["versions"],
            settings=data["settings"],
            seconds=float(data["seconds"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ScoreError(f"{name} was not written by `barrow score`: {what}") from None
    for row in (*result.domains, result.overall):
        if row.bytes and not _agrees(row):
            raise ScoreError(
                f"{name}: {row.name} has {row.bpb} bits per byte, which does not match its "
                "nats and bytes: it was changed"
            )
    return result


def _agrees(row: Row) -> bool:
    return row.bpb is not None and math.isclose(
        row.bpb, row.nats / (row.bytes * math.log(2)), rel_tol=1e-9, abs_tol=1e-12
    )


def read_documents(path: str | os.PathLike[str], result: Result | None = None) -> Documents:
    """The documents of a result by its folder or file; they must be those of `result`."""
    file = documents_path(path)
    tensors = open_safetensors(file)
    metadata = tensors.metadata or {}
    if result is not None and (metadata.get("card"), metadata.get("model")) != (
        result.card.hash,
        result.model.identity,
    ):
        raise ScoreError(f"{file} does not belong to {path}")
    try:
        documents = Documents(
            domains=tuple(config.parse_json(metadata["domains"], "domains")),
            kinds=tuple(config.parse_json(metadata["kinds"], "kinds")),
            **{
                name: np.array(tensors[name])
                for name in ("domain", "bytes", "tokens", "nats", "text", "kind_bytes", "kind_nats")
            },
        )
    except (KeyError, ValueError) as error:
        raise ScoreError(f"{file} was not written by `barrow score`: {error!r}") from None
    if result is not None and not _add_up(documents, result.overall):
        raise ScoreError(f"{file} does not add up to {path}: it was changed; score again")
    return documents


def _add_up(documents: Documents, overall: Row) -> bool:
    num = overall.documents
    columns = (documents.domain, documents.bytes, documents.nats)
    return (
        all(column.shape == (num,) for column in columns)
        and documents.text.shape == (num, 16)
        and bool(((documents.domain >= 0) & (documents.domain < len(documents.domains))).all())
        and int(documents.bytes.sum()) == overall.bytes
        and math.isclose(documents.nats.sum(), overall.nats, rel_tol=1e-9, abs_tol=1e-9)
    )


_LIBRARIES = ("jax", "numpy", "tokenizers", "torch", "transformers")


def versions() -> dict[str, str]:
    """Of barrow, Python, and those libraries that are loaded."""
    found = {"barrow": _version("barrow"), "python": platform.python_version()}
    return found | {name: _version(name) for name in _LIBRARIES if name in sys.modules}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
