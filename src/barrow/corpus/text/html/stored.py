"""A web page stored in a file, packed or not, as markup."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from barrow.corpus.input.unpack import BadArchive, open_unpacked
from barrow.corpus.readers.reader import EXCERPT, Reject, excerpt
from barrow.corpus.text.html.encoding import decode_page
from barrow.corpus.text.whitespace import is_binary

PACKED = ("", ".gz", ".zst", ".bz2", ".xz")
_STEP = 1 << 20


class StoredPage(NamedTuple):
    """Markup, if there is any, and what was wrong with the file, if anything was."""

    markup: str
    reject: Reject | None


def load_page(path: Path, *, max_bytes: int) -> StoredPage:
    """The markup of a page of at most `max_bytes`; of a packed one that breaks off, up to there.

    Reasons: ``too-large``, ``not-text``, and those of `BadArchive`.
    """
    body = bytearray()
    reject: Reject | None = None
    try:
        with open_unpacked(path) as file:
            while piece := file.read(_STEP):
                body += piece
                if len(body) > max_bytes:
                    cause = f"more than {max_bytes:,} bytes"
                    shown = excerpt(bytes(body[:EXCERPT]))
                    return StoredPage("", Reject("too-large", cause, "", shown))
    except BadArchive as error:
        reject = error.as_reject()
    if not body:
        return StoredPage("", reject)
    found = decode_page(bytes(body))
    if found is None or is_binary(found[0]):
        shown = excerpt(bytes(body[:EXCERPT]))
        return StoredPage("", Reject("not-text", "not text in any encoding", "", shown))
    return StoredPage(found[0], reject)
