"""Lines of JSON objects, one a record, from a file that may be packed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from barrow.corpus.input.unpack import BadArchive, open_unpacked
from barrow.corpus.readers.reader import Reject, excerpt


def json_lines(
    path: Path, *, max_line: int = 1 << 26
) -> Iterator[tuple[int, dict[str, Any]] | Reject]:
    """Number, from 1, and object of each line; blank lines are skipped.

    Reasons: ``bad-json``, ``too-long`` (a line over `max_line` bytes), and those of `BadArchive`.
    """
    decode = msgspec.json.Decoder().decode
    number = 0
    try:
        with open_unpacked(path) as file:
            while line := file.readline(max_line + 1):
                number += 1
                member = f"line {number}"
                if len(line) > max_line:
                    yield Reject("too-long", f"more than {max_line:,} bytes", member, excerpt(line))
                    while line and not line.endswith(b"\n"):
                        line = file.readline(1 << 16)
                    continue
                if not line.strip():
                    continue
                try:
                    record = decode(line)
                except (ValueError, RecursionError) as error:
                    yield Reject("bad-json", str(error), member, excerpt(line))
                    continue
                if isinstance(record, dict):
                    yield number, record
                else:
                    yield Reject("bad-json", "not an object", member, excerpt(line))
    except BadArchive as error:
        yield error.as_reject(f"line {number + 1}" if number else "")
