"""Check digits of card, bank and routing numbers."""

from __future__ import annotations

_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def luhn(digits: str) -> bool:
    """Whether decimal digits satisfy ISO/IEC 7812's check, as card numbers do."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit)
        total += _DOUBLED[value] if place % 2 else value
    return total % 10 == 0


def mod_97(iban: str) -> bool:
    """Whether capitals and digits satisfy ISO 13616's check, as IBANs do."""
    moved = iban[4:] + iban[:4]
    return int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


def routing(digits: str) -> bool:
    """Whether nine digits satisfy the check of the American Bankers Association."""
    weights = (3, 7, 1) * 3
    return sum(int(d) * w for d, w in zip(digits, weights, strict=True)) % 10 == 0
