"""The stage that makes the index of a domain from its shards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.engine import File, Output, Outputs, Stage
from barrow.files.safetensors import Column
from barrow.tokens.store.array_file import write_arrays
from barrow.tokens.store.join import save_written
from barrow.tokens.store.token_file import TokenFile


@dataclass(frozen=True)
class Settings:
    """The domain, and the type of an id."""

    domain: str
    dtype: str


class Indexed(Outputs):
    """Where documents begin, and the size and checksum of that file."""

    starts = Output("index.safetensors")
    entry = Output("entry.json")


def index(settings: Settings, files: tuple[File, ...], out: Indexed) -> None:
    """Write where documents of a domain begin, and the last ends, in the tokens of its shards."""
    shards = [TokenFile.open(file.path, np.dtype(settings.dtype)) for file in files]
    documents = sum(shard.document_starts[-1] for shard in shards)

    def starts() -> Iterator[npt.NDArray[np.uint64]]:
        yield np.zeros(1, np.uint64)
        tokens = 0
        for shard in shards:
            for rows in shard.rows("offsets", 1, shard.document_starts[-1] + 1):
                yield rows + np.uint64(tokens)
            tokens += shard.token_starts[-1]

    column = Column(np.dtype("<u8"), (documents + 1,), starts())
    written = write_arrays(out.starts.path, {"starts": column}, note={"domain": settings.domain})
    save_written(written, out.entry)


INDEX = Stage("tokens.index", 1, index, Indexed)
