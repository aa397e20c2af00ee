"""Project Gutenberg: one book per file, as text in any of its encodings, as HTML, or zipped.

The text is the book without the project's header, licence and credits, in all the forms these have
had (`barrow.corpus.readers.gutenberg.frame`). Lines stay as they are, as in PG-19, and so do
``_italics_``. ``gutenberg_header`` and ``gutenberg_footer`` in `meta` name the form that was found;
``none`` means that the text was not changed. Of a book in several forms the best is read.

Licence: what the project publishes is out of copyright in the United States, unless its header says
that it is copyrighted; then ``licence`` does, too. Other countries have other terms of copyright.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.input.open_raw import load_raw, open_raw
from barrow.corpus.input.unpack import BadArchive, Member, members
from barrow.corpus.language.codes import language_of_name
from barrow.corpus.licences.detect import RESERVED
from barrow.corpus.readers.gutenberg.frame import Framed, take_out_of_frame
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.dates import month_number
from barrow.corpus.text.encoding import codec_of, decode
from barrow.corpus.text.html.text import html_to_text
from barrow.corpus.text.whitespace import is_binary, tidy

_TEXT, _HTML = (".txt", ".asc"), (".htm", ".html")
_HEAD = 20_000
_NUMBER = re.compile(r"\[\s*+(?:e-?book|e-?text)\s*+#\s*+(\d{1,6})\s*+\]", re.IGNORECASE)
_FILE_NUMBER = re.compile(r"(?:pg)?(\d{1,6})(?:-(?:[08h]|images|epub))?(?:\.|\Z)", re.IGNORECASE)
_FIELD = re.compile(
    r"^(Title|Author|Language|Release Date|Posting Date|Character set encoding)\s?: *+(.*+)"
    r"((?:\n {2,}\S.*+)*+)",
    re.IGNORECASE | re.MULTILINE,
)
_OPENING = re.compile(
    r"^\W{0,8}(?:This is )?(?:The )?Project Gutenberg(?:'s)? (?:e-?text|e-?book)(?: of|,) +"
    r"(.+?)(?:,? by +(.+?))?[\s*]*$",
    re.IGNORECASE | re.MULTILINE,
)
_DATE = re.compile(r"([A-Za-z]{3,9})\.? *(?:(\d{1,2}),?|,)? *(\d{4})|(\d{4})-(\d\d)-(\d\d)")
_COPYRIGHTED = re.compile(
    r"COPYRIGHTED Project Gutenberg|This is a COPYRIGHTED|SMALL PRINT! FOR COPYRIGHT PROTECTED",
    re.IGNORECASE,
)
_DECLARED = re.compile(rb"^Character set encoding: *+([^\r\n]{1,60})", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Gutenberg(Reader):
    """Project Gutenberg: books as text or HTML, without the licence header and footer.

    With `unwrap` the lines of a paragraph of prose are joined. `transcriber_notes` keeps the notes
    at the beginning and the end that are not part of the book. A book has at most `max_bytes`.
    """

    unwrap: bool = False
    transcriber_notes: bool = False
    max_bytes: int = 1 << 26

    extractor = "gutenberg/2"
    patterns = ("**/*.txt", "**/*.zip", "**/*.htm", "**/*.html")

    def read(self, path: Path) -> Iterator[Item]:
        if path.suffix.lower() == ".zip":
            yield from _zipped(path, self)
        else:
            data = load_raw(path, max_bytes=self.max_bytes)
            yield data if isinstance(data, Reject) else _book(data, path.name, "", self)

    def group(self, paths: Sequence[Path]) -> list[tuple[Path, ...]]:
        """The forms of one book together, the best first: files of one number in one folder."""
        groups: dict[Path | tuple[Path, str], list[Path]] = {}
        for path in paths:
            groups.setdefault(_book_of(path), []).append(path)
        return [tuple(sorted(forms, key=_preference)) for forms in groups.values()]

    def read_group(self, paths: Sequence[Path]) -> Iterator[Item]:
        """The best form of a book that can be read."""
        best: Path | None = None
        number = None
        for path in paths:
            if best and _form(path) != _form(best) and _header_number(path) in (None, number):
                yield Reject("other-form", f"the same book as {best.name}", path.name)
                continue
            for item in self.read(path):
                if isinstance(item, Reject):
                    yield Reject(item.reason, item.cause, item.member or path.name, item.excerpt)
                    continue
                if path != paths[0]:
                    place = "/".join([path.name, *filter(None, [item.meta.get("member")])])
                    item = Document(item.text, {**item.meta, "member": place})
                yield item
                if best is None:
                    best, number = path, item.meta.get("ebook")


def _book_of(path: Path) -> Path | tuple[Path, str]:
    """The folder and number of a book; its pages may be in a folder of their own, ``98-h``."""
    own = _FILE_NUMBER.match(path.name)
    above = _FILE_NUMBER.match(path.parent.name) if "-" in path.parent.name else None
    if above and (own is None or own[1] == above[1]):
        return path.parent.parent, above[1]
    return (path.parent, own[1]) if own else path


def _form(path: Path) -> Path:
    """What is one form of a book: a file, or the HTML of a folder."""
    return path.parent if path.suffix.lower() in _HTML else path


def _preference(path: Path) -> tuple[int, str]:
    """Text before HTML, unpacked before packed; of texts UTF-8 (``-0``), then Latin 1 (``-8``)."""
    stem = path.name.lower().partition(".")[0]
    is_html = path.suffix.lower() in _HTML or stem.endswith("-h")
    kinds = (stem.endswith("-0"), stem.startswith("pg"), stem.endswith("-8"), True)
    return 20 * is_html + 10 * (path.suffix.lower() == ".zip") + kinds.index(True), str(path)


def _header_number(path: Path) -> int | None:
    """The number that the header of a text names."""
    file = open_raw(path)
    if isinstance(file, Reject):
        return None
    with file:
        found = _NUMBER.search(file.read(_HEAD).decode("latin-1"))
    return int(found[1]) if found else None


def _zipped(path: Path, options: Gutenberg) -> Iterator[Item]:
    try:
        names = [entry.name.lower() for entry in members(path) if isinstance(entry, Member)]
        has_text = any(name.endswith(_TEXT) for name in names)
        for entry in members(path):
            if isinstance(entry, Reject):
                yield entry
            elif not entry.name.lower().endswith((*_TEXT, *_HTML)):
                yield Reject("not-a-book", "neither text nor HTML", entry.name)
            elif has_text and entry.name.lower().endswith(_HTML):
                yield Reject("has-text", "the same book is there as text", entry.name)
            elif entry.size > options.max_bytes:
                cause = f"{entry.size:,} bytes, more than {options.max_bytes:,}"
                yield Reject("too-large", cause, entry.name)
            else:
                try:
                    yield _book(entry.read(), entry.name.rpartition("/")[2], entry.name, options)
                except BadArchive as error:
                    yield error.as_reject(entry.name)
        if not names:
            yield Reject("empty", "nothing in the zip")
    except BadArchive as error:
        yield error.as_reject()


def _book(data: bytes, name: str, member: str, options: Gutenberg) -> Item:
    decoded = decode(data, _declared(data, name))
    if decoded is None:
        return Reject("unknown-encoding", "not text in any encoding", member, excerpt(data))
    text, encoding = decoded
    if is_binary(text):
        return Reject("not-text", "too many control characters", member, excerpt(data))
    text = text.replace("\0", "")
    if name.lower().endswith(_HTML):
        text = html_to_text(text)
    framed = take_out_of_frame(text, transcriber_notes=options.transcriber_notes)
    book = tidy(framed.book)
    if options.unwrap:
        book = _unwrapped(book)
    if not book.strip():
        return Reject("empty", "nothing but header and licence", member, excerpt(text))
    meta = _meta(framed, name) | {"encoding": "ascii" if data.isascii() else encoding}
    return Document(book, meta | ({"member": member} if member else {}))


def _declared(data: bytes, name: str) -> str | None:
    """The encoding the header names, or the file: ``345-8.txt`` is not ASCII and not UTF-8."""
    found = _DECLARED.search(data[:_HEAD])
    label = found[1].decode("ascii", "replace").strip().lower() if found else ""
    codec = codec_of(label.replace("code page", "cp"))
    if codec in ("iso8859-1", "ascii") or (not label and "-8." in name):
        # Quotes and dashes of Windows are common in what is called Latin 1.
        return "cp1252" if re.search(rb"[\x80-\x9f]", data) else "iso-8859-1"
    return codec


def _meta(framed: Framed, name: str) -> dict[str, str | int]:
    """The fields of the header, or of the footer if the small print is at the end."""
    head = framed.header[:_HEAD]
    fields: dict[str, str] = {}
    for found in _FIELD.finditer(head):
        fields.setdefault(found[1].lower(), tidy(" ".join((found[2] + found[3]).split())))
    opening = _OPENING.search(head)
    number = _NUMBER.search(head) or _FILE_NUMBER.match(name)
    values = {
        "title": fields.get("title") or (tidy(opening[1]).strip(" *") if opening else ""),
        "author": fields.get("author") or (tidy(opening[2] or "").strip(" *") if opening else ""),
        "language": language_of_name(fields.get("language", "").partition(",")[0]),
        "date": _iso(fields.get("release date", "")) or _iso(fields.get("posting date", "")),
        "url": f"https://www.gutenberg.org/ebooks/{int(number[1])}" if number else "",
        "licence": RESERVED if _COPYRIGHTED.search(head + framed.footer[:_HEAD]) else "",
        "gutenberg_header": framed.header_form,
        "gutenberg_footer": framed.footer_form,
    }
    meta: dict[str, str | int] = {key: value for key, value in values.items() if value}
    return meta | ({"ebook": int(number[1])} if number else {})


def _iso(words: str) -> str:
    """``August 16, 2013`` as 2013-08-16, ``September, 2001`` as 2001-09."""
    found = _DATE.search(words)
    if found is None:
        return ""
    if found[4]:
        return found[0]
    month = month_number(found[1])
    if not month:
        return ""
    date = f"{found[3]}-{month:02}"
    return f"{date}-{int(found[2]):02}" if found[2] and 1 <= int(found[2]) <= 31 else date


def _unwrapped(text: str) -> str:
    """Paragraphs of prose on a line each; verse, lists and tables stay as they are."""
    return "\n\n".join(map(_joined, text.split("\n\n")))


def _joined(paragraph: str) -> str:
    lines = paragraph.split("\n")
    is_prose = all(len(line) > 45 for line in lines[:-1])
    is_indented = any(line.startswith(" ") for line in lines[1:])
    return " ".join(line.strip() for line in lines) if is_prose and not is_indented else paragraph
