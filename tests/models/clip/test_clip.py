from __future__ import annotations

import barrow


def test_public_names_are_there() -> None:
    """CLIP is loaded on first use, and everything the documentation names is in one place."""
    clip = barrow.models.clip
    for name in clip.__all__:
        assert getattr(clip, name) is not None
    assert clip.__all__ == sorted(clip.__all__, key=lambda n: (not n.isupper(), n[0].islower(), n))
