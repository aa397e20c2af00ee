"""safetensors: written a part at a time; headers are fully checked before use.

The library does neither: it writes whole arrays from memory, and reads NumPy copies where we map
(docs/design/0005-files.md has the figures).

A file is 8 bytes of length, little-endian; so many bytes of JSON, an object of name → ``{dtype,
shape, data_offsets}`` and perhaps ``__metadata__``; then the elements. The spans cover the rest of
the file exactly, without gap or overlap.

The metadata of a model's file has its checksums under `SUMS`: a JSON object of ``tensors``, the
SHA-256 of the elements of each; ``files``, that of other files in the folder; and ``metadata``,
that of the other metadata as sorted compact JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import WeightsError
from barrow.files.atomic import WrittenFile, atomic_file
from barrow.files.dtypes import dtype_of, is_known, name_of, width_of

MAX_HEADER = 100_000_000  # the limit of the safetensors library
METADATA = "__metadata__"
SUMS = "barrow.sha256"

_MAX_DIMS = 32  # of NumPy 1; later ones allow 64


@dataclass(frozen=True)
class Span:
    """The place of a tensor: element type, shape, first byte within the file, length."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    num_bytes: int


@dataclass(frozen=True)
class Sums:
    """SHA-256 by name: of all tensors of a file, and of other files in its folder."""

    tensors: Mapping[str, str]
    files: Mapping[str, str]


@dataclass(frozen=True)
class Header:
    """The tensors that a file declares, its metadata, and its checksums where it has some."""

    spans: Mapping[str, Span]
    metadata: Mapping[str, str]
    sums: Sums = Sums({}, {})


@dataclass(frozen=True, slots=True)
class Column:
    """An array to be written: `parts`, one after another, are its elements."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    parts: Iterable[npt.NDArray[Any]]


def write_arrays(
    path: Path,
    columns: Mapping[str, Column],
    *,
    metadata: Mapping[str, str],
    alignment: int = 8,
    beside: Mapping[str, str] | None = None,
) -> WrittenFile:
    """Write a file, atomically, in the order given; the same contents give the same bytes.

    Each part is fetched when it is written and released after. Data begins at a multiple of
    `alignment`; with the widest elements first, every array is aligned without gaps. With `beside`,
    the SHA-256 of other files in the folder, the metadata has these and those of the arrays; the
    file itself is not hashed.
    """
    digests = {name: hashlib.sha256() for name in columns}

    def head() -> bytes:
        """All that precedes the data, of the same length before and after the data are hashed."""
        sums = {} if beside is None else {SUMS: _sums_text(digests, beside, metadata)}
        said = {**metadata, **sums}
        text = json.dumps(
            {METADATA: said, **table} if said else table, ensure_ascii=False, separators=(",", ":")
        ).encode()
        text += b" " * (-(8 + len(text)) % alignment)
        return len(text).to_bytes(8, "little") + text

    table: dict[str, Any] = {}
    at = 0
    for name, column in columns.items():
        end = at + math.prod(column.shape) * column.dtype.itemsize
        dtype = name_of(column.dtype)
        table[name] = {"dtype": dtype, "shape": list(column.shape), "data_offsets": [at, end]}
        at = end
    first = head()
    if len(first) - 8 > MAX_HEADER:
        raise ValueError(
            f"header of {len(first) - 8:,} bytes, must be ≤ {MAX_HEADER:,}; use more shards"
        )
    with atomic_file(path, hashed=beside is None) as file:
        file.write(first)
        start = file.num_bytes
        for name, column in columns.items():
            for part in column.parts:
                if part.size:  # an empty view cannot be cast to bytes
                    little = np.ascontiguousarray(part, dtype_of(table[name]["dtype"]))
                    data = little.reshape(-1).view(np.uint8).data
                    file.write(data)
                    if beside is not None:
                        digests[name].update(data)
            expected = start + table[name]["data_offsets"][1]
            assert file.num_bytes == expected, f"{name} does not have the dtype and shape announced"
        if beside is not None:
            file.rewrite(head())
    return file.written


def read_header(path: Path) -> Header:
    """The header of a file, checked to describe exactly its bytes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = header_length(file.read(8), path=path, file_size=size)
        return parse_header(file.read(length), path=path, file_size=size)


def is_possible(shape: Sequence[int]) -> bool:
    """Whether NumPy can have an array of that shape; an empty one may be too long elsewhere."""
    return len(shape) <= _MAX_DIMS and math.prod(dim or 1 for dim in shape) < 1 << 58


