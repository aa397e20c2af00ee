from __future__ import annotations

from barrow.weights.hub.download import source_of, sum_in
from barrow.weights.hub.known import KNOWN


def test_every_name_leads_somewhere() -> None:
    assert len({entry.name.lower() for entry in KNOWN}) == len(KNOWN)
    for entry in KNOWN:
        assert source_of(entry.name.upper()) == entry.source == source_of(entry.source)


def test_all_nine_clip_models_have_a_digest() -> None:
    """CLIP-6."""
    sums = {sum_in(entry.source) for entry in KNOWN if entry.name.startswith("clip-")}
    assert len(sums) == 9
    assert None not in sums
