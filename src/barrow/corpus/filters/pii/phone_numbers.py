"""Phone numbers.

* International: ``+`` or ``00``, a country code, and the number of digits of that country.
* North American: 3-3-4 digits, area and exchange from 2 to 9, with one kind of mark or brackets.
* National with a leading 0, in the groups that people write in Britain, France, Germany,
  Switzerland, Australia, Japan and their neighbours.
* Any 7 to 13 digits after a label: tel, phone, fax, call, mobile, …
"""

from __future__ import annotations

import re
from itertools import pairwise

from barrow.corpus.filters.pii.found import Found
from barrow.corpus.filters.pii.number_groups import (
    Groups,
    groups_of,
    is_alone,
    no_numbers_beside,
)

# Digits after the country code: ITU-T E.164 and the national plans. Others: 7 to 12.
_COUNTRIES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("1", "7", "52", "91", "92", "63", "30", "90", "880", "98"), (10, 10)),
    **dict.fromkeys(("33", "34", "31", "41", "48", "351", "61", "27", "420", "380", "40"), (9, 9)),
    **dict.fromkeys(("45", "47", "65", "852", "853", "370", "371", "372"), (7, 8)),
    **dict.fromkeys(("32", "36", "66", "886", "972", "971", "966", "254", "386", "385"), (8, 9)),
    **dict.fromkeys(("44", "55", "82", "81", "84", "20", "86"), (9, 11)),
    **dict.fromkeys(
        ("39", "49", "43", "46", "353", "358", "60", "62", "64", "234", "381"), (7, 11)
    ),
}
_TWO_DIGIT_CODES = """
20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64
65 66 81 82 84 86 90 91 92 93 94 95 98
"""
_NOT_CODES = ("0", "210", "214", "215", "217", "219", "28", "83", "89", "999", "888")
_TRUNK_SHAPES = frozenset(
    (
        *((3, 4, 4), (4, 3, 4), (5, 3, 3), (5, 6), (5, 5), (4, 3, 3), (4, 6), (4, 7), (2, 4, 4)),
        *((3, 3, 4), (3, 7), (3, 8), (3, 3, 2, 2), (4, 2, 2, 2), (2, 2, 2, 2, 2), (3, 4, 3)),
        *((3, 2, 2, 2, 2), (4, 4, 3), (5, 2, 2, 2), (2, 8), (4, 4, 4), (3, 3, 3), (2, 3, 2, 2)),
    )
)
_MIXED = ((b"/", b"-"), (b"/", b" "), (b" ", b"-"))  # 713/853-1234, 713 853-1234
_LABEL = re.compile(
    rb"(?<![a-z])(?:tel|telephone|t\xc3\xa9l\xc3\xa9phone|t\xc3\xa9l|telefon|telefono|tel\xc3\xa9fono|"
    rb"phone|phones|fax|telefax|call|mobile|mob|cell|cellphone|handy|whatsapp|sms|ph|hotline|dial)"
    rb"(?:[\s.:#()-]{1,3}(?:no|nos|number|us|at|me|free|toll)){0,3}[\s.:#(=)-]{0,5}$",
    re.IGNORECASE,
)


def check_phone(data: bytes, start: int, stop: int) -> Found | None:
    """A phone number at the start of a window of digits and marks."""
    groups = groups_of(data, start, stop)
    if data[start : start + 1] == b"+":
        return _international(data, start, groups)
    if data[start : start + 1] == b"(" and b")" not in data[start:stop]:
        start += 1
    if _LABEL.search(data, max(0, start - 40), start):
        return _labelled(data, start, groups)
    if groups.digits[0].startswith("00") and len(groups.digits) >= 3 and b"/" not in groups.marks:
        found = _international(data, start, groups)
        alone = found and is_alone(data, start, found.stop)
        return found if found and alone and no_numbers_beside(data, start, found.stop) else None
    return _american(data, start, groups) or _with_trunk(data, start, groups)


