"""Web pages that people shared, with the scores their links had (OpenWebText2).

A page is a file ``.html``, ``.htm`` or ``.xhtml``, packed or not, or a line of JSON with `url` and
`html` (or `text`). Kept is its main text (`page_text`); its address is the one in a list, else
the one the page declares. Where a list of links is in the domain's folder
(``RS_*``, ``urls*.jsonl``, see `page_scores`), a page is kept if the scores of all submissions of
its address add up to `min_score`. Addresses on the block lists, of media, files, shops and the
like, are dropped, as are pages with little text.

Licence: none is given; pages belong to those who wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from barrow.archive import Document
from barrow.corpus.input.json_lines import json_lines
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.readers.web_pages.address import (
    BLOCKED_EXTENSIONS,
    BLOCKED_HOSTS,
    blocked_extension,
    blocked_host,
    parse_address,
)
from barrow.corpus.readers.web_pages.scores import PageLists, bad_lines, open_page_lists
from barrow.corpus.text.html.head import page_head
from barrow.corpus.text.html.page import Extract, Page, page_text
from barrow.corpus.text.html.stored import PACKED, load_page
from barrow.corpus.text.whitespace import tidy

_LISTS = ("RS_*", "urls*.jsonl*", "index*.jsonl*")


@dataclass(frozen=True)
class WebPages(Reader):
    """Web pages chosen by Reddit scores, as OpenWebText2: HTML files, JSON lines, submission lists.

    `blocked_hosts` and `blocked_extensions` replace the built-in lists, the other two are added.
    Pages submitted as for adults are kept with `over_18`. `extract` replaces our extraction.
    """

    min_score: int = 3
    min_characters: int = 100
    over_18: bool = False
    blocked_hosts: tuple[str, ...] | None = None
    blocked_extensions: tuple[str, ...] | None = None
    more_blocked_hosts: tuple[str, ...] = ()
    more_blocked_extensions: tuple[str, ...] = ()
    max_bytes: int = 1 << 26
    extract: Extract | None = None

    extractor = "web_pages/2"
    patterns = (
        *(f"**/*.{kind}{packed}" for kind in ("html", "htm", "xhtml") for packed in PACKED),
        *(f"**/*.jsonl{packed}" for packed in PACKED),
        "**/RS_*",
    )
    beside = tuple(f"**/{pattern}" for pattern in _LISTS)

    def read(self, path: Path) -> Iterator[Item]:
        return self._read(path, None)

    @contextmanager
    def open_beside(self, paths: Sequence[Path]) -> Iterator[Callable[[Path], Iterator[Item]]]:
        """`read`, with the lists of links in the folder."""
        with open_page_lists(paths) as lists:
            yield lambda path: self._read(path, lists)

    def _read(self, path: Path, lists: PageLists | None) -> Iterator[Item]:
        if any(path.match(pattern) for pattern in _LISTS):
            yield from bad_lines(path)
        else:
            pages = _lines if ".jsonl" in path.suffixes else _file
            yield from pages(path, lists, _Choice.of(self))


class _Choice(NamedTuple):
    """Which pages are kept."""

    reader: WebPages
    hosts: Collection[str]
    extensions: Collection[str]

    @classmethod
    def of(cls, reader: WebPages) -> _Choice:
        hosts, extensions = reader.blocked_hosts, reader.blocked_extensions
        return cls(
            reader,
            _names(BLOCKED_HOSTS if hosts is None else hosts, reader.more_blocked_hosts),
            _names(
                BLOCKED_EXTENSIONS if extensions is None else extensions,
                reader.more_blocked_extensions,
            ),
        )


def _names(listed: Collection[str], more: Collection[str]) -> frozenset[str]:
    return frozenset(name.lower().lstrip(".") for name in (*listed, *more))


def _file(path: Path, lists: PageLists | None, choice: _Choice) -> Iterator[Item]:
    url = lists.url_of(path) if lists else ""
    if url and (refused := _refused(url, "", lists, choice)):
        yield refused
        return
    markup, reject = load_page(path, max_bytes=choice.reader.max_bytes)
    if reject is not None:
        yield reject
    if not markup:
        return
    if not url:
        url = page_head(markup).url
        if refused := _refused(url, "", lists, choice):
            yield refused
            return
    yield _document(
        page_text(markup, url=url, extract=choice.reader.extract), url, {}, lists, choice
    )


def _lines(path: Path, lists: PageLists | None, choice: _Choice) -> Iterator[Item]:
    for line in json_lines(path, max_line=choice.reader.max_bytes):
        if isinstance(line, Reject):
            yield line
            continue
        number, record = line
        member = f"line {number}"
        url, title = (_text(record.get(key)) for key in ("url", "title"))
        markup, text = (_text(record.get(key)) for key in ("html", "text"))
        if not markup and not text:
            yield Reject("bad-record", "neither html nor text", member, excerpt(str(record)))
            continue
        url = url or (page_head(markup).url if markup else "")
        if reject := _refused(url, member, lists, choice):
            yield Reject(reject.reason, reject.cause, member, excerpt(text or markup))
            continue
        page = (
            page_text(markup, url=url, extract=choice.reader.extract)
            if markup
            else Page(tidy(text).strip(), title, None)
        )
        yield _document(page, url, {"member": member}, lists, choice)


def _text(value: object) -> str:
    """A value that is text and can be encoded."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _refused(url: str, member: str, lists: PageLists | None, choice: _Choice) -> Reject | None:
    """Why a page is not read, from its address alone."""
    has_scores = lists is not None and lists.has_scores
    address = parse_address(url)
    if address is None:
        return Reject("no-url", "its address is not known", member) if has_scores else None
    if host := blocked_host(address, choice.hosts):
        return Reject("blocked-host", f"{host} is on the block list", member, excerpt(url))
    if extension := blocked_extension(address, choice.extensions):
        return Reject("blocked-extension", f".{extension} is on the block list", member, url)
    if lists is None or not has_scores:
        return None
    said = lists.submissions_of(url)
    if said is None:
        return Reject("not-listed", "nobody submitted its address", member, excerpt(url))
    if said.score < choice.reader.min_score:
        cause = f"scores add up to {said.score}, less than {choice.reader.min_score}"
        return Reject("low-score", cause, member, excerpt(url))
    if said.over_18 and not choice.reader.over_18:
        return Reject("over-18", "submitted as adult content", member, excerpt(url))
    return None


def _document(
    page: Page, url: str, meta: dict[str, Any], lists: PageLists | None, choice: _Choice
) -> Item:
    member = meta.get("member", "")
    if len(page.text) < choice.reader.min_characters:
        cause = (
            page.cause or f"{len(page.text)} characters, fewer than {choice.reader.min_characters}"
        )
        return Reject("too-short", cause, member, excerpt(page.text))
    values: dict[str, Any] = {"title": page.title, "url": url, "language": page.language}
    if url and lists is not None and (said := lists.submissions_of(url)) is not None:
        values |= {"score": said.score, "num_submissions": said.num}
    return Document(page.text, meta | {key: v for key, v in values.items() if v not in (None, "")})
