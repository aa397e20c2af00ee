"""The results of scanning a source of pairs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# Usual keys of captions and images in records; the first that exists is used.
CAPTION_KEYS = ("caption", "captions", "text", "texts", "title")
IMAGE_KEYS = ("image", "path", "file", "file_name", "filename", "image_path", "jpg", "png")


@dataclass(frozen=True, slots=True)
class Found:
    """A pair: the name of its image, its captions, and where the image's bytes are.

    They are `length` bytes from `offset` on of `file`, a path relative to the source's root; or
    else `data`, which is copied into the index because its file cannot be read at a place.
    """

    name: str
    captions: tuple[str, ...]
    file: str = ""
    offset: int = 0
    length: int = 0
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not a pair: its name, a named reason, and a cause in words."""

    name: str
    reason: str
    cause: str


def captions_of(values: Iterable[Any]) -> tuple[str, ...]:
    """Captions with white space collapsed, without empty ones."""
    clean = (" ".join(value.split()) for value in values if isinstance(value, str))
    return tuple(caption for caption in clean if caption)


def captions_in(record: Mapping[str, Any], key: str | None) -> tuple[str, ...]:
    """The captions of a record, under a key or under the first usual one: a text, or a list."""
    keys = CAPTION_KEYS if key is None else (key,)
    value = next((record[name] for name in keys if record.get(name) is not None), None)
    return captions_of(value if isinstance(value, list | tuple) else [value])


def record_of(data: bytes) -> Mapping[str, Any] | None:
    """A JSON object; None if the bytes are not one."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
