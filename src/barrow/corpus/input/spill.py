"""Where a reader puts what it must group, when there may be more of it than memory."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator


@contextlib.contextmanager
def temporary_database(*, cache_bytes: int = 1 << 25) -> Iterator[sqlite3.Connection]:
    """An SQLite database without a name: in memory while it fits the cache, then in a file that
    is already unlinked, so that nothing remains of it, even after a kill.

    To go through a table in another order, ORDER BY without an index: SQLite then sorts by merging
    runs, in sequential reads, where an index would jump about in a file larger than memory.
    """
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    try:
        for setting in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{cache_bytes >> 10}"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("BEGIN")  # a statement on its own would be a transaction each
        yield connection
    finally:
        connection.close()
