"""What Project Gutenberg puts around a book, in the forms it has had since 1971.

Since 2004 a line of stars begins the book and another ends it. From 1993 on a page of *small print*
came before the book, or after it. Older files have some paragraphs about the project at the top,
and a line ``End of …`` at the end. Credits and transcribers' notes come before and after.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Form = Literal["stars", "small-print", "plain", "none"]

# How far into a file its header may reach: the small print alone has some 300 lines.
_HEAD = 800
_PROJECT = r"(?:Project|Projekt|Projet|Proyecto|Progetto|Projeto) Gutenberg"

_START_STARS = re.compile(
    r"\s*+\*{1,4}\s*+(?:START OF (?:THE |THIS )?(?:COPYRIGHTED )?PROJECT GUTENBERG"
    r"|(?:ANFANG|BEGINN|D\u00c9BUT|DEBUT|INICIO|INIZIO|BEGIN) .{0,30}" + _PROJECT + ")",
    re.IGNORECASE,
)
_START_PLAIN = re.compile(
    r"\s*+(?:Beginning of (?:the|this) Project Gutenberg|-{3,} ?D[E\u00c9]BUT DU FICHIER)", re.I
)
_END_STARS = re.compile(
    r"\s*+\*{1,4}\s*+(?:END OF (?:THE |THIS )?(?:COPYRIGHTED )?PROJECT GUTENBERG"
    r"|(?:ENDE|FIN|FINE|EINDE|FIM) .{0,30}" + _PROJECT + ")",
    re.IGNORECASE,
)
_END_PLAIN = re.compile(
    r"\W{0,8}(?:(?:The )?End(?:e|ing)? (?:of |dieses |diese |des |von )?(?:the |this |The )?"
    r"(?:is )?(?:COPYRIGHTED )?"
    + _PROJECT
    + r"|(?:Fin|Fine|Einde|Fim|Slut) (?:\w{1,8} ){0,4}"
    + _PROJECT
    + r"|Ende dieses Etextes|-{3,} ?FIN DU FICHIER"
    r"|End of (?:this |the )?(?:Project )?Gutenberg E-?text)",
    re.IGNORECASE,
)
# The end of the small print, which the book follows if it is at the top.
_PRINT_END = re.compile(
    r"\s*+\**+\s?END\s?\**+\s*+(?:OF )?THE SMALL PRINT!?|.*\*END\*\s*+$", re.IGNORECASE
)
_PRINT_START = re.compile(
    r"\s*+(?:\*+\s?START\s?\*+\s*+THE SMALL PRINT|\*+\s*+(?:THE )?SMALL PRINT!|\(Three Pages\)\s*+$"
    r"|\[\"?Small Print\"? V\.)",
    re.IGNORECASE,
)
# The licence, when nothing announces it.
_LICENCE = re.compile(
    r"\s*+(?:\*{2,3}\s*+START: FULL LICEN[SC]E"
    r"|(?:THE )?FULL PROJECT GUTENBERG(?:-tm|\u2122|\(tm\))? LICEN[SC]E"
    r"|Section 1\.\s++General Terms of Use and Redistributing Project Gutenberg"
    r"|Updated editions will replace the previous one"
    r"|This and all associated files of various formats will be found)",
    re.IGNORECASE,
)
_INSERTED = re.compile(r"<<\s*+THIS ELECTRONIC VERSION OF")

# Paragraphs of the project's own, at the top of files without any line that ends them.
_ABOUT = re.compile(
    r"\W{0,8}(?:(?:This is )?(?:the |a )?(?:COPYRIGHTED )?Project Gutenberg"
    r"|This (?:eBook|etext|e-text|file)"
    r"|(?:Title|Author|Editor|Translator|Illustrator|Release Date|Posting Date|Language|Date"
    r"|Edition|Character set encoding|Last Updated|Most recently updated|Credits|Note"
    r"|Other information)\s?:|\[(?:Etext|eBook|E-text) ?\#|\w{3,9},? \d{4} {1,3}\[(?:Etext|eBook)"
    r"|Copyright laws are changing|Please take a look at the important|We encourage you to keep"
    r"|Welcome To The World of Free|Etexts Readable By Both|These Etexts? (?:are|were)"
    r"|Information on contacting Project|further information is included|Please (?:do not|note)"
    r"|Information about Project Gutenberg|We need your donations|Corrected EDITIONS of our"
    r"|VERSIONS based on separate sources|Official release date|The Goal of Project Gutenberg"
    r"|We produce about|We would prefer to send you)",
    re.IGNORECASE,
)
_CREDIT = re.compile(
    r"\W{0,4}(?:(?:This |The )?(?:Project Gutenberg )?(?:e-?text|e-?book|file|HTML version|text"
    r"|text file|digital edition)?\s?"
    r"(?:was )?(?:produced|prepared|scanned|transcribed|typed|digitized|created|proofed|proofread"
    r"|converted|edited|first (?:posted|converted)|originally prepared)"
    r"(?: and [a-z]{3,14}){0,2}(?: for Project Gutenberg)? (?:by|from|for|in)\b"
    r"|Credits?: |Scanned by |Etext (?:by|prepared) )",
    re.IGNORECASE,
)
_CREDIT_SURE = re.compile(
    r"gutenberg|pgdp|proofread|e-?text|e-?book|\bproduced by|transcribed by|scanned by|archive\.org"
    r"|internet archive|distributed|\bOCR\b|prepared by|digiti[sz]ed",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"[\[(*+|_ -]{0,6}Transcriber(?:'s|\u2019s|s'|s\u2019|s)?[ -]Notes?\b", re.IGNORECASE
)
_END_NOTE = re.compile(
    _NOTE.pattern + r"|\W{0,4}Typographical errors corrected by the (?:e-?text )?transcriber",
    re.IGNORECASE,
)
_NEAR_BEGINNING = 200
_BY_NAME = re.compile(r"\b[Bb][Yy]:? (?:the )?[A-Z]")
_ADDRESS = re.compile(r"[\w.+-]{1,64}(?:@| at )[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_ADDRESS_ALONE = re.compile(
    r"\W{0,4}(?:(?:e-?mail|contact|by)\W{0,3}(?:address\W{0,3})?)?[\w .,]{0,40}"
    r"[<(\[]?[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\W{0,4}",
    re.IGNORECASE,
)
_NOTES = 80  # how many lines such notes have at most
# Lines of the project itself between its header or footer and the book.
_NOTICE = re.compile(
    r"\W{0,4}(?:This is a COPYRIGHTED Project Gutenberg"
    r"|(?:The )?Project Gutenberg(?:'s)? E-?(?:text|book)"
    r"|\[(?:Etext|eBook) ?#\d+\]|(?:and )?the (?:Project Gutenberg )?Online Distributed"
    r"|(?:Online )?Distributed Proofread|Proofreading Team|https?://www\.(?:pgdp|gutenberg)\."
    r"|HTML version by|Note: (?:Project Gutenberg|Images of the original))",
    re.IGNORECASE,
)


class Framed(NamedTuple):
    """A file in three parts: header, book, footer; and the forms of header and footer."""

    header: str
    book: str
    footer: str
    header_form: Form
    footer_form: Form


def take_out_of_frame(text: str, *, transcriber_notes: bool = False) -> Framed:
    """Split a file of Project Gutenberg.

    `book` has nothing of the licence, of credits, or of notes of transcribers (unless these are to
    be kept) at its beginning and end. Where no header or footer is recognised, nothing is removed.
    """
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    end, footer_form = _footer(lines)
    begin, header_form = _header(lines, end)
    first, last = begin, end
    if header_form != "none":
        first = _after_credits(lines, begin, end, transcriber_notes)
    if footer_form != "none":
        last = _before_notes(lines, first, end, transcriber_notes)
    book = _without_inserted(lines[first:last])
    if header_form != "none" or footer_form != "none":
        book = _without_volunteers(book)
    header, footer = lines[:first], lines[last:]
    return Framed(
        "\n".join(header), "\n".join(book).strip("\n"), "\n".join(footer), header_form, footer_form
    )


# The footer ---------------------------------------------------------------------------------------


def _footer(lines: list[str]) -> tuple[int, Form]:
    """The number of the first line after the book."""
    last_start = max((at for at, line in enumerate(lines) if _START_STARS.match(line)), default=-1)
    ends = (at for at, line in enumerate(lines) if _END_STARS.match(line))
    stars = next((at for at in ends if at > last_start), None)
    plain = [at for at, line in enumerate(lines) if _END_PLAIN.match(line)]
    if stars is not None:
        # "End of Project Gutenberg's …" is a few lines above.
        near = [at for at in plain if stars - 20 <= at < stars]
        return (near[0] if near else stars), "stars"
    if plain:
        last = plain[-1]
        near = [at for at in plain if last - 5 <= at]
        return near[0], "plain"
    starts = [at for at, line in enumerate(lines) if _LICENCE.match(line)]
    if starts:
        return starts[0], "plain"
    # Small print at the end: what comes before it is longer than any header.
    prints = [at for at, line in enumerate(lines) if _PRINT_START.match(line)]
    if prints and prints[-1] > len(lines) // 2 and len(lines) - prints[-1] < _HEAD:
        after = "\n".join(lines[_print_end(lines, prints[-1]) :])
        if not after.strip():
            return prints[-1], "small-print"
    return len(lines), "none"


def _print_end(lines: list[str], start: int) -> int:
    """The line after the small print that begins at `start`; the file's end if nothing ends it."""
    for at in range(start + 1, len(lines)):
        if _PRINT_END.match(lines[at]):
            return at + 1
    return len(lines)


