"""Download a file: resumable, checked, and under its name only when it is whole.

What has come so far lies in ``NAME.part``; ``NAME.part.json`` says of what. A later call goes on
where it stopped if the server says that the file is still the same, and begins anew if not.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.errors import FetchFailed, WriteFailed
from barrow.files import WrittenFile, sync_folder
from barrow.weights.fetch_settings import FetchSettings
from barrow.weights.http_request import Answer, Interrupted, RangeRefused, request

_STEP = 1 << 20


def download(
    url: str,
    target: Path,
    *,
    settings: FetchSettings,
    sha256: str | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> WrittenFile:
    """Fetch `url` to `target`, which is replaced.

    `sha256` is what the file must hash to; without it, what the hub names for the file, if it does.
    `on_bytes` is told of bytes as they come. The caller sees to it that no other process downloads
    to the same target.
    """
    part = _Part.of(target)
    failures = 0
    while True:
        had = part.size
        try:
            expected = _advance(url, part, settings=settings, on_bytes=on_bytes)
            break
        except Interrupted as error:
            failures = failures + 1 if part.size <= had else 1
            if failures >= settings.attempts:
                raise FetchFailed(
                    f"{error}; tried {failures} times. {part.size:,} bytes are kept in "
                    f"{part.path}: run again to go on"
                ) from None
            time.sleep(settings.pause * 2 ** (failures - 1))
    return _finish(
        url, target, part, sha256=sha256 or expected, named="you" if sha256 else "the hub"
    )


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class _Part:
    path: Path
    note: Path

    @classmethod
    def of(cls, target: Path) -> _Part:
        return cls(
            target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.part.json")
        )

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def validator(self, url: str) -> str | None:
        """What identifies the file that the bytes so far are of, if they are of this URL."""
        try:
            note: Any = json.loads(self.note.read_bytes())
        except (OSError, ValueError):
            return None
        known = isinstance(note, dict) and note.get("url") == url
        found = note.get("validator") if known else None
        return found if isinstance(found, str) else None

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def _advance(
    url: str, part: _Part, *, settings: FetchSettings, on_bytes: Callable[[int], None] | None
) -> str | None:
    """Bring the part to its end; give the digest that the server names."""
    validator = part.validator(url)
    have = part.size if validator else 0
    try:
        answer = request(url, start=have, validator=validator, settings=settings)
    except RangeRefused:
        part.discard()
        raise
    with closing(answer.body):
        if answer.start and answer.validator not in (None, validator):
            part.discard()
            raise Interrupted(f"{url}: the file changed between two attempts")
        _note(part, url, answer)
        try:
            _store(url, part, answer, on_bytes)
        except OSError as error:
            if isinstance(error, FetchFailed | WriteFailed):
                raise
            raise WriteFailed(f"{part.path} could not be written: {error.strerror}") from error
    return answer.sha256


def _note(part: _Part, url: str, answer: Answer) -> None:
    if answer.start == 0:
        part.path.parent.mkdir(parents=True, exist_ok=True)
        part.path.write_bytes(b"")
        text = json.dumps({"url": url, "validator": answer.validator, "total": answer.total})
        part.note.write_text(text)
    missing = (answer.total or 0) - answer.start
    if missing > (free := shutil.disk_usage(part.path.parent).free):
        raise WriteFailed(f"{part.path} needs {missing:,} bytes more, {free:,} are free")


def _store(url: str, part: _Part, answer: Answer, on_bytes: Callable[[int], None] | None) -> None:
    with part.path.open("ab") as file:
        while True:
            try:
                data = answer.body.read(_STEP)
            except (http.client.HTTPException, OSError) as error:
                raise Interrupted(f"{url}: {error or type(error).__name__}") from None
            if not data:
                break
            file.write(data)
            if on_bytes is not None:
                on_bytes(len(data))
        file.flush()
        os.fsync(file.fileno())
    if answer.total is not None and part.size < answer.total:
        raise Interrupted(f"{url}: cut after {part.size:,} of {answer.total:,} bytes")
    if answer.total is not None and part.size > answer.total:
        part.discard()
        raise Interrupted(f"{url}: more than the {answer.total:,} bytes announced")


def _finish(url: str, target: Path, part: _Part, *, sha256: str | None, named: str) -> WrittenFile:
    found = sha256_of(part.path)
    if sha256 is not None and found != sha256.lower():
        part.discard()
        raise FetchFailed(
            f"{url}: expected sha256 {sha256.lower()} (named by {named}), got {found}; deleted"
        )
    size = part.size
    part.path.replace(target)
    part.note.unlink(missing_ok=True)
    sync_folder(target.parent)
    return WrittenFile(target, size, found)
