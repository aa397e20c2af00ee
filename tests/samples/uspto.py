"""Patents: weeks of grants in XML, and in the text of 1976 to 2001."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from html import escape

from tests.samples.batches import batches
from tests.samples.pieces import Article

_GRANTS_A_WEEK = 70
_FIRST_NUMBER = 90_000_000  # beyond the numbers that are granted


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Between the heading and the summary stands the background; the rest is not kept."""
    for week, batch in batches(articles, _GRANTS_A_WEEK):
        if week % 2:
            grants = (_xml(article, _FIRST_NUMBER + number) for number, article in batch)
            yield f"ipg20{week:04}.xml", "".join(grants).encode()
        else:
            texts = (_greenbook(article, number) for number, article in batch)
            head = f"HHHHHT        APS1  ISSUE - 76{week:04}\n"
            yield f"pftaps1976{week:04}.txt", (head + "".join(texts)).encode()


def _xml(article: Article, number: int) -> str:
    title = escape(article.title)
    said = "".join(
        f'<p id="p-{place:04}" num="{place:04}">{escape(paragraph)}</p>\n'
        for place, paragraph in enumerate(article.paragraphs, 2)
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE us-patent-grant SYSTEM "us-patent-grant-v42-2006-08-23.dtd" [ ]>
<us-patent-grant lang="EN" country="US"><us-bibliographic-data-grant><publication-reference>
<document-id><country>US</country><doc-number>{number}</doc-number><kind>B2</kind>
<date>20200107</date></document-id></publication-reference>
<application-reference appl-type="utility"/><invention-title>{title}</invention-title>
</us-bibliographic-data-grant><abstract><p>In short, {title}.</p></abstract>
<description><heading>CROSS-REFERENCE TO RELATED APPLICATIONS</heading><p>There are none.</p>
<heading>BACKGROUND OF THE INVENTION</heading>{said}
<heading>SUMMARY OF THE INVENTION</heading><p>What is said above is put to use.</p></description>
<claims><claim><claim-text>1. A use of what is said above.</claim-text></claim></claims>
</us-patent-grant>
"""


def _greenbook(article: Article, number: int) -> str:
    said = "".join(f"PAR  {_folded(paragraph)}\n" for paragraph in article.paragraphs)
    return (
        f"PATN\nWKU  9{number:07}0\nAPT  1\nTTL  {_folded(article.title)}\nISD  19760106\n"
        f"ABST\nPAL  In short.\nBSUM\nPAC  BACKGROUND OF THE INVENTION\n{said}"
        "PAC  SUMMARY OF THE INVENTION\nPAR  What is said above is put to use.\n"
        "CLMS\nNUM  1.\nPAR  1. A use of what is said above.\n"
    )


def _folded(text: str) -> str:
    return "\n     ".join(textwrap.wrap(text, 72, break_on_hyphens=False))
