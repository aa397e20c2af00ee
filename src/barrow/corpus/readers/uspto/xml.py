"""Patents in XML: ST.32 (SGML 2001, XML 2002 to 2004), and USPTO's own DTDs for what came after.

Elements of all of them are read by one table, since no name means two things. Tables, mathematics
and chemistry are dropped without a trace, as are paragraph numbers and images; other elements
inside a paragraph leave their text. The document type is not read: it declares nothing but image
files, and the names of its characters are HTML's and ISO's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5
from typing import BinaryIO, cast

from barrow.corpus.readers.uspto.patent import (
    Block,
    NotAPatent,
    Part,
    Patent,
    iso_date,
    plain_number,
    sort_of,
)
from barrow.corpus.readers.uspto.superscript import superscript
from barrow.corpus.text.xml.events import BadXml, End, Event, Start, Text, xml_events
from barrow.corpus.text.xml.repair import readable_xml

_SEGMENT = 1 << 13
_GRANTS = frozenset(["us-patent-grant", "PATDOC"])
_APPLICATIONS = frozenset(["us-patent-application", "patent-application-publication"])
_ELEMENTS: dict[Part, str] = {
    "abstract": "abstract SDOAB subdoc-abstract",
    "body": "description SDODE subdoc-description BRFSUM summary-of-invention",
    "aside": "RELAPP GOVINT cross-reference-to-related-applications federal-research-statement "
    "copyright-statement",
    "background": "background-of-invention",
    "drawings": "DRWDESC description-of-drawings brief-description-of-drawings "
    "brief-description-of-sequences",
    "detail": "DETDESC detailed-description",
    "claims": "claims SDOCL subdoc-claims",
}
_PARTS = {name: part for part, names in _ELEMENTS.items() for name in names.split()}
_WHOLES = frozenset(name for name in _PARTS if name.startswith(("SDO", "subdoc-"))) | frozenset(
    ["abstract", "description", "claims"]
)
_HEADINGS = frozenset(["heading", "H"])
_BLOCKS = frozenset(["p", "PARA", "paragraph", "claim", "CLM"]) | _HEADINGS
_LINES = frozenset(
    ["li", "LI", "dt", "dd", "DT", "DD", "br", "BR", "list-item", "claim-text", "CLMSTEP"]
)
_DROPPED = frozenset(
    [
        *("tables", "table", "TABLE-US", "TABLE-CALS", "table-cwu", "table-external-doc"),
        *("maths", "math", "us-math", "MATH-US", "MATHML", "math-cwu"),
        *("chemistry", "us-chemistry", "CHEM-US", "chemistry-cwu", "CWU"),
        *("sequence-list", "sequence-cwu", "SEQLST-US", "us-sequence-list-doc"),
        *("number", "FOO", "footnote"),
    ]
)
_RAISED = frozenset(["sup", "SP", "superscript"])
_FIELDS = {
    name: field
    for field, names in {
        "number": ("doc-number", "B110"),
        "kind_code": ("kind", "kind-code", "B130"),
        "date": ("date", "document-date", "B140"),
        "country": ("country", "B190"),
        "title": ("invention-title", "title-of-invention", "B540"),
    }.items()
    for name in names
}
_SORTS = {"S": "design", "P": "plant", "E": "reissue"}

_DOCTYPE = re.compile(r"<!DOCTYPE[^\[>]*+(?:\[[^\]]*+\]\s*+)?+>")
_BLANKS = re.compile(r"[\s\ufeff]*+")
_SGML = re.compile(r"<(?:(/?)([A-Za-z][A-Za-z0-9.-]*+)|[!?])[^<>]*+>")
# Tags that change nothing but the look of a word; most of those in a description.
_INLINE = re.compile(
    r"</?(?:b|i|u|figref|claim-ref|highlight|bold|italic|cross-reference|PDAT|PTEXT|STEXT|HIL|BOLD"
    r"|ITALIC|FGREF|CLREF)(?:\s[^<>]*+)?+/?>"
)
_INSTRUCTION = re.compile(r"<\?([A-Za-z-]++)\s([^?>]*+)\?>")
_REFERENCE = re.compile(r"&([A-Za-z][A-Za-z0-9.]*+);")
# ISO's Greek letters, whose names HTML does not have.
_GREEK = (
    "agr α bgr β ggr γ dgr δ egr ε zgr ζ eegr η thgr θ igr ι kgr κ lgr λ mgr μ ngr ν xgr ξ ogr ο "
    "pgr π rgr ρ sgr σ sfgr ς tgr τ ugr υ phgr φ khgr χ psgr ψ ohgr ω epsis ε thetas θ phis φ "
    "Agr Α Bgr Β Ggr Γ Dgr Δ Egr Ε Zgr Ζ EEgr Η THgr Θ Igr Ι Kgr Κ Lgr Λ Mgr Μ Ngr Ν Xgr Ξ Ogr Ο "
    "Pgr Π Rgr Ρ Sgr Σ Tgr Τ Ugr Υ PHgr Φ KHgr Χ PSgr Ψ OHgr Ω"
)
_CHARACTERS = dict(zip(_GREEK.split()[::2], _GREEK.split()[1::2], strict=True))
# Front matter that is never used, and is most of a patent's elements.
_UNUSED = re.compile(
    r"<(us-references-cited|references-cited|us-parties|parties|us-related-documents|B560|B580|B700"
    r"|us-field-of-classification-search|field-of-search|classifications-cpc|classifications-ipcr"
    r"|continuity-data|inventors|drawings)[\s>]"
)
_TEXT_BEGINS = re.compile(r"<(?:description|SDODE|subdoc-description)[\s>]")


def xml_blocks(text: str, patent: Patent) -> Iterator[Block]:
    """Headings and paragraphs of one XML document, whose front page is written into `patent`.

    Raises `BadXml` at the first error, and `NotAPatent`.
    """
    return _blocks(xml_events(cast(BinaryIO, _Repaired(_without_front_matter(text)))), patent)


def sgml_blocks(text: str, patent: Patent) -> Iterator[Block]:
    """The same of the SGML of 2001, in which empty elements are not closed."""
    return _blocks(_sgml_events(text), patent)


class _Repaired:
    """A document, repaired on the fly to XML that expat reads."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = _root(text)

    def read(self, _: int = -1, /) -> bytes:
        while self._at < len(self._text):
            end = self._text.find(">", self._at + _SEGMENT) + 1 or len(self._text)
            segment = _INLINE.sub("", self._text[self._at : end])
            self._at = end
            segment = _INSTRUCTION.sub(_as_element, segment)
            if data := readable_xml(_REFERENCE.sub(_character, segment)).read():
                return data
        return b""


