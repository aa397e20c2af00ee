"""Pairs from tar files in the manner of webdataset: members of one name but for the extension.

Only headers and captions are read. An image is identified by its place in the tar, so any can be
read alone; a compressed tar has no such places.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from barrow.errors import StoreError
from barrow.images.decode import is_image
from barrow.stream.pairs.sources.found import Found, LeftOut, captions_in, captions_of, record_of

_BLOCK = 512
_MOST_CAPTION = 1 << 20
_EXPECTED = {"txt": "its .txt is not UTF-8", "json": "its .json is not a JSON object"}


def from_tars(
    root: Path, files: list[Path], *, caption_key: str | None = None
) -> Iterator[Found | LeftOut]:
    """Pairs of tars under a folder, in the order of tars and members.

    Captions are the lines of a .txt member, or those in a .json one.
    """
    for file in files:
        name = file.relative_to(root).as_posix()
        group: dict[str, tarfile.TarInfo] = {}
        key = None
        with file.open("rb") as raw:
            for member in _members(raw, name):
                stem, _, extension = _split(member.name)
                if stem != key:
                    yield from _pair(raw, name, key, group, caption_key)
                    key, group = stem, {}
                group[extension.lower()] = member
            yield from _pair(raw, name, key, group, caption_key)


def _members(raw: BinaryIO, name: str) -> Iterator[tarfile.TarInfo]:
    """The files of a tar. `tarfile` stops silently at a damaged header; here that is an error."""
    try:
        with tarfile.open(fileobj=raw, mode="r:") as tar:
            while (member := tar.next()) is not None:
                tar.members = []  # type: ignore[attr-defined] # it would keep all of them
                if member.isreg() and not member.issparse():
                    yield member
            raw.seek(tar.offset)
            block = raw.read(_BLOCK)
    except (tarfile.TarError, RecursionError, ValueError) as error:
        hint = "" if not _is_packed(raw) else "; it is compressed: unpack it to a plain tar first"
        raise StoreError(
            f"not readable as a tar ({error}){hint}", reason="corrupt", file=name
        ) from None
    if len(block) < _BLOCK:
        cause = "the tar has no end mark: it is truncated; download it again"
        raise StoreError(cause, reason="truncated", file=name)
    if block.strip(b"\0"):
        cause = f"the tar has a damaged header at byte {tar.offset:,}; download it again"
        raise StoreError(cause, reason="corrupt", file=name)


def _is_packed(raw: BinaryIO) -> bool:
    raw.seek(0)
    return raw.read(4).startswith((b"\x1f\x8b", b"BZh", b"\xfd7zX", b"\x28\xb5\x2f\xfd"))


def _split(name: str) -> tuple[str, str, str]:
    """As webdataset: the key ends at the first dot of the last part of the path."""
    folder, slash, base = name.rpartition("/")
    stem, dot, extension = base.partition(".")
    return folder + slash + stem, dot, extension


def _pair(
    raw: BinaryIO,
    file: str,
    key: str | None,
    group: dict[str, tarfile.TarInfo],
    caption_key: str | None,
) -> Iterator[Found | LeftOut]:
    if key is None:
        return
    image = next((member for member in group.values() if is_image(member.name)), None)
    name = f"{file}: {key if image is None else image.name}"
    if image is None:
        yield LeftOut(name, "no-image", f"members {', '.join(sorted(group))} and no image")
        return
    captions: tuple[str, ...] = ()
    bad: list[str] = []
    for extension in ("txt", "json"):
        if not captions and extension in group:
            found = _captions(_content(raw, group[extension]), extension, caption_key)
            if found is None:
                bad.append(_EXPECTED[extension])
            captions = found or ()
    if not captions:
        without = "expected a .txt or .json member of the same name with a caption"
        reason, cause = ("bad-caption", ", ".join(bad)) if bad else ("no-caption", without)
        yield LeftOut(name, reason, cause)
        return
    yield Found(name, captions, file=file, offset=image.offset_data, length=image.size)


def _content(raw: BinaryIO, member: tarfile.TarInfo) -> bytes:
    before = raw.tell()
    raw.seek(member.offset_data)
    data = raw.read(min(member.size, _MOST_CAPTION))
    raw.seek(before)
    return data


def _captions(data: bytes, extension: str, caption_key: str | None) -> tuple[str, ...] | None:
    """None if the member does not match its name."""
    if extension == "txt":
        try:
            return captions_of(data.decode().splitlines())
        except UnicodeDecodeError:
            return None
    record = record_of(data)
    return None if record is None else captions_in(record, caption_key)
