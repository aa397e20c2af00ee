"""Raw files of every format that a reader takes, for tests: which sample is for which reader."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tests.samples.pieces import Article

from barrow import corpus

Files = Callable[[Iterable[Article]], Iterator[tuple[str, bytes]]]


class Sample(NamedTuple):
    """Made files of one format: the folder, and the reader."""

    folder: str
    reader: corpus.Reader

    @property
    def files(self) -> Files:
        """What makes the raw files of articles."""
        format_name, _, _ = self.reader.extractor.partition("/")
        home = importlib.import_module(f"tests.samples.{format_name}")
        made: Files = home.files
        return made


SAMPLES = (
    Sample("crawl", corpus.Warc()),
    Sample("shared_pages", corpus.WebPages()),
    Sample("manual", corpus.Html()),
    Sample("tex_papers", corpus.Latex()),
    Sample("journal", corpus.Jats()),
    Sample("citations", corpus.Medline()),
    Sample("grants", corpus.NihExporter()),
    Sample("questions", corpus.StackExchange()),
    Sample("patents", corpus.Uspto()),
    Sample("opinions", corpus.CourtListener()),
    Sample("chat", corpus.UbuntuIrc()),
    Sample("letters", corpus.Mail()),
    Sample("assembly", corpus.EuroParl()),
    Sample("films", corpus.OpenSubtitles()),
    Sample("talks", corpus.YoutubeSubtitles()),
    Sample("forum", corpus.HackerNews()),
    Sample("wiki", corpus.Wikipedia()),
    Sample("old_books", corpus.Gutenberg()),
    Sample("books", corpus.Epub()),
    Sample("printed_papers", corpus.Pdf()),
    Sample("notes", corpus.Markdown()),
    Sample("records", corpus.Records()),
)
