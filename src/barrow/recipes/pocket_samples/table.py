"""Which sample is made for which reader, and what its domain is called."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from barrow import corpus
from barrow.recipes.pocket_samples.pieces import Article

Files = Callable[[Iterable[Article]], Iterator[tuple[str, bytes]]]


class Sample(NamedTuple):
    """A domain of made files: folder, name, reader, and the characters of an article at least.

    `module` is the library that the reader needs, if any, and `extra` what brings it.
    """

    folder: str
    name: str
    reader: corpus.Reader
    size: int = 440
    module: str = ""
    extra: str = ""

    @property
    def files(self) -> Files:
        """What makes the raw files of articles."""
        format_name, _, _ = self.reader.extractor.partition("/")
        home = importlib.import_module(f"barrow.recipes.pocket_samples.{format_name}")
        made: Files = home.files
        return made


SAMPLES = (
    Sample("crawl", "Web Crawl", corpus.Warc()),
    Sample("shared_pages", "Shared Web Pages", corpus.WebPages()),
    Sample("manual", "Manual Pages (HTML)", corpus.Html()),
    Sample("tex_papers", "Papers (LaTeX)", corpus.Latex(), size=500),
    Sample("journal", "Articles (JATS)", corpus.Jats()),
    Sample("citations", "Abstracts (MEDLINE)", corpus.Medline()),
    Sample("grants", "Grant Abstracts", corpus.NihExporter()),
    Sample("questions", "Questions and Answers", corpus.StackExchange()),
    Sample("patents", "Patent Backgrounds", corpus.Uspto()),
    Sample("opinions", "Court Opinions", corpus.CourtListener()),
    Sample("chat", "Chat", corpus.UbuntuIrc()),
    Sample("letters", "Mail", corpus.Mail()),
    Sample("assembly", "Proceedings", corpus.EuroParl()),
    Sample("films", "Film Subtitles", corpus.OpenSubtitles()),
    Sample("talks", "Talk Captions", corpus.YoutubeSubtitles()),
    Sample("forum", "Forum Threads", corpus.HackerNews()),
    Sample("wiki", "Wiki Pages", corpus.Wikipedia()),
    Sample("old_books", "Books (Text)", corpus.Gutenberg()),
    Sample("books", "Books (EPUB)", corpus.Epub()),
    Sample("printed_papers", "Papers (PDF)", corpus.Pdf(), 1000, "pypdfium2", "pdf"),
    Sample("notes", "Notes (Markdown)", corpus.Markdown()),
    Sample("records", "Records (JSON)", corpus.Records()),
)
