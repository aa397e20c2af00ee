"""A wiki: a MediaWiki export with pages in wikitext."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from tests.samples.batches import batches
from tests.samples.people import nick
from tests.samples.pieces import Article, Piece, spoken

_PAGES_A_FILE = 100
_MARKUP = re.compile(r"['\[\]~<>&*#:;=|-]")
_HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10"
xml:lang="en">
<siteinfo><sitename>Pocket</sitename><dbname>pocketwiki</dbname>
<base>https://pocket.example.org/wiki/Main_Page</base>
<namespaces><namespace key="0" /><namespace key="1">Talk</namespace></namespaces></siteinfo>
"""


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Pages, with a redirect to every tenth."""
    for file, batch in batches(articles, _PAGES_A_FILE):
        pages: list[str] = []
        for number, article in batch:
            title = f"{article.title} {number}"
            pages.append(_page(title, 2 * number, _wikitext(article, number)))
            if number % 10 == 0:
                text = f"#REDIRECT [[{title}]]"
                pages.append(_page(f"Page {number}", 2 * number + 1, text))
        yield f"pocket-{file:03}.xml", f"{_HEAD}{''.join(pages)}</mediawiki>\n".encode()


def _page(title: str, number: int, text: str) -> str:
    return (
        f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id>\n<revision>"
        f"<id>{number}</id><timestamp>2020-01-01T00:00:00Z</timestamp><contributor><username>"
        f"{nick(number)}</username></contributor><model>wikitext</model><format>text/x-wiki"
        f'</format>\n<text xml:space="preserve">{escape(text)}</text></revision></page>\n'
    )


def _wikitext(article: Article, number: int) -> str:
    sections = [_section(piece, place) for place, piece in enumerate(article.pieces)]
    return (
        "{{Short description|A page made for a demonstration}}\n{{Infobox page\n"
        f"| number = {number}\n| made = 2020\n}}}}\n[[File:Pocket.png|thumb|A pocket]]\n"
        f"{''.join(sections)}== See also ==\n* [[Main Page]]\n\n== References ==\n"
        "<references />\n\n[[Category:Pocket]]\n"
    )


def _section(piece: Piece, place: int) -> str:
    """Prose with a note behind each paragraph, and links in headings' place."""
    said = [f"{_escaped(paragraph)}<ref>Unpublished.</ref>\n\n" for paragraph in piece.paragraphs]
    head = f"== [[{spoken(piece.name)}]] ==\n" if place else ""
    code = f'<syntaxhighlight lang="python">\n{piece.code}\n</syntaxhighlight>\n\n'
    return f"{head}{''.join(said)}{code if piece.code else ''}"


def _escaped(paragraph: str) -> str:
    """The first word in bold; what wikitext has a meaning for, as entities."""
    first, blank, rest = paragraph.partition(" ")
    return f"'''{_entities(first)}'''{blank}{_entities(rest)}"


def _entities(text: str) -> str:
    return _MARKUP.sub(lambda sign: f"&#{ord(sign[0])};", text)
