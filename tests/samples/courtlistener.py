"""Court opinions: clusters as CourtListener gives them, and cases as the Caselaw Access Project."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape

from tests.samples.batches import batches
from tests.samples.people import full_name
from tests.samples.pieces import Article

_CASES_A_FILE = 70


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Opinions in HTML with numbers of printed pages, and in plain paragraphs, in turn."""
    for file, batch in batches(articles, _CASES_A_FILE):
        if file % 2:
            records = [_cluster(article, number) for number, article in batch]
        else:
            records = [_case(article, number) for number, article in batch]
        lines = "".join(json.dumps(record) + "\n" for record in records)
        yield f"opinions-{file:03}.jsonl", lines.encode()


def _parties(number: int) -> str:
    return f"{full_name(number).split()[1]} v. {full_name(number + 5).split()[1]}"


def _judge(number: int) -> str:
    return full_name(number + 11)


def _cluster(article: Article, number: int) -> dict[str, object]:
    first, *rest = article.paragraphs
    page = f'<span class="star-pagination">*{number}</span>'
    said = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in rest)
    text = (
        f"<p><b>{_parties(number)}</b></p>\n<p>{_judge(number)}, Judge:</p>\n"
        f"<p>{escape(first)} {page}</p>\n{said}<p>So ordered.</p>"
    )
    opinion = {"id": number, "type": "020lead", "html_with_citations": text, "plain_text": ""}
    return {
        "id": number,
        "case_name": _parties(number),
        "date_filed": "2020-01-01",
        "precedential_status": "Published",
        "docket": {"docket_number": f"{number}-20", "court": "pocket"},
        "sub_opinions": [opinion],
    }


def _case(article: Article, number: int) -> dict[str, object]:
    said = [f"{_judge(number)}, Judge:", *article.paragraphs, "So ordered."]
    return {
        "id": number,
        "name_abbreviation": _parties(number),
        "decision_date": "2020-01-01",
        "casebody": {
            "head_matter": _parties(number),
            "opinions": [{"type": "majority", "text": "\n".join(said)}],
        },
    }
