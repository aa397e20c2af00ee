"""Pairs from a file of JSON lines, each with the path of an image and its captions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from barrow.stream.pairs.sources.found import IMAGE_KEYS, Found, LeftOut, captions_in, record_of


def from_jsonl(
    file: Path, *, image_key: str | None = None, caption_key: str | None = None
) -> Iterator[Found | LeftOut]:
    """Pairs in the order of the lines; paths are relative to the file's folder.

    Captions are a text or a list of texts. Without keys, the usual ones are tried.
    """
    keys = IMAGE_KEYS if image_key is None else (image_key,)
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            place = f"{file.name} line {number}"
            record = record_of(line)
            if record is None:
                yield LeftOut(place, "not-json", "expected a JSON object on the line")
                continue
            path = next((record[key] for key in keys if isinstance(record.get(key), str)), None)
            if path is None:
                yield LeftOut(place, "no-image", f"expected a path under {' or '.join(keys)}")
                continue
            captions = captions_in(record, caption_key)
            if not captions:
                yield LeftOut(path, "no-caption", f"{place} has no caption")
                continue
            try:
                size = (file.parent / path).stat().st_size
            except (OSError, ValueError) as error:
                yield LeftOut(path, "missing", f"{place} names it ({error})")
                continue
            yield Found(path, captions, file=path, length=size)
