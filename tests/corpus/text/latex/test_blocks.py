from __future__ import annotations

from barrow.corpus.text.latex.output import CELL, ITEM, ROW, list_block, quote_block, table_block


def test_lists() -> None:
    assert list_block(f"{ITEM} a\n\n{ITEM}b ", "-") == "- a\n- b"
    assert list_block(f"{ITEM}a\n\nc{ITEM}b", "1.") == "1. a\n\n   c\n\n2. b"
    assert list_block(f"before {ITEM}a", "-") == "before\n\n- a"


def test_quotes() -> None:
    assert quote_block("a\n\nb\n") == "> a\n>\n> b"


def test_tables() -> None:
    assert table_block(f"a{CELL} b\n{ROW}{ROW}c{CELL}d{ROW}") == "| a | b |\n|---|---|\n| c | d |"
    assert table_block(f"a{ROW}b") == "a\n\nb"
    assert table_block(ROW) == ""
