"""The readers by name, each loaded when a recipe asks for it."""

from __future__ import annotations

import difflib
import importlib

from barrow.corpus.reading import Reader
from barrow.errors import ConfigError

_HOME = {
    "courtlistener": "courtlistener:READER",
    "dm_mathematics": "dm_mathematics:READER",
    "epub": "epub:READER",
    "europarl": "europarl:READER",
    "github": "github:READER",
    "gutenberg": "gutenberg:READER",
    "hackernews": "hackernews:READER",
    "html": "html:READER",
    "jats": "jats:READER",
    "latex": "latex:READER",
    "mail": "mail:READER",
    "markdown": "markdown:READER",
    "medline": "medline:READER",
    "nih_exporter": "nih_exporter:READER",
    "opensubtitles": "subtitles:OPENSUBTITLES",
    "pdf": "pdf:READER",
    "plain_text": "plain_text:READER",
    "records": "records:READER",
    "stackexchange": "stackexchange:READER",
    "ubuntu_irc": "ubuntu_irc:READER",
    "uspto": "uspto:READER",
    "warc": "warc:READER",
    "web_pages": "web_pages:READER",
    "wikipedia": "wikipedia:READER",
    "youtube_subtitles": "subtitles:YOUTUBE",
}

READER_NAMES = tuple(_HOME)


def reader_named(name: str) -> Reader:
    """The reader of that name."""
    if name not in _HOME:
        close = difflib.get_close_matches(name, READER_NAMES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(READER_NAMES)}"
        raise ConfigError(f"there is no reader {name!r}; {hint}")
    module, attribute = _HOME[name].split(":")
    reader = getattr(importlib.import_module(f"barrow.corpus.readers.{module}"), attribute)
    assert isinstance(reader, Reader)
    return reader
