"""Records of court opinions, as CourtListener and the Caselaw Access Project give them, to text.

CourtListener keeps an opinion in several forms; the first that has text is taken, in the order
``html_with_citations``, ``html_columbia``, ``html_lawbox``, ``xml_harvard``, ``html_anon_2020``,
``html``, ``plain_text``: best marked up first. Where the first is only the plain text between
``<pre>`` tags, the plain text is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from barrow.archive import Document
from barrow.corpus.readers.reader import Item, Reject
from barrow.corpus.text.dates import month_number
from barrow.corpus.text.html.printed import printed_text
from barrow.corpus.text.html.text import html_to_text
from barrow.corpus.text.pdf.typed_pages import unpaged
from barrow.corpus.text.whitespace import tidy

Record = Mapping[str, Any]

MARKED_UP = (
    *("html_with_citations", "html_columbia", "html_lawbox", "xml_harvard", "html_anon_2020"),
    "html",
)
_SITE = "https://www.courtlistener.com"
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?!\d)")
_DAY_LAST = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_YEAR_LAST = re.compile(r"(\d{1,2})[-/](\d{1,2})[-/](\d{4})(?!\d)")
_KIND = re.compile(r"^\d+")
_STAR = re.compile(r"(?<![\w*])(\*{1,2})(\d{1,5})(?![\d*])[ ]?")
_RULE = re.compile(r"^[ ]*+[-_–—*]{4,}+$", re.MULTILINE)
_HEAD_PART = re.compile(
    r"<(?:p|h4)\s[^<>]{0,20}class=\"(parties|court|decisiondate|docketnumber|author)\"[^<>]*+>"
    r"((?:[^<]++|<(?!/(?:p|h4)>))*+)"
)
_CASE_ID = re.compile(r"data-case-id=\"([^\"]{1,200})\"")
_MARKS = re.compile(r"\[.{1,3}\]")
_WRITTEN_DATE = re.compile(r"\b([A-Z][a-z]{2,8})\.?\s++(\d{1,2}),?\s++(\d{4})\b")
_TEXT = 300


def is_opinion(record: Record) -> bool:
    """Whether a record is one of CourtListener's opinions."""
    return "plain_text" in record or any(name in record for name in MARKED_UP)


def is_case(record: Record) -> bool:
    """Whether a record is one of the Caselaw Access Project's cases."""
    return isinstance(record.get("casebody"), Mapping)


def opinion_item(
    opinion: Record, cluster: Record, docket: Record, court: Record, *, page_marks: bool
) -> Item:
    """The document of an opinion, with the fields of its cluster and docket, or a reject."""
    member = _string(opinion.get("id", opinion.get("pk")))
    text = opinion_text(opinion, page_marks=page_marks)
    old = _mapping(opinion.get("citation"))  # of 2014: names and numbers were in one object
    names = _mapping(cluster), _mapping(opinion), old, _mapping(docket)
    meta = {
        "title": _first(names, "case_name", "case_name_full", "caseName"),
        "court": _court(court, docket, opinion),
        "date": iso_date(_first(names, "date_filed", "dateFiled")),
        "citations": _citations(cluster.get("citations")) or _old_citations(old),
        "docket_number": _first((docket, cluster, opinion, old), "docket_number"),
        "author": _line(opinion.get("author_str")),
        "judges": _first((cluster, opinion), "judges"),
        "type": _KIND.sub("", _line(opinion.get("type"))),
        "url": _address(_line(opinion.get("absolute_url") or cluster.get("absolute_url"))),
        "member": member,
    }
    if not text:
        return Reject("no-text", "none of the forms of the opinion has text", member)
    return Document(text, {key: value for key, value in meta.items() if value})


def opinion_text(opinion: Record, *, page_marks: bool) -> str:
    """The text of an opinion, from the first form that has text."""
    forms = {name: value for name, value in opinion.items() if isinstance(value, str)}
    plain = forms.get("plain_text", "")
    for name in MARKED_UP:
        markup = forms.get(name, "")
        if not markup.strip():
            continue
        if markup.lstrip()[:20].lower().startswith("<pre"):
            text = running_text(plain if plain.strip() else html_to_text(markup))
        else:
            text = marked_up_text(markup, page_marks=page_marks)
        if text:
            return text
    return running_text(plain)


def running_text(plain: str) -> str:
    """Text of typed pages."""
    return tidy(unpaged(plain)).strip("\n")


def marked_up_text(markup: str, *, page_marks: bool, pages: range | None = None) -> str:
    """Text of HTML or of a case's XML."""
    text = printed_text(markup, page_marks=page_marks, layout_tables=True)
    text = tidy(text if page_marks else without_stars(text, pages))
    return tidy(_RULE.sub("", text)).strip("\n")


