"""Parquet rows as JSON lines."""

from __future__ import annotations

import base64
import contextlib
import math
from collections.abc import Iterator
from typing import Any

import msgspec

from barrow.archive.piece import BadLine
from barrow.archive.storage import base_name, open_binary
from barrow.errors import DamagedShard, MissingExtra

_ROWS = 1024
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def parquet_lines(
    path: str, *, text_key: str, max_line: int
) -> Iterator[bytes | BadLine | DamagedShard]:
    """The rows of a parquet file, a batch at a time.

    Nulls and NaNs in a row are left out. Bytes are text if they are UTF-8, else base64; under the
    text key such bytes are a bad record. A JSON object in a column ``meta`` of strings is read.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", f"reading {path}") from None
    with open_binary(path) as raw:
        try:
            table = pyarrow.parquet.ParquetFile(raw)
            names = table.schema_arrow.names
            if len(set(names)) < len(names):
                raise pyarrow.ArrowInvalid(f"two columns of one name among {names}")
            for batch in table.iter_batches(batch_size=_ROWS):
                yield from _batch_lines(_without_nanoseconds(batch), text_key, max_line)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            cause = str(error).splitlines()[0]
            yield DamagedShard(
                f"not readable as parquet ({cause})", reason="corrupt", shard=base_name(path)
            )


def _without_nanoseconds(batch: Any) -> Any:
    """Python's times have microseconds; for more, pyarrow would need pandas."""
    import pyarrow

    for k, field in enumerate(batch.schema):
        if pyarrow.types.is_timestamp(field.type) and field.type.unit == "ns":
            kind = pyarrow.timestamp("us", field.type.tz)
            batch = batch.set_column(k, field.name, batch.column(k).cast(kind, safe=False))
    return batch


def _batch_lines(batch: Any, text_key: str, max_line: int) -> Iterator[bytes | BadLine]:
    lines: list[bytes] = []
    for row in range(batch.num_rows):
        line = _row_line(batch, row, text_key)
        if isinstance(line, bytes) and len(line) > max_line:
            line = BadLine.too_long(line, max_line)
        if isinstance(line, bytes):
            lines.append(line)
            continue
        if lines:
            yield b"".join(lines)
            lines = []
        yield line
    if lines:
        yield b"".join(lines)


def _row_line(batch: Any, row: int, text_key: str) -> bytes | BadLine:
    try:
        values = {
            name: _plain(batch.column(k)[row].as_py(), strict=name == text_key)
            for k, name in enumerate(batch.schema.names)
        }
    except UnicodeDecodeError as error:
        return BadLine("invalid-utf8", f"invalid UTF-8 in a string ({error.reason})", b"")
    except (ValueError, OverflowError) as error:
        return BadLine("not-json", f"a value that cannot be read ({error})", b"")
    record = {name: value for name, value in values.items() if value is not None}
    if isinstance(meta := record.get("meta"), str) and text_key != "meta":
        with contextlib.suppress(ValueError, RecursionError):
            record["meta"] = _OBJECT.decode(meta)
    return msgspec.json.encode(record, enc_hook=str) + b"\n"


def _plain(value: Any, *, strict: bool = False) -> Any:
    """A value as JSON represents it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            if strict:
                raise
            return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
