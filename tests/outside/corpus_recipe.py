"""A recipe with a reader and a filter of one's own."""

from __future__ import annotations

from mystuff.filter import Calm
from mystuff.reader import Fortunes

from barrow.corpus import Domain, Recipe, Repair


def recipe() -> Recipe:
    filters = (Repair(), Calm(max_capitals=0.5))
    return Recipe("cookies", {"cookies": Domain("Cookies", Fortunes(), filters=filters)})
