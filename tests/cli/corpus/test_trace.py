"""`barrow trace` is tried in test_build.py, on a corpus that was built."""

from __future__ import annotations

from collections.abc import Callable


def test_it_is_there(barrow: Callable) -> None:
    code, out, _ = barrow("trace", "--help")
    assert code == 0
    assert "barrow trace" in out
