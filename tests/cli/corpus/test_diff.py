"""`barrow diff` is tried in test_build.py, on a corpus that was built."""

from __future__ import annotations

from collections.abc import Callable


def test_it_is_there(barrow: Callable) -> None:
    code, out, _ = barrow("diff", "--help")
    assert code == 0
    assert "barrow diff" in out
