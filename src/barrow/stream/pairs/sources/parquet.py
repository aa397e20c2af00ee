"""Pairs from parquet: a column of image bytes, or of paths, and one of captions.

A row of parquet cannot be read alone: a page of many rows is decoded. So image bytes are copied
into the index, once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from barrow.errors import MissingExtra, StoreError
from barrow.stream.pairs.sources.found import CAPTION_KEYS, IMAGE_KEYS, Found, LeftOut, captions_of

_ROWS = 64


def from_parquet(
    root: Path,
    files: list[Path],
    *,
    image_key: str | None = None,
    caption_key: str | None = None,
) -> Iterator[Found | LeftOut]:
    """Pairs of parquet files under a folder, in the order of files and rows.

    An image is bytes, a struct with `bytes` (as the `datasets` library writes it), or a path
    relative to the folder. Captions are a text or a list of texts.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", f"reading {root}") from None
    for file in files:
        name = file.relative_to(root).as_posix()
        try:
            with pyarrow.parquet.ParquetFile(file) as table:
                names = table.schema_arrow.names
                image = _column(names, image_key, IMAGE_KEYS, name, "image")
                caption = _column(names, caption_key, CAPTION_KEYS, name, "caption")
                number = 0
                for batch in table.iter_batches(batch_size=_ROWS, columns=[image, caption]):
                    for row in batch.to_pylist():
                        yield _pair(root, f"{name} row {number}", row[image], row[caption])
                        number += 1
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            cause = str(error).splitlines()[0]
            raise StoreError(
                f"not readable as parquet ({cause})", reason="corrupt", file=name
            ) from None


def _column(names: list[str], key: str | None, usual: tuple[str, ...], file: str, what: str) -> str:
    found = next((name for name in ((key,) if key else usual) if name in names), None)
    if found is None:
        expected = key or " or ".join(usual)
        raise StoreError(
            f"expected a column of {what}s ({expected}), found {', '.join(names)}: pass "
            f"its name ({what}_key=, --{what}-key)",
            reason="no-column",
            file=file,
        )
    return found


def _pair(root: Path, place: str, image: Any, caption: Any) -> Found | LeftOut:
    captions = captions_of(caption if isinstance(caption, list) else [caption])
    if isinstance(image, Mapping):
        inner = image.get("path")
        if isinstance(inner, str) and inner:
            place = f"{place} ({inner})"
        image = image.get("bytes") or inner
    if not image:
        return LeftOut(place, "no-image", "the row has no image")
    if not captions:
        return LeftOut(place, "no-caption", "the row has no caption")
    if isinstance(image, bytes):
        return Found(place, captions, data=image)
    try:
        size = (root / image).stat().st_size
    except (OSError, TypeError, ValueError) as error:
        return LeftOut(place, "missing", f"its image is missing ({error})")
    return Found(image, captions, file=image, length=size)
