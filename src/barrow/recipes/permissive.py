"""The Pile without what may not be redistributed.

EleutherAI's own licence triage leaves out Books3, BookCorpus2, OpenSubtitles and YoutubeSubtitles.
The weights of the others keep their proportions and add up to 100 again.
"""

from __future__ import annotations

import dataclasses

from barrow.corpus import Recipe
from barrow.recipes import pile

LEFT_OUT = ("books3", "bookcorpus2", "opensubtitles", "youtube_subtitles")


def recipe() -> Recipe:
    """Eighteen of the 22 domains."""
    whole = pile.recipe()
    kept = {folder: d for folder, d in whole.domains.items() if folder not in LEFT_OUT}
    total = sum(domain.weight or 0.0 for domain in kept.values())
    domains = {
        folder: dataclasses.replace(domain, weight=100 * (domain.weight or 0.0) / total)
        for folder, domain in kept.items()
    }
    return dataclasses.replace(whole, name="permissive", domains=domains)
