"""Journal articles in JATS, many to a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from tests.samples.batches import batches
from tests.samples.people import full_name
from tests.samples.pieces import Article, Piece, spoken

_ARTICLES_A_FILE = 60
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<pmc-articleset>\n'


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """The first paragraph is the abstract. DOIs have the prefix that is kept for examples."""
    for file, batch in batches(articles, _ARTICLES_A_FILE):
        found = "".join(_article(article, number) for number, article in batch)
        yield f"articles-{file:03}.xml", f"{_HEAD}{found}</pmc-articleset>\n".encode()


def _article(article: Article, number: int) -> str:
    first, *rest = article.pieces
    given, family = full_name(number).split(" ")
    abstract, *more = first.paragraphs
    opening = Piece(first.name, tuple(more))
    sections = [_section(piece, place) for place, piece in enumerate((opening, *rest), 1)]
    return f"""<article xml:lang="en" article-type="research-article"><front><journal-meta>
<journal-title-group><journal-title>Pocket Reports</journal-title></journal-title-group>
</journal-meta><article-meta><article-id pub-id-type="doi">10.5555/pocket.{number}</article-id>
<title-group><article-title>{escape(article.title)}</article-title></title-group>
<contrib-group><contrib><name><surname>{family}</surname><given-names>{given}</given-names></name>
</contrib></contrib-group><pub-date pub-type="epub"><day>1</day><month>1</month><year>2020</year>
</pub-date><abstract><p>{escape(abstract)}</p></abstract></article-meta></front>
<body>{"".join(sections)}<sec><title>Availability</title><p>Whoever has Python has all that
article {number} was made of.<sup><xref ref-type="bibr" rid="r1">1</xref></sup></p></sec></body>
<back><ack><p>The author thanks nobody in particular.</p></ack><ref-list><ref id="r1">
<mixed-citation>Anonymous. Unpublished.</mixed-citation></ref></ref-list></back></article>
"""


def _section(piece: Piece, place: int) -> str:
    if not piece.paragraphs:
        return ""
    said = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in piece.paragraphs)
    return f'<sec id="s{place}"><title>{escape(spoken(piece.name))}</title>{said}</sec>'
