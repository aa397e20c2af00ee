"""Mojibake: UTF-8 that was read as Windows-1252 or Latin-1, once or several times, and its repair.

Bytes 80–BF of a UTF-8 sequence became one of 64 *marks* (€ ‚ ƒ „ … Ÿ, U+0080–9F, U+00A0–BF), its
first byte one of the letters Â–ô. So a letter and as many marks as it needs may have been one
character. Some such pairs are correct text (``CAFÉ…``), so a run of them is repaired only if it is
certain:

* there is a mark that does not follow a letter in any language's writing: a symbol, a fraction, a
  C1 control (quotes, dashes, dots, ™ and no-break spaces do follow letters);
* and the decoded character is likely there: a letter or sign of Latin-1, punctuation, arrows,
  mathematical signs, boxes, ligatures, an emoji; of other scripts at least two characters in a row.

If a text has one such run, runs with only other marks are repaired too if they decode to Latin-1
or punctuation. A line that also has the repaired character in its correct form is left alone: it
is about mojibake.
"""

from __future__ import annotations

import re
import unicodedata

_C1 = {
    chr(byte): bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(0x80, 0xA0)
}
_BYTES = {chr(byte): byte for byte in range(0x80, 0x100)}
_BYTES |= {shown: ord(control) for control, shown in _C1.items()}
_MARKS = "".join(character for character, byte in _BYTES.items() if byte < 0xC0)
# Marks that may follow a letter in correct text.
_ORDINARY = frozenset("…‹‘’“”•–—™›\u00a0«»·ªº°¹²³´¸¡¿\u00ad§®©†‡")
_UNIT = f"[\xc2-\xdf][{_MARKS}]|[\xe0-\xef][{_MARKS}]{{2}}|[\xf0-\xf4][{_MARKS}]{{3}}"
# One or more units. Written so that it begins with a set of characters, which is searched for four
# times as fast as alternatives are.
_SEQUENCES = re.compile(
    f"[\xc2-\xf4](?:(?<=[\xc2-\xdf])[{_MARKS}]|(?<=[\xe0-\xef])[{_MARKS}]{{2}}"
    f"|(?<=[\xf0-\xf4])[{_MARKS}]{{3}})(?:{_UNIT})*"
)
_TABLE = {ord(character): byte for character, byte in _BYTES.items()}
_CONTROLS = re.compile("[\x80-\x9f]")
_PASSES = 4
# After Â and Ã ordinary symbols are unusual too: Â© Â° Ã© Ã³.
_AFTER_CAPITAL = frozenset("·ªº°¹²³´¸¡¿\u00ad§®©")


def repair_mojibake(text: str) -> tuple[str, int]:
    """The text with certain mojibake repaired, and the number of runs of it."""
    total = 0
    for _ in range(_PASSES):
        repaired, num = _once(text)
        if num == 0:
            break
        text, total = repaired, total + num
    return text, total


def repair_controls(text: str) -> tuple[str, int]:
    """C1 controls as the characters of Windows-1252 with the same bytes.

    U+0085 is a line end unless the text has others of them.
    """
    controls = _CONTROLS.findall(text)
    if not controls:
        return text, 0
    table = {ord(control): shown for control, shown in _C1.items() if control != shown}
    if set(controls) == {"\x85"}:
        del table[0x85]
    repaired = _CONTROLS.sub(lambda found: table.get(ord(found[0]), found[0]), text)
    return repaired, sum(ord(control) in table for control in controls)


def _once(text: str) -> tuple[str, int]:
    rows = []
    for match in _SEQUENCES.finditer(text):
        repaired = _decoded(match.group())
        if repaired is not None and not _spoken_of(text, match, repaired):
            rows.append((match, repaired, _is_certain(text, match, repaired)))
    evidence = any(certain for _, _, certain in rows)
    parts: list[str] = []
    done = num = 0
    for match, repaired, certain in rows:
        if certain or (evidence and all(map(_is_common, repaired))):
            parts += (text[done : match.start()], repaired)
            done = match.end()
            num += 1
    if not num:
        return text, 0
    return "".join((*parts, text[done:])), num


def _decoded(row: str) -> str | None:
    try:
        return bytes(map(_TABLE.__getitem__, map(ord, row))).decode()
    except UnicodeDecodeError:
        return None


def _is_certain(text: str, match: re.Match[str], repaired: str) -> bool:
    row = match.group()
    before = text[max(0, match.start() - 1) : match.start()]
    if "ï»¿" in row or any("\x80" <= character < "\xa0" for character in row):
        strange = True
    elif row[0] in "ÂÃ" and before.islower():
        strange = True  # a capital inside a word
    elif row[0] in "ÂÃ" and any(character in _AFTER_CAPITAL for character in row):
        strange = not before.isupper()
    else:
        marks = [character for character in row if _BYTES[character] < 0xC0]
        strange = any(mark not in _ORDINARY for mark in marks)
    if row[:2] == "Â\u00a0":
        strange = before.islower() or before in (".", ",", ":", ";", "!", "?", ")", '"')
    if not strange:
        return False
    if all(map(_is_common, repaired)):
        return True
    # One letter of another script could be chance, but hardly with two controls or more after it.
    controls = row[0] >= "à" and all("\x80" <= mark < "\xa0" for mark in row[1:])
    return (len(repaired) >= 2 or controls) and all(map(_is_likely, repaired))


def _is_common(character: str) -> bool:
    code = ord(character)
    return (
        character in _BYTES  # also in text that was damaged twice
        or 0x100 <= code < 0x180
        or 0x1E00 <= code < 0x1F00
        or 0x2000 <= code < 0x2070
        or 0x20A0 <= code < 0x20C0
        or 0x2100 <= code < 0x2800
        or 0xFB00 <= code < 0xFB07
        or code in (0xFEFF, 0xFFFD)
        or 0x1F300 <= code < 0x1FB00
    )


def _is_likely(character: str) -> bool:
    return character in _BYTES or unicodedata.category(character) not in ("Cn", "Co", "Cs", "Cc")


def _spoken_of(text: str, match: re.Match[str], repaired: str) -> bool:
    """Whether the line has the correct form of the run too."""
    if repaired.isspace() or len(repaired) > 8:
        return False
    start = text.rfind("\n", max(0, match.start() - 200), match.start()) + 1
    start = start or max(0, match.start() - 200)
    stop = text.find("\n", match.end(), match.end() + 200)
    near = text[start : match.start()], text[match.end() : stop if stop >= 0 else match.end() + 200]
    return any(repaired in part and repaired in _SEQUENCES.sub("", part) for part in near)
