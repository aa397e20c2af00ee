"""Parquet rows as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from barrow.archive.storage import base_name, open_binary
from barrow.errors import DamagedShard, MissingExtra

_ROWS = 1024


def parquet_lines(path: str) -> Iterator[bytes | DamagedShard]:
    """The rows of a parquet file, a batch at a time; nulls in a row are left out."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", f"reading {path}") from None
    encoder = msgspec.json.Encoder()
    with open_binary(path) as raw:
        try:
            table = pyarrow.parquet.ParquetFile(raw)
            for batch in table.iter_batches(batch_size=_ROWS):
                yield encoder.encode_lines([_without_nulls(row) for row in batch.to_pylist()])
        except (pyarrow.ArrowException, OSError) as error:
            cause = str(error).splitlines()[0]
            yield DamagedShard(
                f"not readable as parquet ({cause})", reason="corrupt", shard=base_name(path)
            )


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None}
