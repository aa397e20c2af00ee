"""Cases in XML: the Caselaw Access Project's ``casebody``, and Fastcase's ``Case``."""

from __future__ import annotations

import html
import re
from collections import defaultdict

from barrow.archive import Document
from barrow.corpus.readers.courtlistener.case import iso_date, marked_up_text
from barrow.corpus.readers.reader import Item, Reject, excerpt
from barrow.corpus.text.xml.events import BadXml, End, Start, Text, xml_events
from barrow.corpus.text.xml.repair import readable_xml

_ROOT = re.compile(r"\s*+(?:<[?!][^>]*+>\s*+)*+<([\w:.-]++)")
_BODY = re.compile(r"<(?:\w{1,20}:)?casebody\b")
_FIELDS = frozenset(
    (
        *("case/name", "case/court", "case/docketnumber", "case/citation", "case/decisiondate"),
        *("casebody/author", "opinion/author", "casebody/judges"),
        *("Case/ShortName", "Jurisdiction/CourtName", "DocketNumbers/DocketNumber"),
        *("Citation/Volume", "Citation/Reporter", "Citation/Page", "Case/DecisionDate"),
        *("Case/Author", "Case/HeaderHtml", "Case/CaseHtml"),
    )
)
_PAGE_MARK = r"\[\s*+(?:(?:{})\s++\d{{1,5}}[\s,]*+)++\]"
_GAP = r"(?:\s|&nbsp;|&\#160;|</?(?:p|b|i|strong|center)>)*+"
_SENTENCE_END = (".", ":", "?", "!", '"', "”", "’", ";", ")", ">")


def case_xml_items(text: str, *, page_marks: bool) -> list[Item]:
    """The document of a case, with a reject if the XML is truncated; or a reject only.

    Reasons: ``not-an-opinion``, ``bad-xml``, ``no-text``.
    """
    root = found[1].rpartition(":")[2] if (found := _ROOT.match(text)) else ""
    body = _BODY.search(text)
    if root != "Case" and body is None:
        return [Reject("not-an-opinion", f"XML, but not a case: <{root}>", "", excerpt(text))]
    fields, damage = _fields(text)
    if root == "Case":
        opinion = _fastcase_text(fields, page_marks=page_marks)
        meta = _fastcase_meta(fields)
    else:
        assert body is not None
        end = text.rfind("<", body.end(), max(0, text.find("casebody>", body.end())))
        opinion = marked_up_text(
            text[body.start() : end if end > 0 else None], page_marks=page_marks
        )
        meta = _casebody_meta(fields)
    items: list[Item] = []
    if opinion:
        items.append(Document(opinion, {key: value for key, value in meta.items() if value}))
    elif damage is None:
        items.append(Reject("no-text", "the case has no text", "", excerpt(text)))
    return items + ([Reject("bad-xml", damage, "", excerpt(text))] if damage else [])


def _fields(text: str) -> tuple[dict[str, list[str]], str | None]:
    """Texts of the elements we know, by their parent's name and their own."""
    fields: dict[str, list[str]] = defaultdict(list)
    names: list[str] = [""]
    pieces: list[str] | None = None
    try:
        for event in xml_events(readable_xml(text)):
            if isinstance(event, Start):
                name = event.name.rpartition(":")[2]
                if pieces is None and f"{names[-1]}/{name}" in _FIELDS:
                    pieces = []
                    if name == "name" and (short := event.attributes.get("abbreviation")):
                        fields["case/abbreviation"].append(short)
                names.append(name)
            elif isinstance(event, Text):
                if pieces is not None:
                    pieces.append(event.data)
            elif isinstance(event, End):
                name = names.pop()
                if pieces is not None and f"{names[-1]}/{name}" in _FIELDS:
                    fields[f"{names[-1]}/{name}"].append("".join(pieces))
                    pieces = None
    except BadXml as error:
        if pieces:
            fields[f"{names[-2]}/{names[-1]}"].append("".join(pieces))
        return fields, str(error)
    return fields, None


def _casebody_meta(fields: dict[str, list[str]]) -> dict[str, str | list[str]]:
    return {
        "title": _one(fields, "case/abbreviation") or _one(fields, "case/name"),
        "court": _one(fields, "case/court"),
        "date": iso_date(_one(fields, "case/decisiondate")),
        "citations": [_line(value) for value in fields["case/citation"]],
        "docket_number": _one(fields, "case/docketnumber"),
        "author": "; ".join(map(_line, fields["opinion/author"] or fields["casebody/author"])),
        "judges": "; ".join(map(_line, fields["casebody/judges"])),
    }


def _fastcase_meta(fields: dict[str, list[str]]) -> dict[str, str | list[str]]:
    parts = (fields[f"Citation/{name}"] for name in ("Volume", "Reporter", "Page"))
    return {
        "title": _one(fields, "Case/ShortName"),
        "court": _one(fields, "Jurisdiction/CourtName"),
        "date": iso_date(_one(fields, "Case/DecisionDate")),
        "citations": [" ".join(map(_line, cite)) for cite in zip(*parts, strict=False)],
        "docket_number": "; ".join(map(_line, fields["DocketNumbers/DocketNumber"])),
        "author": _one(fields, "Case/Author"),
    }


def _fastcase_text(fields: dict[str, list[str]], *, page_marks: bool) -> str:
    """The head and the opinion, whose HTML has page marks as paragraphs of their own."""
    volumes = zip(fields["Citation/Volume"], fields["Citation/Reporter"], strict=False)
    books = [rf"{re.escape(_line(volume))}\s++{re.escape(_line(name))}" for volume, name in volumes]
    body = "".join(fields["Case/CaseHtml"])
    if books and not page_marks:
        mark = _PAGE_MARK.format("|".join(books))
        body = re.sub(rf"({_GAP})({mark}{_GAP})++", _repaired, body)
    parts = ["".join(fields["Case/HeaderHtml"]), body]
    # Fields of the XML hold escaped HTML, in some volumes escaped twice.
    parts = [html.unescape(part) if "&amp;#" in part else part for part in parts]
    return "\n\n".join(
        filter(None, (marked_up_text(part, page_marks=page_marks) for part in parts))
    )


def _repaired(mark: re.Match[str]) -> str:
    """The replacement of a page mark: nothing if it splits a paragraph."""
    before = mark.string[max(0, mark.start() - 1) : mark.start()]
    after = mark.string[mark.end() : mark.end() + 1]
    parts_sentence = before not in _SENTENCE_END and not (after.isupper() and mark[1].strip())
    return " " if parts_sentence and before else "<p>"


def _one(fields: dict[str, list[str]], name: str) -> str:
    return _line(fields[name][0]) if fields.get(name) else ""


def _line(value: str) -> str:
    return " ".join(value.split())[:300]
