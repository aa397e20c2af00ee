from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from barrow.corpus.input.spill import temporary_database


def test_what_does_not_fit_the_cache_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))
    with temporary_database(cache_bytes=1 << 16) as database:
        database.execute("CREATE TABLE t (a INTEGER, b BLOB)")
        database.executemany("INSERT INTO t VALUES (?, ?)", ((-k, b"x" * 999) for k in range(9999)))
        rows = [a for (a,) in database.execute("SELECT a FROM t ORDER BY a")]
        assert rows == sorted(rows)
        assert [name for *_, name in database.execute("PRAGMA database_list")] == [""]
        assert not list(tmp_path.iterdir())  # unlinked while in use
    with pytest.raises(sqlite3.ProgrammingError):
        database.execute("SELECT 1")
