"""Lone pages of HTML: an opinion, or one of the other pages of a court's site.

A list of opinions names many cases and links to many files; a menu is links; a docket or a calendar
is rows; a feed or the answer of a search is data. An opinion is paragraphs about one case. A page
with a form is one of a site: its menus are left out first.
"""

from __future__ import annotations

import re

from barrow.archive import Document
from barrow.corpus.readers.courtlistener.case import marked_up_text, page_meta
from barrow.corpus.readers.reader import Item, Reject, excerpt
from barrow.corpus.text.html.main import main_markups
from barrow.corpus.text.html.tree import page_tree

_CASEBODY = re.compile(r"<section\s[^<>]{0,200}class=[\"']casebody[\"']")
_WORD = re.compile(
    r"\bvs?\.\s|\bin re\b|\bex parte\b|\bmatter of\b|\bcourt of\b|\bper curiam\b|\bopini[oó]n\b"
    r"|\b(?:supreme|district|circuit|superior|appellate|bankruptcy|probate|family|tax) court\b"
    r"|\b(?:appellant|appellee|petitioner|plaintiff|defendant)s?\b|\btrial court\b|\btribunal\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:affirm|revers|remand|vacat|dismiss|overrul|adjudg|concur|dissent)(?:e|ed|es|s|ing)?\b"
    r"|\bjudgment\b|\bdenied\b|\bgranted\b|\bordered\b|\bconvict(?:ed|ions?)\b|\bsentenced?\b"
    r"|\b(?:we|court) (?:hold|held|holds|conclude|concluded|concludes|find|finds|found)\b"
    r"|\bconfirma(?:mos)?\b|\brevoca(?:mos)?\b|\bsentencia\b",
    re.IGNORECASE,
)
_NEWS = re.compile(
    r"\b(?:press|news|media) (?:release|advisory|contact)|\bfor immediate release\b", re.IGNORECASE
)
_FORM = re.compile(r"<(?:form|input|select|frameset)\b", re.IGNORECASE)
_DATA = re.compile(
    r"\s*+<\?xml[^>]*+>\s*+<(?!html\b|[!?])|\s*+<(?:rss|feed|rdf:RDF|urlset)\b|\s*+[\[{]\s*+[\[{\"]",
    re.IGNORECASE,
)
_LINK = re.compile(r"<a\s(?=[^<>]*?href)[^<>]*+>((?:[^<]++|<(?!/a>))*+)", re.IGNORECASE)
_FILE = re.compile(
    r"""<a\s[^<>]*?href\s*+=\s*+["']?([^"'<>\s]{1,300}\.(?:pdf|docx?|wpd|rtf|mp3|wma|zip))""",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]*+>")
_VERSUS = re.compile(r"(?<=\w|[.,)]) [Vv][Ss]?\.? (?=[A-Z\[(*])")
_NUMBER = re.compile(r"\bNos?\. ?\S*\d|\b\d{2,4}[A-Z-]+\d{2,}")
_DATED = re.compile(
    r"^\W*+(?:\w{1,9}:? )?(?:\d{1,2}[/-]\d{1,2}[/-]\d{2,4}|[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4})\b",
    re.MULTILINE,
)
_DOCKET = re.compile(
    r"^(Assigned to|Date filed|Date terminated|Nature\S* of suit|Demand|Filing date)\b",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(
    r"\b(?:opinions|decisions|orders|dispositions|dockets|summaries|calendars?|cases)\b",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\W*(?:read (?:more|the \w+)|more|details|view(?: \w+)?|pdf|download(?: \w+)?|video|audio"
    r"|listen|full text|opinion|order|summary)\W*",
    re.IGNORECASE,
)
_SENTENCE_END = (".", ";", "?", "!", ",", ":", '"', "”")
_FEW_LINES, _PARAGRAPH, _SHORT = 8, 120, 1000  # short orders have no paragraphs
_CAPTION, _CAPTIONS, _FILES, _DATES = 200, 3, 4, 5


def opinion_page(page: str, *, page_marks: bool) -> Item:
    """The opinion that a page is, or a reject: ``not-an-opinion``, ``no-text``."""
    text = marked_up_text(page, page_marks=page_marks)
    if not text:
        return Reject("no-text", "the page has no text", "", excerpt(page))
    if _CASEBODY.search(page[:2000]):
        return Document(text, page_meta(page))
    if _FORM.search(page):
        _, page, _ = main_markups(page, page_tree(page), title="")
        text = marked_up_text(page, page_marks=page_marks)
    cause = _other_page(page, text)
    return Reject("not-an-opinion", cause, "", excerpt(text)) if cause else Document(text)


def _other_page(page: str, text: str) -> str:
    """Why a page is a list, a menu or data; empty if it is an opinion."""
    if _DATA.match(page) or _DATA.match(text):
        return "a feed or other data"
    if not _WORD.search(text) or not _DECISION.search(text):
        return "without the words of a decision"
    if _NEWS.search(text[:500]):
        return "news"
    if len(set(_DOCKET.findall(text))) > 1:
        return "the sheet of a docket"
    lines = [line for line in text.split("\n") if line.strip()]
    links = [_TAG.sub("", link) for link in _LINK.findall(page)]
    files = len(set(_FILE.findall(page)))
    if files > _FILES or sum(_MORE.fullmatch(link) is not None for link in links) >= _CAPTIONS:
        return f"links to {files} files, or to several texts"
    captions = sum(map(_is_caption, lines))
    is_list = any(len(line) < 80 and _HEADING.search(line) for line in lines[:8])
    if captions >= (2 if is_list else _CAPTIONS) and 12 * captions > len(lines):
        return f"{captions} of {len(lines)} lines name a case"
    rows = sum(" | " in line for line in lines)
    if rows >= _DATES and 2 * rows > len(lines):
        return f"{rows} of {len(lines)} lines are rows of a table"
    dates = len(_DATED.findall(text))
    if dates >= _DATES and 10 * dates > len(lines):
        return f"{dates} of {len(lines)} lines begin with a date"
    cases, words = len(_VERSUS.findall(text)), text.count(" ")
    if cases >= 10 and 25 * cases > words:
        return f"{cases} cases are named in {words} words"
    if len(lines) < _FEW_LINES:
        return ""
    linked = sum(map(len, links))
    if linked > len(text) / 2:
        return f"{linked:,} of {len(text):,} characters are links"
    in_paragraphs = sum(len(line) for line in lines if len(line) >= _PARAGRAPH)
    if len(text) > _SHORT and in_paragraphs < len(text) / 5:
        return f"{in_paragraphs:,} of {len(text):,} characters are in paragraphs"
    return ""


def _is_caption(line: str) -> bool:
    """Whether a line names a case, and is not a sentence or a note that cites one."""
    if len(line) > _CAPTION or line.startswith(("[", "See", "In ", "Cf")):
        return False
    is_sentence = line.endswith(_SENTENCE_END) and not _NUMBER.search(line)
    return not is_sentence and _VERSUS.search(line) is not None
