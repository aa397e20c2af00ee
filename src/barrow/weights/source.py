"""What a person asked for, read as a place: a known name, a URL, or a repository id."""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from barrow.weights.http_request import check_url
from barrow.weights.known import KNOWN, known

_REPOSITORY = re.compile(r"([A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96})(?:@([\w.-][\w./-]{0,200}))?")
_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class OneFile:
    """A file at a URL."""

    url: str
    sha256: str | None = None

    @property
    def file_name(self) -> str:
        """Its name in the cache."""
        last = unquote(urlsplit(self.url).path).rsplit("/", 1)[-1]
        return _UNSAFE.sub("_", last).lstrip(".") or "file"

    @property
    def folder(self) -> str:
        """Its folder in the cache: the host, and a digest of the URL."""
        host = _UNSAFE.sub("_", urlsplit(self.url).netloc)
        return f"{host}--{hashlib.sha256(self.url.encode()).hexdigest()[:16]}"


@dataclass(frozen=True)
class Repository:
    """A model on a Hugging Face hub, at a branch, tag or commit."""

    name: str
    revision: str = "main"

    @property
    def folder(self) -> str:
        """Its folder in the cache."""
        revision = _UNSAFE.sub("_", self.revision)
        if revision != self.revision:  # a/b and a_b are two
            revision += "-" + hashlib.sha256(self.revision.encode()).hexdigest()[:8]
        return f"{self.name.replace('/', '--')}@{revision}"

    def url(self, file_name: str, *, hub: str) -> str:
        """Where a file of it lies."""
        return f"{hub}/{self.name}/resolve/{quote(self.revision, safe='')}/{quote(file_name)}"


def read_source(what: str, *, sha256: str | None = None) -> OneFile | Repository:
    """Understand NAME, URL, OWNER/MODEL or OWNER/MODEL@REVISION.

    `sha256` is of a single file; a repository has many.
    """
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise ValueError(f"sha256 is 64 hexadecimal digits, not {sha256!r}")
    entry = known(what)
    if entry is not None:
        return read_source(entry.source, sha256=sha256 or entry.sha256)
    if "://" in what:
        check_url(what)
        return OneFile(what, sha256)
    found = _REPOSITORY.fullmatch(what)
    if found is not None and ".." not in what:
        if sha256 is not None:
            raise ValueError(f"sha256 is of one file, and {what} is a repository of several")
        return Repository(found[1], found[2] or "main")
    close = difflib.get_close_matches(what, [e.name for e in KNOWN], n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise ValueError(
        f"expected a known name, a URL or OWNER/MODEL, got {what!r}{hint} "
        "(barrow models list shows the names)"
    )
