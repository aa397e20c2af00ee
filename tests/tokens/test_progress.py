from __future__ import annotations

from barrow.tokens.progress import Progress


def test_nobody_need_listen() -> None:
    Progress().on_plan("Tokenizing", 3)
    Progress().on_bytes(3)