# The header ---------------------------------------------------------------------------------------


def _header(lines: list[str], end: int) -> tuple[int, Form]:
    """The number of the book's first line."""
    begin = 0
    form: Form = "none"
    for at in range(min(end, _HEAD)):
        line = lines[at]
        if _START_STARS.match(line):
            begin, form = _end_of_stars(lines, at), "stars"
            break
        if _START_PLAIN.match(line):
            begin, form = at + 1, "plain"
        elif "*" in line and _PRINT_END.match(line):
            begin, form = _end_of_print_line(lines, at), "small-print"
    if form != "none":
        return min(begin, end), form
    begin = _after_about(lines, end)
    return begin, "plain" if begin else "none"


def _end_of_stars(lines: list[str], at: int) -> int:
    """The line after one of stars, whose title may take several lines."""
    for line in range(at, min(at + 6, len(lines))):
        if lines[line].endswith("*") and (line > at or lines[line].count("*") > 4):
            return line + 1
        if line > at and not lines[line]:
            break
    return at + 1


def _end_of_print_line(lines: list[str], at: int) -> int:
    """The line after the last of the small print, which may be broken: ``…*Ver.04.29.93*END*``."""
    if at + 1 < len(lines) and "*END*" not in lines[at][4:] and "END*" in lines[at + 1]:
        return at + 2
    return at + 1


