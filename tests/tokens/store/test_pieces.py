from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.tokens.store.pieces import NUM_FIELDS, Piece, from_table, to_table

NUMBERS = st.integers(0, 2**64 - 1)
PIECES = st.builds(
    Piece,
    source=NUMBERS.flatmap(lambda a: NUMBERS.map(lambda b: f"{a:016x}{b:016x}")),
    part=NUMBERS,
    flush=NUMBERS,
    domain=st.text(max_size=3),
    documents=NUMBERS,
    tokens=NUMBERS,
    text_bytes=NUMBERS,
)


@given(st.lists(PIECES, max_size=5))
def test_a_table_reads_back(pieces: list[Piece]) -> None:
    domains, table = to_table(pieces)
    assert table.shape == (len(pieces), NUM_FIELDS)
    assert len(set(domains)) == len(domains)
    assert from_table(domains, table) == pieces


def test_a_domain_that_is_not_listed() -> None:
    piece = Piece("0" * 32, 0, 0, "A", 1, 2, 3)
    _, table = to_table([piece])
    with pytest.raises(IndexError):
        from_table([], table)


def test_the_key_names_what_is_in_it_and_not_how_much() -> None:
    piece = Piece("0" * 32, 7, 1, "A", 1, 2, 3)
    assert piece.key == f"{'0' * 32}/7/1/A"