def _international(data: bytes, start: int, groups: Groups) -> Found | None:
    if data[start - 1 : start].isalnum() or data[start - 1 : start] in (b"+", b")", b"]", b"}"):
        return None
    # +44 (0)20 …: the bracketed zero is not dialled.
    counted = [
        "" if group == "0" and marks.endswith(b"(") else group
        for group, marks in zip(groups.digits, [b"", *groups.marks], strict=True)
    ]
    code = _country_code("".join(counted).removeprefix("00"))
    if code is None:
        return None
    least, most = _COUNTRIES.get(code, (7, 12))
    prefix = len(code) + (2 if data[start : start + 1] != b"+" else 0)
    total, best = -prefix, None
    for group, stop in zip(counted, groups.stops, strict=True):
        total += len(group)
        if total > most:
            break
        if total >= least:
            best = stop
    if best is None or data[best : best + 1].isalnum():
        return None
    digits = "".join(counted)
    if code == "1" and not (digits[prefix] in "23456789" and digits[prefix + 3] in "23456789"):
        return None
    return Found("phone", start, best)


def _country_code(digits: str) -> str | None:
    if digits.startswith(_NOT_CODES):
        return None
    if digits[:1] in ("1", "7"):
        return digits[:1]
    return digits[:2] if digits[:2] in _TWO_DIGIT_CODES.split() else digits[:3]


def _labelled(data: bytes, start: int, groups: Groups) -> Found | None:
    total, best = 0, None
    for k, group in enumerate(groups.digits):
        if k and len(group) == 1 and b"(" not in groups.marks[k - 1]:
            break
        total += len(group)
        if total > 13:
            break
        if total >= 7:
            best = groups.stops[k]
            if total >= 10:  # what follows is another number
                break
    if best is None or data[best : best + 1].isalnum() or _is_date(groups):
        return None
    return Found("phone", start, best)


def _is_date(groups: Groups) -> bool:
    sizes = groups.sizes[:3]
    year = groups.digits[sizes.index(4)] if 4 in sizes else ""
    return sizes in ([4, 2, 2], [2, 2, 4], [4, 1, 2], [4, 2, 1]) and year.startswith(("19", "20"))


def _american(data: bytes, start: int, groups: Groups) -> Found | None:
    skip = int(groups.sizes[0] == 1 and groups.digits[0] == "1")
    if groups.sizes[skip : skip + 3] != [3, 3, 4]:
        return None
    area, exchange, line = groups.digits[skip : skip + 3]
    first, second = groups.marks[skip : skip + 2]
    if area[0] < "2" or exchange[0] < "2" or area[1:] == "11":
        return None
    stop = groups.stops[skip + 2]
    bracketed = b")" in first
    if not bracketed and first != second and (first, second) not in _MIXED:
        return None
    if bracketed and second not in (b"-", b".", b" "):
        return None
    if first == second == b" " and not no_numbers_beside(data, start, stop):
        return None
    if len({*area, *exchange, *line}) == 1 or not is_alone(data, start, stop):
        return None
    return Found("phone", start, stop)


def _with_trunk(data: bytes, start: int, groups: Groups) -> Found | None:
    sizes = tuple(groups.sizes)
    if groups.digits[0][:2] < "01" or groups.digits[0][0] != "0" or sizes not in _TRUNK_SHAPES:
        return None
    bracketed = groups.marks[0].startswith(b")") or data[start : start + 1] == b"("
    later = set(groups.marks[1:])
    if len(later) > 1 or not later <= {b" ", b"-", b"."}:
        return None
    if later and groups.marks[0] not in later and not bracketed and groups.marks[0] != b"/":
        return None
    pairs = sizes == (2, 2, 2, 2, 2)
    if groups.marks[0] == b"." and not pairs:
        return None
    if len(sizes) == 2 and not bracketed and groups.marks[0] == b"-" and sum(sizes) < 11:
        return None
    if pairs and {int(b) - int(a) for a, b in pairwise(groups.digits)} == {1}:
        return None
    stop = groups.stops[-1]
    if not no_numbers_beside(data, start, stop) or not is_alone(data, start, stop):
        return None
    return Found("phone", start, stop)
