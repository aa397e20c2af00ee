"""A PDF's bytes to its text, or the reason why there is none; runs isolated."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from datetime import date
from typing import Any

from barrow.corpus.text.pdf.layout import columns_of
from barrow.corpus.text.pdf.lines import BadPdf, Page, Pdf
from barrow.corpus.text.pdf.paragraphs import text_of
from barrow.corpus.text.pdf.running import without_running_lines
from barrow.corpus.text.whitespace import tidy

_FEW = 25  # characters per page: with fewer, the text is only a stamp on a scan
_SAMPLE = 50_000
_LIGATURES = dict(
    zip("ﬀﬁﬂﬃﬄﬅﬆ\u00a0", ("ff", "fi", "fl", "ffi", "ffl", "st", "st", " "), strict=True)
) | dict.fromkeys("\u00ad\u200b\ufffe\uffff", "")
_LIGATURE = re.compile(f"[{''.join(_LIGATURES)}]")
# Accents drawn separately, before their letter.
_ACCENT = re.compile(r"([´¨ˆ˜ˇ˘˝˚¸])([A-Za-zı])")
_BLANKS = re.compile(r" {2,}")
# With letters that take them in some language; it´s and xˆj are something else.
_ACCENTS = {
    "´": ("\u0301", "AEIOUYaeiouyı"),
    "¨": ("\u0308", "AEIOUaeiouyı"),
    "ˆ": ("\u0302", "AEIOUaeiouı"),
    "˜": ("\u0303", "ANOano"),
    "ˇ": ("\u030c", "CDENRSTZcdenrstz"),
    "˘": ("\u0306", "AGag"),
    "˝": ("\u030b", "OUou"),
    "˚": ("\u030a", "AUau"),
    "¸": ("\u0327", "CSTcst"),
}
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?")
_LATIN = re.compile(r"[A-Za-z]")
_VOWEL = re.compile(r"[AEIOUYaeiouy]")
_TURN = re.compile(r"[a-z][A-Z]")
_ODD = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd]")
_NO_TITLE = re.compile(
    r"untitled|microsoft word|\S+\.(?:docx?|dvi|tex|pdf|indd|rtf|wpd|qxd|ps)\b", re.IGNORECASE
)


def pdf_text(data: bytes, *, max_pages: int) -> dict[str, Any]:
    """``text`` and ``meta`` of a PDF; with a ``reason`` and ``cause`` if it is rejected.

    Reasons: ``encrypted``, ``malformed``, ``too-large``, ``no-text-layer``, ``garbled``.
    """
    try:
        pdf = Pdf(data)
    except BadPdf as error:
        return _reject(error.reason, error.cause)
    if pdf.num_pages > max_pages:
        return _reject("too-large", f"{pdf.num_pages:,} pages, more than {max_pages:,}")
    pages = [page for page in pdf.pages() if page is not None]
    if not pages:
        return _reject("malformed", "none of its pages can be read")
    sample = " ".join(line.text for page in pages for line in page.lines)
    if len(sample) < _FEW * len(pages):
        cause = f"{len(sample)} characters on {len(pages)} pages"
        return _reject("no-text-layer", cause, sample)
    if cause := _garbage(sample):
        return _reject("garbled", cause, sample[:5000])
    return {"text": _text(pages), "meta": _meta(pdf)}


def _reject(reason: str, cause: str, text: str = "") -> dict[str, Any]:
    return {"reason": reason, "cause": cause, "text": tidy(text)}


def _text(pages: list[Page]) -> str:
    pages = without_running_lines(pages)
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
    body_size = min(sizes, key=lambda size: (-sizes[size], size), default=10.0)
    columns = [columns_of(page, body_size=body_size) for page in pages]
    text = _plain(text_of(columns, body_size=body_size))
    return tidy(_BLANKS.sub(" ", _ACCENT.sub(_accented, text)))


def _plain(text: str) -> str:
    return _LIGATURE.sub(lambda found: _LIGATURES[found[0]], text)


def _accented(found: re.Match[str]) -> str:
    accent, letter = found.groups()
    combining, letters = _ACCENTS[accent]
    if letter not in letters:
        return found[0]
    return unicodedata.normalize("NFC", letter.replace("ı", "i") + combining)


def _garbage(text: str) -> str:
    """Why text is garbled: fonts that map their letters wrongly or not at all."""
    if len(text) > 2 * _SAMPLE:
        text = text[:_SAMPLE] + text[-_SAMPLE:]
    odd = len(_ODD.findall(text))
    if odd * 10 > len(text):
        return f"{odd} of {len(text)} characters mean nothing"
    latin = len(_LATIN.findall(text))
    vowels = len(_VOWEL.findall(text))
    # In the languages written with them, 33 to 50% of Latin letters are vowels.
    if latin * 2 > len(text) and latin > 200 and not 0.24 < vowels / latin < 0.62:
        return f"{vowels} of {latin} letters are vowels"
    turns = len(_TURN.findall(text))
    if turns * 15 > latin:
        return f"{turns} capitals in the middle of words, among {latin} letters"
    legible = sum(map(str.isalnum, text)) + text.count(" ")
    if legible * 2 < len(text):
        return f"{legible} of {len(text)} characters are letters, figures or blanks"
    return ""


def _meta(pdf: Pdf) -> dict[str, Any]:
    info = pdf.info()
    meta: dict[str, Any] = {}
    title = _one_line(info.get("Title", ""))
    if len(title) > 3 and not _NO_TITLE.match(title) and any(map(str.isalpha, title)):
        meta["title"] = title.removeprefix("Microsoft Word - ")
    author = _one_line(info.get("Author", ""))
    if len(author) > 3 and " " in author:
        meta["author"] = author
    if day := _day(info.get("CreationDate", "")):
        meta["date"] = day
    language = info.get("Language", "").replace("_", "-").split("-")[0].lower()
    if len(language) == 2 and language.isascii() and language.isalpha():
        meta["language"] = language
    meta["pages"] = pdf.num_pages
    return meta


def _one_line(text: str) -> str:
    return " ".join(tidy(_plain(text)).split())[:500]


def _day(text: str) -> str | None:
    """The day of a PDF's date, in ISO 8601."""
    found = _DATE.match(text)
    if not found:
        return None
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    try:
        date(year, month, day)
    except ValueError:
        return None
    return "-".join(part for part in found.groups() if part) if year > 1980 else None