def case_item(case: Record, *, page_marks: bool) -> Item:
    """The document of a case of the Caselaw Access Project: its head and all its opinions."""
    member = _string(case.get("id"))
    body = case.get("casebody")
    body = body.get("data", body) if isinstance(body, Mapping) else body
    opinions: list[Record] = []
    if isinstance(body, str):
        text = marked_up_text(body, page_marks=page_marks, pages=_pages(case))
    else:
        found = _mapping(body).get("opinions")
        opinions = [_mapping(opinion) for opinion in found] if isinstance(found, list) else []
        parts = [_mapping(body).get("head_matter"), *(opinion.get("text") for opinion in opinions)]
        text = "\n\n".join(filter(None, (_string(part).replace("\n", "\n\n") for part in parts)))
        text = tidy(text if page_marks else without_stars(text, _pages(case)))
        text = re.sub("[\u00ad\u2060]", "", text).strip("\n")
    if not text:
        status = _line(_mapping(case.get("casebody")).get("status"))
        return Reject("no-text", f"the case has no text ({status or 'empty'})", member)
    judges = _mapping(body).get("judges")
    court, url = _mapping(case.get("court")), case.get("frontend_url") or case.get("url")
    meta = {
        "title": _line(case.get("name_abbreviation") or case.get("name")),
        "court": _line(court.get("name")),
        "date": iso_date(_line(case.get("decision_date"))),
        "citations": _citations(case.get("citations")),
        "docket_number": _line(case.get("docket_number")),
        "author": "; ".join(filter(None, (_line(opinion.get("author")) for opinion in opinions))),
        "judges": "; ".join(map(_line, judges)) if isinstance(judges, list) else "",
        "type": "; ".join(filter(None, (_line(opinion.get("type")) for opinion in opinions))),
        "url": _line(url) if _line(url).startswith("http") else "",
        "member": member,
    }
    return Document(text, {key: value for key, value in meta.items() if value})


def page_meta(page: str) -> dict[str, str]:
    """The fields in the head of a case in the Caselaw Access Project's HTML."""
    found: dict[str, str] = {}
    for part in _HEAD_PART.finditer(page[: 1 << 16]):
        found.setdefault(part[1], _line(printed_text(part[2]).replace("\n", " ")))
    case = _CASE_ID.search(page[:2000])
    meta = {
        "title": _MARKS.sub("", found.get("parties", "")).rstrip("."),
        "court": found.get("court", ""),
        "date": written_date(found.get("decisiondate", "")),
        "docket_number": found.get("docketnumber", ""),
        "author": found.get("author", ""),
        "member": _line(case[1]) if case else "",
    }
    return {key: value for key, value in meta.items() if value}


def _pages(case: Record) -> range | None:
    first, last = _line(case.get("first_page")), _line(case.get("last_page"))
    if first.isdecimal() and last.isdecimal() and len(first + last) < 12:
        return range(int(first), int(last) + 1)
    return None


def without_stars(text: str, pages: range | None = None) -> str:
    """Text without numbers of printed pages such as ``*123``.

    These are the case's page numbers, or at least three numbers that increase by one.
    """
    taken: set[int] = set()
    for stars in ("*", "**"):
        found = [mark for mark in _STAR.finditer(text) if mark[1] == stars]
        numbers = [int(mark[2]) for mark in found]
        steps = sum(after == before + 1 for before, after in pairwise(numbers))
        if len(found) > 2 and steps * 5 >= 4 * (len(found) - 1):
            taken |= {mark.start() for mark in found}
        elif pages is not None:
            taken |= {mark.start() for mark, at in zip(found, numbers, strict=True) if at in pages}
    return _STAR.sub(lambda mark: "" if mark.start() in taken else mark[0], text) if taken else text


def written_date(value: str) -> str:
    """The ISO 8601 form of a date such as ``Aug. 29, 2014``; empty without one."""
    found = _WRITTEN_DATE.search(value)
    month = month_number(found[1]) if found else 0
    return f"{found[3]}-{month:02}-{found[2]:0>2}" if found and month else ""


def iso_date(value: str) -> str:
    """A date as ISO 8601; those of a month or a year, too; empty for anything else."""
    if found := _DAY_LAST.match(value):
        year, month, day = found[1], found[2], found[3]
    elif found := _YEAR_LAST.match(value):
        month, day, year = found[1], found[2], found[3]
    else:
        return found[0] if (found := _DATE.match(value)) else ""
    return f"{year}-{month:0>2}-{day:0>2}"


# Fields -----------------------------------------------------------------------------------------


def _string(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**18 else ""
    return value if isinstance(value, str) else ""


def _line(value: object) -> str:
    """A value as one line of text; cut off where it is too long for a name."""
    return " ".join(tidy(_string(value)[: 4 * _TEXT]).split())[:_TEXT]


def _mapping(value: object) -> Record:
    return value if isinstance(value, Mapping) else {}


def _first(records: tuple[Record, ...], *names: str) -> str:
    values = (_line(record.get(name)) for name in names for record in records)
    return next(filter(None, values), "")


def _court(court: Record, docket: Record, opinion: Record) -> str:
    """The court's name if known, else its short name, such as ``scotus``."""
    named = _line(court.get("full_name")) or _line(court.get("name"))
    sign = _line(docket.get("court_id") or docket.get("court") or opinion.get("court"))
    return named or sign.rstrip("/").rpartition("/")[2]


def _citations(value: object) -> list[str]:
    """Citations such as ``410 U.S. 113``, given as such, or in parts."""
    found: list[str] = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, Mapping):
            parts = [_line(item.get(name)) for name in ("volume", "reporter", "page")]
            found.append(_line(item.get("cite")) or " ".join(filter(None, parts)))
        else:
            found.append(_line(item))
    return list(dict.fromkeys(filter(None, found)))


def _old_citations(old: Record) -> list[str]:
    names = [name for name in old if "cite" in name and name != "cite_count"]
    return list(dict.fromkeys(filter(None, (_line(old[name]) for name in sorted(names)))))


def _address(path: str) -> str:
    return path if path.startswith("http") else f"{_SITE}{path}" if path.startswith("/") else ""
