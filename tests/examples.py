"""How many examples of an expensive kind are tried, of those that the profile gives others."""

from __future__ import annotations

from hypothesis import settings

few = settings(max_examples=settings().max_examples // 3)
very_few = settings(max_examples=settings().max_examples // 15)
