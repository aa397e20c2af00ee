"""The command line: parsing and printing only."""

from __future__ import annotations

from barrow.interrupt import remembered

with remembered():  # modules take a while to load
    from barrow.cli.main import main

__all__ = ["main"]