def header_length(prefix: bytes, *, path: Path, file_size: int) -> int:
    """Bytes of JSON, from the first 8 bytes of a file."""
    if len(prefix) < 8:
        raise WeightsError(
            f"expected at least 8 bytes, got {len(prefix)}: cut short, or not safetensors",
            path=path,
        )
    length = int.from_bytes(prefix[:8], "little")
    if length > MAX_HEADER:
        raise WeightsError(
            f"header of {length:,} bytes, must be ≤ {MAX_HEADER:,}: not safetensors?",
            path=path,
        )
    if 8 + length > file_size:
        raise WeightsError(
            f"the header ends at byte {8 + length:,}, the file at {file_size:,}: cut short",
            path=path,
        )
    return length


def parse_header(text: bytes, *, path: Path, file_size: int) -> Header:
    """Parse the JSON of a header and check all of it against the size of the file."""
    try:
        if not text.startswith(b"{"):
            raise ValueError("it does not begin with '{'")
        table = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"the header is not a JSON object: {error}", path=path) from None
    metadata = table.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise WeightsError(f"{METADATA} is not a table of strings", path=path)
    data_start = 8 + len(text)
    spans = {
        name: _span(name, claim, path=path, data_start=data_start, file_size=file_size)
        for name, claim in table.items()
    }
    _check_cover(spans, path=path, data_start=data_start, file_size=file_size)
    text_of_sums = metadata.pop(SUMS, None)
    if text_of_sums is None:
        return Header(spans, metadata)
    return Header(spans, metadata, _parsed_sums(text_of_sums, spans, metadata, path=path))


def _sums_text(
    digests: Mapping[str, hashlib._Hash], files: Mapping[str, str], metadata: Mapping[str, str]
) -> str:
    tensors = {name: digest.hexdigest() for name, digest in digests.items()}
    table = {"tensors": tensors, "files": files, "metadata": _digest_of(metadata)}
    return json.dumps(table, sort_keys=True, separators=(",", ":"))


def _parsed_sums(
    text: str, spans: Mapping[str, Span], metadata: Mapping[str, str], *, path: Path
) -> Sums:
    try:
        table = json.loads(text)
        found = Sums(dict(table["tensors"]), dict(table["files"]))
        fits = found.tensors.keys() == spans.keys() and table["metadata"] == _digest_of(metadata)
    except (ValueError, TypeError, KeyError, RecursionError):
        fits = False
    if not fits:
        raise WeightsError(
            "the header does not fit its checksums; the file was changed after it was written: "
            "copy it again",
            path=path,
        )
    return found


def _digest_of(metadata: Mapping[str, str]) -> str:
    text = json.dumps(dict(metadata), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} occurs twice")
    return table


def _span(name: str, claim: Any, *, path: Path, data_start: int, file_size: int) -> Span:
    def wrong(cause: str) -> WeightsError:
        return WeightsError(cause, path=path, tensor=name)

    if not isinstance(claim, dict) or set(claim) != {"dtype", "shape", "data_offsets"}:
        raise wrong(f"expected dtype, shape and data_offsets, got {_short(claim)}")
    dtype, shape, offsets = claim["dtype"], claim["shape"], claim["data_offsets"]
    if not isinstance(dtype, str) or not is_known(dtype):
        raise wrong(f"unknown dtype {_short(dtype)}")
    if not _is_counts(shape) or not is_possible(shape):
        raise wrong(f"shape is not a list of counts: {_short(shape)}")
    if not _is_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise wrong(f"data_offsets are not [begin, end]: {_short(offsets)}")
    begin, end = offsets
    expected = math.prod(shape) * width_of(dtype)
    if end - begin != expected:
        raise wrong(f"{dtype} of shape {shape} needs {expected:,} bytes, got {end - begin:,}")
    if data_start + end > file_size:
        raise wrong(
            f"ends at byte {data_start + end:,}, the file at {file_size:,}: cut short, or wrong"
        )
    return Span(dtype, tuple(shape), data_start + begin, end - begin)


def _check_cover(spans: Mapping[str, Span], *, path: Path, data_start: int, file_size: int) -> None:
    at, before = data_start, None
    for name, span in sorted(spans.items(), key=lambda item: (item[1].start, item[1].num_bytes)):
        if span.start < at:
            raise WeightsError(f"overlaps {before!r}", path=path, tensor=name)
        if span.start > at:
            raise WeightsError(
                f"begins at byte {span.start:,}, expected {at:,}: a {span.start - at:,}-byte gap",
                path=path,
                tensor=name,
            )
        at, before = span.start + span.num_bytes, name
    if at != file_size:
        raise WeightsError(
            f"the tensors end at byte {at:,}, the file at {file_size:,}: unused bytes",
            path=path,
        )


def _is_counts(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1 << 63 for v in value
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
