"""Temporary storage for readers that must group more than fits in memory."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator


@contextlib.contextmanager
def temporary_database(*, cache_bytes: int = 1 << 25) -> Iterator[sqlite3.Connection]:
    """An SQLite database without a name: in memory while it fits the cache, then in a file that is
    already unlinked, so that nothing remains, even after a kill.

    To read a table in another order, use ORDER BY without an index: SQLite then merges sorted runs
    with sequential reads, while an index would need random ones.
    """
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    try:
        for setting in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{cache_bytes >> 10}"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("BEGIN")  # else each statement would be a transaction
        yield connection
    finally:
        connection.close()
