from __future__ import annotations

import re

from barrow.weights.known import KNOWN, known
from barrow.weights.source import OneFile, Repository, read_source


def test_every_name_leads_somewhere() -> None:
    assert len({entry.name.lower() for entry in KNOWN}) == len(KNOWN)
    for entry in KNOWN:
        source = read_source(entry.name)
        assert isinstance(source, OneFile | Repository)
        if isinstance(source, OneFile):
            assert source.sha256 is not None
            assert re.fullmatch("[0-9a-f]{64}", source.sha256)
            assert source.url.startswith("https://")


def test_case_does_not_matter() -> None:
    assert known("CLIP-vit-b-32") is known("clip-ViT-B-32")
    assert known("nothing") is None


def test_all_nine_clip_models_have_a_digest() -> None:
    """CLIP-6."""
    assert sum(entry.name.startswith("clip-") for entry in KNOWN) == 9
