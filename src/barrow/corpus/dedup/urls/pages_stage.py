"""The page of every document of a part, as a hash of its URL, and when it was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import xxhash

import barrow.archive
from barrow.corpus.dedup.numbering import save_arrays
from barrow.corpus.dedup.urls.page import moment_of, page_of
from barrow.engine import File, Output, Outputs, Stage


@dataclass(frozen=True)
class Settings:
    """Documents `start` to `stop` of a file."""

    start: int
    stop: int


class Pages(Outputs):
    """`page` has a row of two numbers for each document, zeros without a URL, `moment` its date."""

    pages = Output("pages.safetensors", temporary=True)


class _Meta(msgspec.Struct):
    url: Any = None
    date: Any = None
    retrieved: Any = None


_METAS = msgspec.json.Decoder(list[_Meta])


def find_pages(settings: Settings, documents: File, out: Pages) -> None:
    """Hash the URLs of documents; the date is the document's, or else when it was retrieved."""
    page = np.zeros((settings.stop - settings.start, 2), np.uint64)
    moment = np.zeros(len(page), np.int64)
    archive = barrow.archive.open(documents, threads=1)[settings.start : settings.stop]
    row = 0
    for block in archive.blocks():
        for meta in _METAS.decode(block.meta_array()) if len(block) else ():
            found = page_of(meta.url) if isinstance(meta.url, str) else ""
            if found:
                digest = xxhash.xxh3_128_intdigest(found.encode("utf-8", "surrogatepass"))
                page[row] = divmod(digest, 1 << 64)
                moment[row] = moment_of(meta.date) or moment_of(meta.retrieved)
            row += 1
    save_arrays(out.pages, page=page, moment=moment)


PAGES = Stage("corpus.pages", 1, find_pages, Pages)
