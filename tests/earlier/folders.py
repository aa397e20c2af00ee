"""Folders that an earlier version wrote: users have such files, so they must open and resume.

The archive holds a corpus with its raw files and recipe, token stores, a causal run that can be
resumed, a masked run, adapters, a model in int8, exports to hf and gguf, results of `score`, and
the saved settings of recipes and runs; `make.sh` in it has the commands. Its files name the folder
in which they were written, and `earlier_folders` writes another in its place.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import zstandard

_ARCHIVE = Path(__file__).with_name("0.1-november-2026.tar.zst")
_WRITTEN_IN = "/tmp/earlier"


def earlier_folders(to: Path) -> Path:
    """Unpack everything into the folder `to`, as if it had been written there."""
    data = zstandard.ZstdDecompressor().stream_reader(_ARCHIVE.read_bytes()).read()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(to, filter="data")
    for path in to.rglob("*.json"):
        text = path.read_text("utf-8")
        if _WRITTEN_IN in text:
            text = text.replace(_WRITTEN_IN, str(to))
            path.write_text(_signed(text) if path.name == "index.json" else text, "utf-8")
    return to


def _signed(text: str) -> str:
    """The index of a checkpoint with its own checksum: of its JSON, sorted and without spaces."""
    table = json.loads(text)
    del table["sha256"]
    plain = json.dumps(table, sort_keys=True, separators=(",", ":"))
    return json.dumps({**table, "sha256": hashlib.sha256(plain.encode()).hexdigest()})