def _root(text: str) -> int:
    """Where the root element begins, or whatever else follows the prologue."""
    at = 0
    while True:
        blanks = _BLANKS.match(text, at)
        at = blanks.end() if blanks else at
        if text.startswith("<?", at):
            closing = "?>"
        elif text.startswith("<!--", at):
            closing = "-->"
        elif found := _DOCTYPE.match(text, at):
            at = found.end()
            continue
        else:
            return at
        end = text.find(closing, at)
        if end < 0:
            raise BadXml(f"the prologue has no {closing}")
        at = end + len(closing)


def _as_element(found: re.Match[str]) -> str:
    """Instructions that begin and end parts of the description, which expat would pass over."""
    if found[1] in ("in-line-formulae", "in-line-formula"):
        return "<br/>"
    if found[1] not in _PARTS:
        return ""
    return f'<part name="{found[1] if "lead" in found[2] else "description"}"/>'


def _character(found: re.Match[str]) -> str:
    name = found[1].removeprefix("b.")
    return _CHARACTERS.get(name) or (f"&{name};" if f"{name};" in html5 else "")


def _without_front_matter(text: str) -> str:
    found = _TEXT_BEGINS.search(text)
    end = found.start() if found else len(text)
    kept, at = [], 0
    while (unused := _UNUSED.search(text, at, end)) is not None:
        kept.append(text[at : unused.start()])
        closing = f"</{unused[1]}>"
        after = text.find(closing, unused.end(), end)
        if after < 0:
            at = unused.start()
            break
        at = after + len(closing)
    return "".join([*kept, text[at:]])


