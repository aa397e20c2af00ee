"""Vectors of many texts in one safetensors file, with ids and hashes of the texts.

embeddings  float32 [rows, width]
sha256      uint8 [rows, 32], of the text's UTF-8 bytes
num_tokens  int32 [rows], begin and end among them
num_cut     int32 [rows], tokens that truncation cut off
ids         uint8: the ids as UTF-8, one after another; id i ends at id_ends[i]
id_ends     int64 [rows]
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from barrow.files import make_folder
from barrow.models.roberta.encode import Pool, embed
from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.model import Roberta
from barrow.models.rows import text_rows
from barrow.weights.safetensors_write import write_safetensors
from barrow.weights.tensors import LazyTensor, Tensors, lazy

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer

_AT_A_TIME = 256


@dataclass(frozen=True)
class Embedded:
    """What was written: rows, all their tokens, and how many rows were truncated."""

    num_rows: int
    num_tokens: int
    num_truncated: int


@dataclass
class _Columns:
    """The other columns of each row, in few bytes."""

    hashes: bytearray = field(default_factory=bytearray)
    tokens: array[int] = field(default_factory=lambda: array("i"))
    cut: array[int] = field(default_factory=lambda: array("i"))
    ids: bytearray = field(default_factory=bytearray)
    ends: array[int] = field(default_factory=lambda: array("q"))

    def tensors(self) -> dict[str, LazyTensor]:
        known = lazy(self._arrays())
        return {name: known.entry(name) for name in known}

    def _arrays(self) -> dict[str, Any]:
        return {
            "sha256": np.frombuffer(self.hashes, np.uint8).reshape(-1, 32),
            "num_tokens": np.array(self.tokens, np.int32),
            "num_cut": np.array(self.cut, np.int32),
            "ids": np.frombuffer(self.ids, np.uint8),
            "id_ends": np.array(self.ends, np.int64),
        }


def embed_to_file(
    path: str | os.PathLike[str],
    texts: Iterable[tuple[str, str]],
    *,
    model: Roberta | RobertaWithHead,
    params: Mapping[str, Any],
    tokenizer: Tokenizer,
    layer: int = -1,
    pool: Pool = "mean",
    truncate: bool = False,
    tokens: int | None = None,
    ahead: int = 2048,
    on_bytes: Callable[[int], None] | None = None,
) -> Embedded:
    """Embed texts, given as ids and texts, into a file that is replaced; see `encode.embed`.

    Memory does not grow with the vectors, which are kept beside the file until their number is
    known. `on_bytes` gets the bytes of text done since the last call.
    """
    path = Path(path)
    if path.suffix != ".safetensors":
        raise ValueError(f"the path of embeddings must end in .safetensors, got {path.name}")
    make_folder(path.parent)
    kept = _Columns()
    sizes = array("q")
    rows = _rows(iter(texts), kept, sizes, tokenizer, model, truncate)
    width = model.config.width
    done = 0
    with tempfile.TemporaryFile(dir=path.parent) as spool:
        found = embed(model, params, rows, layer=layer, pool=pool, tokens=tokens, ahead=ahead)
        for block in found:
            spool.write(block.tobytes())
            if on_bytes is not None:
                on_bytes(sum(sizes[done : done + len(block)]))
            done += len(block)
        spool.flush()

        def read() -> Any:
            if not done:
                return np.empty((0, width), np.float32)
            return np.memmap(spool, np.float32, "r", shape=(done, width))

        vectors = LazyTensor((done, width), np.dtype(np.float32), read)
        metadata = {"layer": str(layer), "pool": pool, "tokenizer": tokenizer.hash}
        write_safetensors(
            path, Tensors({"embeddings": vectors, **kept.tensors()}), metadata=metadata
        )
    return Embedded(done, sum(kept.tokens), sum(num > 0 for num in kept.cut))


def _rows(
    texts: Iterator[tuple[str, str]],
    kept: _Columns,
    sizes: array[int],
    tokenizer: Tokenizer,
    model: Roberta | RobertaWithHead,
    truncate: bool,
) -> Iterator[Any]:
    while some := list(islice(texts, _AT_A_TIME)):
        made = text_rows(
            tokenizer,
            [text for _, text in some],
            config=model.config,
            truncate=truncate,
            first=len(sizes),
        )
        for (name, text), row in zip(some, made, strict=True):
            data = text.encode()
            sizes.append(len(data))
            kept.hashes += hashlib.sha256(data).digest()
            kept.tokens.append(len(row.tokens))
            kept.cut.append(row.num_cut)
            kept.ids += name.encode()
            kept.ends.append(len(kept.ids))
            yield row.tokens


def read_ids(tensors: Mapping[str, Any]) -> list[str]:
    """The ids of a file's rows, out of its tensors."""
    data = np.asarray(tensors["ids"]).tobytes()
    ends = np.asarray(tensors["id_ends"]).tolist()
    return [data[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]
