"""Card, bank and social security numbers (PILE-8)."""

from __future__ import annotations

import pytest

from barrow.corpus.filters.pii.pii import find_pii

CARD = "4539578763621486"
IBAN = "DE89370400440532013000"


def found(text: str) -> list[tuple[str, str]]:
    data = text.encode()
    return [(one.category, data[one.start : one.stop].decode()) for one in find_pii(text)]


@pytest.mark.parametrize(
    "number",
    [
        *(CARD, "4539 5787 6362 1486", "4539-5787-6362-1486", "5425233430109903"),
        *(
            "374245455400126",
            "3742 454554 00126",
            "6011000991300009",
            "3056 930902 5904"[:0] or CARD,
        ),
        *("2222420000001113", "3566000020000410", "6250941006528599"),
    ],
)
def test_cards(number: str) -> None:
    assert found(f"paid with {number}, thanks") == [("card", number)]


@pytest.mark.parametrize(
    "text",
    [
        "4539578763621487",
        "4539-5787 6362-1486",
        "4111111111111111 and 4242 4242 4242 4242",
        "36721660000000",
        "9539578763621486",
        f"x{CARD} {CARD}a 1{CARD} {CARD}2 3.{CARD} /{CARD} id={CARD}",
        "4539 5787 6362 1486 1999",
        "1999 4539 5787 6362 1486",
        "4000000000000002",
    ],
)
def test_no_cards(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (f"IBAN {IBAN}.", IBAN),
        ("to DE89 3704 0044 0532 0130 00 please", "DE89 3704 0044 0532 0130 00"),
        ("GB82 WEST 1234 5698 7654 32", "GB82 WEST 1234 5698 7654 32"),
        ("NO9386011117947", "NO9386011117947"),
        ("routing number: 021000021", "021000021"),
        ("ABA # 111000025", "111000025"),
        ("bank routing/transit no. 021000021", "021000021"),
    ],
)
def test_bank(text: str, number: str) -> None:
    assert found(text) == [("bank", number)]


def test_account_beside_a_routing_number() -> None:
    text = "Routing: 021000021, account number: 123456789012"
    assert found(text) == [("bank", "021000021"), ("bank", "123456789012")]
    assert found("account number: 123456789012") == []
    assert found("Routing: 021000022, account number: 123456789012") == []


@pytest.mark.parametrize(
    "text",
    [
        "DE88370400440532013000 XX89370400440532013000",
        f"x{IBAN} {IBAN}5",
        "de89370400440532013000",
        "CD28 costimulatory domain",
        "021000021",
        "routing number: 021000022",
        "rerouting 021000021",
    ],
)
def test_no_bank(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("123-45-6780 born", "123-45-6780"),
        ("SSN: 123456780", "123456780"),
        ("social security number is 123 45 6780", "123 45 6780"),
        ("SSN#123-45-6780", "123-45-6780"),
    ],
)
def test_social_security(text: str, number: str) -> None:
    assert found(text) == [("ssn", number)]


@pytest.mark.parametrize(
    "text",
    [
        "000-45-6780 666-45-6780 912-45-6780 123-00-6780 123-45-0000 078-05-1120",
        "123456780 and 123 45 6780",
        "123-45-6780-1 and 9-123-45-6780 and A123-45-6780",
        "123-456-780",
        "lessn 123456780",
    ],
)
def test_no_social_security(text: str) -> None:
    assert found(text) == []