def _sgml_events(text: str) -> Iterator[Event]:
    text = _INLINE.sub("", text)
    at = _root(text)
    last: Event = Text("")
    for tag in _SGML.finditer(text, at):
        if tag.start() > at:
            yield Text(unescape(_REFERENCE.sub(_character, text[at : tag.start()])))
        at = tag.end()
        if tag[2]:
            yield (last := End(tag[2]) if tag[1] else Start(tag[2], {}))
    if last != End("PATDOC"):
        raise BadXml("ends before </PATDOC>")


def _blocks(events: Iterator[Event], patent: Patent) -> Iterator[Block]:
    root = next(events, None)
    if not isinstance(root, Start) or root.name not in _GRANTS | _APPLICATIONS:
        name = root.name[:100] if isinstance(root, Start) else "missing"
        raise NotAPatent(f"the root element is {name}")
    patent.is_application = root.name in _APPLICATIONS
    part = _front_page(events, patent)
    pieces: list[str] | None = None  # of the open block
    block, depth = "", 0
    raised: list[int] = []  # where in the pieces a superscript has begun
    for event in events:
        if isinstance(event, Text):
            if pieces is not None:
                pieces.append(event.data.replace("\n", " "))
            continue
        name = event.name
        if isinstance(event, Start):
            if name in _DROPPED:
                _pass_over(events, name)
                if pieces is not None:
                    pieces.append(" ")
            elif pieces is None:
                if name in _BLOCKS:
                    block, depth, pieces = name, 1, []
                elif name == "part":
                    part = _PARTS.get(event.attributes.get("name", ""), "body")
                elif name in _PARTS:
                    part = _PARTS[name]
            elif name in _RAISED:
                raised.append(len(pieces))
            elif name in _LINES or name in _BLOCKS:
                depth += name == block
                pieces.append("\n")
        elif pieces is None:
            if name in _PARTS:
                part = "" if name in _WHOLES else "body"
        elif name == block:
            depth -= 1
            if depth:
                pieces.append("\n")
                continue
            if part and (text := _lines("".join(pieces))):
                yield Block(block in _HEADINGS, part, text)
            pieces, raised = None, []
        elif name in _RAISED and raised:
            start = raised.pop()
            base = "".join(pieces[max(0, start - 2) : start])
            pieces[start:] = [superscript(base, "".join(pieces[start:]))]
        elif name in _LINES or name in _BLOCKS:
            pieces.append("\n")


def _front_page(events: Iterator[Event], patent: Patent) -> Part:
    """Read up to where a part of the text begins; which part.

    Fields count when they come first: a document number further down is that of another document.
    """
    part: Part = ""
    field = ""
    value: list[str] = []
    is_own = True
    for event in events:
        if isinstance(event, Text):
            if field:
                value.append(event.data)
        elif isinstance(event, Start):
            if event.name in _PARTS:
                part = _PARTS[event.name]
                break
            if event.name in _FIELDS and (is_own or _FIELDS[event.name] == "title"):
                field, value = event.name, []
            elif event.name == "application-reference":
                patent.sort = event.attributes.get("appl-type", "")[:20]
        elif event.name == field:
            _set(patent, _FIELDS[field], " ".join("".join(value).split()))
            field = ""
        elif event.name == "document-id":
            is_own = False
    patent.sort = patent.sort or _SORTS.get(patent.kind_code[:1], "") or sort_of(patent.number)
    return part


def _set(patent: Patent, field: str, value: str) -> None:
    if getattr(patent, field):
        return
    if field == "number":
        value = plain_number(value)
    elif field == "date":
        value = iso_date(value)
    elif field != "title":
        value = value[:4] if value.isascii() and value.isalnum() else ""
    setattr(patent, field, value)


def _pass_over(events: Iterator[Event], name: str) -> None:
    """Skip to the end of an open element; in SGML nothing else checks that it has one."""
    depth = 1
    for event in events:
        if not isinstance(event, Text) and event.name == name:
            depth += 1 if isinstance(event, Start) else -1
            if not depth:
                return
    raise BadXml(f"<{name}> has no end")


def _lines(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
