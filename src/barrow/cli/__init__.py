"""The command line: parsing and printing only."""

from __future__ import annotations

from barrow.cli.main import main

__all__ = ["main"]