def _paragraphs(lines: list[str], begin: int, end: int) -> list[tuple[int, int]]:
    """Where the paragraphs between two lines begin and end."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for at in range(begin, end):
        if not lines[at]:
            if start is not None:
                found.append((start, at))
            start = None
        elif start is None:
            start = at
    if start is not None:
        found.append((start, end))
    return found


def _after_about(lines: list[str], end: int) -> int:
    """The line after the paragraphs about the project that a file begins with."""
    begin = 0
    for number, (start, stop) in enumerate(_paragraphs(lines, 0, min(end, _HEAD))):
        words = " ".join(lines[start:stop])
        if not _ABOUT.match(words) and (not number or "Gutenberg" not in words):
            break
        begin = stop
    mentioned = any("gutenberg" in line.lower() for line in lines[:begin])
    return begin if mentioned else 0


# Credits and notes --------------------------------------------------------------------------------


def _after_credits(lines: list[str], begin: int, end: int, transcriber_notes: bool) -> int:
    for start, stop in _paragraphs(lines, begin, min(end, begin + 200)):
        words = " ".join(lines[start:stop])
        is_note = _NOTE.match(words)
        is_credit = _CREDIT.match(words) and _CREDIT_SURE.search(words) and stop - start < 15
        if not (is_credit or (is_note and not transcriber_notes) or _NOTICE.match(words)):
            break
        begin = stop
        if is_note and words.startswith("[") and not words.endswith("]"):
            begin = _after_bracket(lines, start, end)
            break
    return begin


def _after_bracket(lines: list[str], start: int, end: int) -> int:
    """The line after a note in square brackets; the note's first line if it is not closed soon."""
    for at in range(start, min(end, start + 60)):
        if lines[at].endswith("]"):
            return at + 1
    return start


def _before_notes(lines: list[str], begin: int, end: int, transcriber_notes: bool) -> int:
    """The line before the notices and notes that a book ends with; nothing follows them."""
    paragraphs = _paragraphs(lines, max(begin, end - _NOTES), end)
    while paragraphs and _NOTICE.match(" ".join(lines[slice(*paragraphs[-1])])):
        end = paragraphs.pop()[0]
    if not transcriber_notes:
        notes = (start for start, _ in paragraphs if _END_NOTE.match(lines[start]))
        end = next(notes, end)
    return end


def _without_volunteers(lines: list[str]) -> list[str]:
    """Lines without credits and addresses of volunteers near the beginning and the end."""
    kept = list(lines)
    for start, stop in reversed(_paragraphs(lines, 0, len(lines))):
        if start >= _NEAR_BEGINNING and stop <= len(lines) - _NOTES:
            continue
        words = " ".join(lines[start:stop])
        is_short = stop - start < 8
        is_credit = (
            _CREDIT.match(words) and _CREDIT_SURE.search(words) and _BY_NAME.search(words[:200])
        )
        has_address = _ADDRESS.search(words) and _CREDIT_SURE.search(words)
        if is_short and (is_credit or has_address or _ADDRESS_ALONE.fullmatch(words)):
            del kept[start:stop]
    return kept


def _without_inserted(lines: list[str]) -> list[str]:
    """Lines without the licence between the works of a collection."""
    kept: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if _INSERTED.match(line):
            while at < len(lines) and lines[at] and not lines[at].endswith(">>"):
                at += 1
        elif _END_STARS.match(line):
            while at < len(lines) and not _START_STARS.match(lines[at]):
                at += 1
            at = _end_of_stars(lines, at) - 1
        elif not _END_PLAIN.match(line):
            kept.append(line)
        at += 1
    return kept
