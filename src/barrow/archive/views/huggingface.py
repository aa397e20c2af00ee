"""Hugging Face `datasets`' view of an archive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from barrow.archive.reader import Archive, Frame
from barrow.errors import MissingExtra


def huggingface_view(archive: Archive) -> Any:
    """A stream of ``{"text": ..., "meta": {...}}`` that `datasets` can split by frame."""
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "huggingface", "archive.huggingface()") from None
    # A list among the arguments is what `datasets` divides among workers and nodes.
    return datasets.IterableDataset.from_generator(_rows, gen_kwargs={"frames": archive.frames()})


def _rows(frames: list[Frame]) -> Iterator[dict[str, Any]]:
    for frame in frames:
        for document in frame:
            yield {"text": document.text, "meta": document.meta}
