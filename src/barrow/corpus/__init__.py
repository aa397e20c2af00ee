"""Raw sources to an archive in which every document says where it came from."""

from __future__ import annotations

from barrow.corpus.build import build
from barrow.corpus.reading import Reader, Reject
from barrow.corpus.recipe import Domain, Recipe

__all__ = ["Domain", "Reader", "Recipe", "Reject", "build"]
