"""How much text a corpus has, as far as its own files say it: for the time that is left."""

from __future__ import annotations

import os
from pathlib import Path

from barrow.archive import read_catalog
from barrow.archive.storage import CATALOG_NAME
from barrow.config import parse_json


def text_size(path: str | os.PathLike[str], split: str | None) -> int | None:
    """UTF-8 bytes of a corpus's split, None where nothing says it.

    A built corpus's manifest counts them. An archive's catalog counts the JSON lines, which are a
    little more than their texts.
    """
    folder = Path(path)
    manifest = folder / "manifest.json"
    if split is not None and manifest.is_file():
        try:
            told = parse_json(manifest.read_bytes(), manifest)["splits"][split]["domains"]
            return sum(int(domain["bytes"]) for domain in told.values())
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # of another version; what it counts is nice to have, no more
    own = folder if split in (None, "train") else folder / split
    if (own / CATALOG_NAME).is_file():
        return sum(shard.content_bytes for shard in read_catalog(os.fspath(own)).shards)
    return None
