"""Which sample is made for which reader, and what its domain is called."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from barrow.recipes.pocket_samples.pieces import Article

Files = Callable[[Iterable[Article]], Iterator[tuple[str, bytes]]]


class Sample(NamedTuple):
    """A domain of made files: folder, name, reader, and the characters of an article at least.

    `module` is the library that the reader needs, if any, and `extra` what brings it.
    """

    folder: str
    name: str
    reader: str
    size: int = 440
    module: str = ""
    extra: str = ""

    @property
    def files(self) -> Files:
        """What makes the raw files of articles."""
        home = importlib.import_module(f"barrow.recipes.pocket_samples.{self.reader}")
        made: Files = home.files
        return made


SAMPLES = (
    Sample("crawl", "Web Crawl", "warc"),
    Sample("shared_pages", "Shared Web Pages", "web_pages"),
    Sample("manual", "Manual Pages (HTML)", "html"),
    Sample("tex_papers", "Papers (LaTeX)", "latex", size=500),
    Sample("journal", "Articles (JATS)", "jats"),
    Sample("citations", "Abstracts (MEDLINE)", "medline"),
    Sample("grants", "Grant Abstracts", "nih_exporter"),
    Sample("questions", "Questions and Answers", "stackexchange"),
    Sample("patents", "Patent Backgrounds", "uspto"),
    Sample("opinions", "Court Opinions", "courtlistener"),
    Sample("chat", "Chat", "ubuntu_irc"),
    Sample("letters", "Mail", "mail"),
    Sample("assembly", "Proceedings", "europarl"),
    Sample("films", "Film Subtitles", "opensubtitles"),
    Sample("talks", "Talk Captions", "youtube_subtitles"),
    Sample("forum", "Forum Threads", "hackernews"),
    Sample("wiki", "Wiki Pages", "wikipedia"),
    Sample("old_books", "Books (Text)", "gutenberg"),
    Sample("books", "Books (EPUB)", "epub"),
    Sample("printed_papers", "Papers (PDF)", "pdf", 1000, "pypdfium2", "pdf"),
    Sample("notes", "Notes (Markdown)", "markdown"),
    Sample("records", "Records (JSON)", "records"),
)
