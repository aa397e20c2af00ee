"""Check digits, against numbers whose check is known (PILE-8: filters of web text)."""

from __future__ import annotations

import pytest

from barrow.corpus.filters.pii.account_numbers import luhn, mod_97, routing


@pytest.mark.parametrize("number", ["79927398713", "4539578763621486", "378282246310005", "0"])
def test_luhn(number: str) -> None:
    assert luhn(number)
    assert not any(luhn(number[:-1] + digit) for digit in "0123456789" if digit != number[-1])


@pytest.mark.parametrize(
    "iban", ["GB82WEST12345698765432", "DE89370400440532013000", "NO9386011117947"]
)
def test_iban(iban: str) -> None:
    assert mod_97(iban)
    assert not mod_97(iban[:-1] + str((int(iban[-1]) + 1) % 10))
    assert not mod_97(iban[:4] + iban[5] + iban[4] + iban[6:]) or iban[4] == iban[5]


def test_routing() -> None:
    assert routing("111000025")
    assert routing("021000021")
    assert not routing("021000022")
    assert not routing("120000021")
