"""Records of jsonl, csv and archives, each with its place for errors."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.errors import NotFound

_JSON_LINES = (".jsonl", ".ndjson")
_TABLES = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class Record:
    """Values by key, and their place: "reviews.csv, line 12"."""

    place: str
    values: Mapping[str, Any]


def read_records(source: str, *, text_key: str = "text") -> Iterator[Record]:
    """Records of a .jsonl, .csv or .tsv file by line, of anything else as an archive opens it.

    Values of an object under ``meta`` count as the record's own, as an archive writes them. A
    table's first line names its columns. Empty lines are skipped.
    """
    path = Path(source)
    if path.suffix in (*_JSON_LINES, *_TABLES) and not path.exists():
        raise NotFound(f"{source} does not exist")
    if path.suffix in _JSON_LINES:
        yield from _json_lines(path)
    elif path.suffix in _TABLES:
        yield from _table(path, _TABLES[path.suffix])
    else:
        yield from _archive(source, text_key)


def _json_lines(path: Path) -> Iterator[Record]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            place = f"{path}, line {number}"
            if not line.strip():
                continue
            try:
                values = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{place}: not JSON in UTF-8: {error}") from None
            if not isinstance(values, dict):
                raise ValueError(f"{place}: expected an object, found {type(values).__name__}")
            yield Record(place, _flat(values))


def _flat(values: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = values.get("meta")
    return {**meta, **values} if isinstance(meta, dict) else values


def _table(path: Path, delimiter: str) -> Iterator[Record]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter=delimiter, strict=True)
        names: list[str] | None = None
        before = 0
        try:
            for cells in lines:
                place = f"{path}, line {before + 1}"
                before = lines.line_num
                if not cells:
                    continue
                if names is None:
                    names = cells
                    continue
                if len(cells) != len(names):
                    raise ValueError(f"{place}: {len(cells)} cells for {len(names)} columns")
                yield Record(place, dict(zip(names, cells, strict=True)))
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: not UTF-8 after line {before}: {error.reason}") from None
        except csv.Error as error:
            raise ValueError(f"{path}, line {before + 1}: {error}") from None


def _archive(source: str, text_key: str) -> Iterator[Record]:
    # Here, because a machine that only trains may lack what archives need.
    import barrow.archive

    for number, document in enumerate(barrow.archive.open(source, text_key=text_key)):
        values = {**document.meta, text_key: document.text}
        yield Record(f"{source}, document {number}", values)
