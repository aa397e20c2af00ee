"""Made-up people, for formats in which somebody speaks."""

from __future__ import annotations

_FIRST = (
    *("Ada", "Bruno", "Clara", "David", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas"),
    *("Karin", "Leon", "Mara", "Nils", "Olga", "Pavel", "Rosa", "Simon", "Tessa", "Viktor"),
)
_LAST = (
    *("Amsel", "Birke", "Calder", "Dorn", "Eiger", "Falk", "Garner", "Hazel", "Ilex"),
    *("Juniper", "Kestrel", "Linden", "Moor", "Nettle", "Ortolan", "Plover", "Rowan"),
)


def full_name(number: int) -> str:
    """Twenty first names and seventeen last names: 340 people before one comes again."""
    return f"{_FIRST[number % len(_FIRST)]} {_LAST[number % len(_LAST)]}"


def nick(number: int) -> str:
    """What they call themselves where it has to be short."""
    first = _FIRST[number % len(_FIRST)].lower()
    return first if number % 3 else f"{first}_{_LAST[number % len(_LAST)][:3].lower()}"


def address(number: int) -> str:
    """An address in a domain that is nobody's (RFC 2606)."""
    return f"{full_name(number).lower().replace(' ', '.')}@example.org"
